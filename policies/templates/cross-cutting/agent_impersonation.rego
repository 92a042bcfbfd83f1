# Template: agent_impersonation
# Domain: cross-cutting
# Severity: high
# Frameworks: SOC2, NIST-AI-RMF, OWASP-LLM
# Tags: identity, delegation
# Tier: mixed
# Tool surface: any tool, impersonate_user, assume_role, login_as
# Summary: An agent acts as itself. A call that names another agent as its author is refused; one made in a person's name waits.
# Purpose: Records downstream name who acted. An agent that fills in somebody else makes them lie, and borrows rights nobody gave it.
# Inputs: agent_id; arguments agent_id, acting_as, impersonate, on_behalf_of and their like, at any depth.
# Edit: agent_fields, person_fields, tools, allowed_principals.

package gate.authz

import rego.v1

import data.gate.lib

agent_impersonation_defaults := {
	"tools": ["impersonate", "assume_role", "login_as", "sign_in_as", "act_as", "switch_user", "become_user"],
	"agent_fields": ["acting_agent", "as_agent", "agent_id", "calling_agent", "sender_agent", "source_agent"],
	"person_fields": ["act_as", "acting_as", "as_user", "impersonate", "impersonate_user", "login_as", "on_behalf_of", "run_as", "sudo_user"],
	"allowed_principals": [],
}

agent_impersonation_settings := object.union(agent_impersonation_defaults, given) if given := data.gate.agent_impersonation

else := agent_impersonation_defaults

watches contains "agent_impersonation" if lib.tool_changes(agent_impersonation_settings.tools)

# METADATA
# title: Another agent's name
# description: A field that says which agent calls holds something other than this agent.
deny contains "Violation: agent_impersonation: the arguments name another agent as the caller (agent_id or the like); leave the field out, Gate says who calls." if {
	some value in lib.values(agent_impersonation_settings.agent_fields)
	not agent_impersonation_harmless(value)
}

# METADATA
# title: A person's name
# description: A field that says in whose name the call is made; what the operator allows passes.
review contains "Review: agent_impersonation: the call is made in somebody's name (on_behalf_of, run_as or the like); approve it where that person asked for it." if {
	some value in lib.values(agent_impersonation_settings.person_fields)
	not agent_impersonation_harmless(value)
}

# METADATA
# title: A tool that changes who acts
review contains "Review: agent_impersonation: the tool makes the agent somebody else; approve it where the task needs that identity and no narrower one." if {
	lib.watched.agent_impersonation
}

agent_impersonation_harmless(value) if lib.is_no(value)

agent_impersonation_harmless(value) if value == input.agent_id

# The agent's name without its tenant.
agent_impersonation_harmless(value) if {
	is_string(value)
	parts := split(input.agent_id, "/")
	count(parts) > 1
	value == parts[count(parts) - 1]
}

agent_impersonation_harmless(value) if value in agent_impersonation_settings.allowed_principals
