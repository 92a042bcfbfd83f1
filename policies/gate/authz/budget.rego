# Summary: Budget. An agent that has spent its budget makes no further call.
# Tier: deny
# The boundary itself denies.

package gate.authz

import rego.v1

# METADATA
# title: Budget spent
# description: Spend and budget in millionths of the currency unit; a value that is no number denies. A call has both where somebody set a budget; without one nothing is spent.
deny contains "Violation: the budget of this agent is spent." if budget_exceeded

default budget_exceeded := false

budget_exceeded if not within_budget

within_budget if {
	budget := object.get(input, "budget_micros", data.gate.budget.default_micros)
	spent := object.get(input, "cumulative_spend_micros", 0)
	is_number(budget)
	is_number(spent)
	spent < budget
}
