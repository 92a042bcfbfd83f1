# Summary: Velocity. How often one agent may call.
# Tier: mixed
#
# The deployment's limit arrives as input.velocity_limit; 0 is off.

package gate.authz

import rego.v1

velocity_limit := object.get(input, "velocity_limit", data.gate.velocity.limit)

# METADATA
# title: Token velocity
# description: More calls in the window than the limit; a count or a limit that is no number denies.
deny contains "Violation: Token velocity: the call count or its limit cannot be read." if not velocity_readable

velocity_readable if {
	is_number(velocity_limit)
	velocity_limit >= 0
	is_number(object.get(input, "recent_request_count", 0))
}

deny contains message if {
	velocity_readable
	velocity_limit > 0
	object.get(input, "recent_request_count", 0) > velocity_limit
	message := concat("", [
		"Violation: Token velocity: more calls in ",
		format_int(data.gate.velocity.window_secs, 10),
		"s than the limit ",
		format_int(velocity_limit, 10),
		".",
	])
}

# METADATA
# title: Velocity tracker degraded
# description: The count is not known, so what would hurt most is looked at. Gate has every count today, so this speaks only for inputs of other callers of the engine.
# custom:
#   not_stamped: [velocity_degraded]
review contains "Review: velocity tracker degraded; the call rate of this agent is not known." if {
	not velocity_tracked
	money_or_production
}

velocity_tracked if object.get(input, "velocity_degraded", false) == false

money_or_production if moves_money

money_or_production if production_write
