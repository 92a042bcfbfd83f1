# Summary: Delegation. What a person delegated only to be asked about waits for a person.
# Tier: review

package gate.authz

import rego.v1

# METADATA
# title: Delegation
# description: The call came with a grant that does not name its tool in scope (tool:<name>), only in yellow_scope (yellow:<name>), or that cannot be read.
review contains "Review: the grant of this call only lets its agent ask a person for this tool (yellow_scope)." if not delegated_outright

# Without a grant the other rules judge alone.
delegated_outright if object.get(input, "grant", null) == null

delegated_outright if concat(":", ["tool", lower(input.tool_type)]) in input.grant.scope
