# Template: iam_policy_wildcard
# Domain: devops
# Severity: critical
# Frameworks: SOC2, ISO-27001
# Tags: iam, least-privilege
# Tier: mixed
# Tool surface: create_policy, put_role_policy, create_role_binding, set_iam_policy
# Summary: Access policies. One that allows everything, or lets everybody in, is refused; one that allows all of a service waits.
# Purpose: Stolen keys do what their policy allows. Reviews of breaches find the same star again and again (Capital One 2019 among them).
# Inputs: action, resource, principal, verb, role, policy_arn and their like, at any depth.
# Edit: tools, action_fields, verb_fields, resource_fields, principal_fields, role_fields, everything_roles, everybody, effect_fields.

package gate.authz

import rego.v1

import data.gate.lib

iam_policy_wildcard_defaults := {
	"tools": [
		"bucket_policy", "cluster_role", "iam_binding", "iam_policy", "key_policy", "managed_policy", "policy_attach", "policy_create",
		"policy_document", "policy_put", "policy_version_create", "resource_policy", "role_binding", "role_policy", "trust_policy",
		"user_policy",
	],
	"action_fields": ["action", "allowed_action", "permission"],
	"verb_fields": ["verb"],
	"resource_fields": ["resource"],
	"principal_fields": ["member", "principal", "subject"],
	"role_fields": ["managed_policy", "managed_policy_arn", "policy_arn", "policy_name", "role", "role_name", "role_ref"],
	"everything_roles": [
		"administrator_access", "cluster_admin", "iam_full_access", "power_user_access", "role_editor", "role_owner", "security_admin",
	],
	"everybody": ["all_authenticated_user", "all_user", "system_anonymous", "system_unauthenticated"],
	"effect_fields": ["effect"],
}

iam_policy_wildcard_settings := object.union(iam_policy_wildcard_defaults, given) if given := data.gate.iam_policy_wildcard

else := iam_policy_wildcard_defaults

watches contains "iam_policy_wildcard" if lib.tool_changes(iam_policy_wildcard_settings.tools)

# METADATA
# title: Everything is allowed
deny contains "Violation: iam_policy_wildcard: a policy allows everything (action, role); list the actions that the work needs." if {
	iam_policy_wildcard_allows
	iam_policy_wildcard_everything
}

# METADATA
# title: Everybody is let in
deny contains "Violation: iam_policy_wildcard: a policy lets everybody in (principal); name the roles and accounts." if {
	iam_policy_wildcard_allows
	iam_policy_wildcard_everybody
}

# METADATA
# title: All of a service
review contains "Review: iam_policy_wildcard: a policy allows every action of a service (action); approve it where the list of actions would be longer than the risk is worth." if {
	iam_policy_wildcard_allows
	some action in lib.values(iam_policy_wildcard_settings.action_fields)
	is_string(action)
	endswith(trim_space(action), ":*")
	not iam_policy_wildcard_star(action)
}

# What only denies may say "*".
iam_policy_wildcard_allows if {
	lib.watched.iam_policy_wildcard
	not lib.among(iam_policy_wildcard_settings.effect_fields, ["deny"])
}

iam_policy_wildcard_everything if {
	some action in lib.values(iam_policy_wildcard_settings.action_fields)
	iam_policy_wildcard_star(action)
}

iam_policy_wildcard_everything if {
	some verb in lib.values(iam_policy_wildcard_settings.verb_fields)
	iam_policy_wildcard_star(verb)
	some resource in lib.values(iam_policy_wildcard_settings.resource_fields)
	iam_policy_wildcard_star(resource)
}

iam_policy_wildcard_everything if lib.mentions(iam_policy_wildcard_settings.role_fields, iam_policy_wildcard_settings.everything_roles)

iam_policy_wildcard_everybody if {
	some principal in lib.values(iam_policy_wildcard_settings.principal_fields)
	iam_policy_wildcard_star(principal)
}

iam_policy_wildcard_everybody if lib.mentions(iam_policy_wildcard_settings.principal_fields, iam_policy_wildcard_settings.everybody)

# "*", "*:*", "**".
iam_policy_wildcard_star(value) if {
	is_string(value)
	contains(value, "*")
	trim(value, "*: /?\t\r\n") == ""
}
