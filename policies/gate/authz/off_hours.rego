# Summary: Off hours. What may wait until somebody is at work is looked at by somebody.
# Tier: review

package gate.authz

import rego.v1

import data.gate.lib

# METADATA
# title: Off-hours action
# description: Money, production data and deployments outside business hours; a time that cannot be read counts as outside.
review contains "Review: off-hours action; it is outside business hours." if {
	high_impact
	not lib.business_hours
}

high_impact if moves_money

high_impact if production_write

high_impact if tool_says.deploys

tool_traits contains "deploys" if {
	lib.tool_is_any_of(data.gate.deployment.tools)
	not lib.tool_reads
}
