# Summary: Identity rewrites. Who may do what is changed by people, never by the agent that would profit from it.
# Tier: deny

package gate.authz

import rego.v1

import data.gate.lib

# METADATA
# title: Identity permission rewrite
# description: Granting, widening or assigning permissions and roles.
deny contains "Violation: identity permission rewrites are not allowed." if tool_says.rewrites_identity

tool_traits contains "rewrites_identity" if {
	lib.tool_is_any_of(data.gate.identity.tools)
	not lib.tool_reads
}
