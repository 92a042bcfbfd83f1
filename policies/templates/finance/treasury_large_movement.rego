# Template: treasury_large_movement
# Domain: finance
# Severity: critical
# Frameworks: SOX, OFAC, FFIEC
# Tags: treasury, liquidity
# Tier: mixed
# Tool surface: sweep_cash, transfer_intercompany, execute_fx, draw_credit_line, redeem_fund
# Summary: Treasury. A large movement of liquidity waits in banking hours and is refused outside them, and so is one to an account that nobody knows.
# Purpose: Large transfers after hours, to accounts seen for the first time, took 81 million dollars from a central bank (Bangladesh, 2016). Cut-off times are no reason for haste.
# Inputs: amount, notional; destination_account, counterparty; current_time.
# Edit: tools, amount_fields, review_above, destination_fields, known_destinations, hours.

package gate.authz

import rego.v1

import data.gate.lib

treasury_large_movement_defaults := {
	"tools": [
		"cash_concentrate", "cash_move", "cash_pool", "cash_sweep", "credit_draw", "credit_line_draw", "deposit_place", "fund_redeem", "fx_buy",
		"fx_deal", "fx_execute", "fx_trade", "intercompany_loan", "intercompany_transfer", "liquidity_transfer", "money_market_buy",
		"treasury_move", "treasury_transfer",
	],
	"amount_fields": ["amount", "base_amount", "notional", "principal", "transfer_amount"],
	"review_above": 250000,
	"destination_fields": ["beneficiary_account", "counterparty", "credit_account", "destination_account", "to_account"],
	"known_destinations": [],
	"hours": {
		"weekdays": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"],
		"from_hour": 8,
		"to_hour": 17,
		"utc_offset_minutes": 0,
	},
}

treasury_large_movement_settings := object.union(treasury_large_movement_defaults, given) if given := data.gate.treasury_large_movement

else := treasury_large_movement_defaults

watches contains "treasury_large_movement" if lib.tool_changes(treasury_large_movement_settings.tools)

# METADATA
# title: Large, and nobody at the desk
deny contains "Violation: treasury_large_movement: the amount is above review_above or not readable, and current_time is outside the hours of the desk; wait for the next banking day." if {
	lib.watched.treasury_large_movement
	treasury_large_movement_large
	not lib.between(treasury_large_movement_settings.hours)
}

# METADATA
# title: A destination that nobody knows
deny contains "Violation: treasury_large_movement: the destination (destination_account, counterparty) is not said or not known; name it, and have the treasury add it to known_destinations after a call-back." if {
	lib.watched.treasury_large_movement
	not treasury_large_movement_known_destination
}

# METADATA
# title: A large movement
review contains "Review: treasury_large_movement: the amount is above review_above or not readable; approve it against the cash forecast." if {
	lib.watched.treasury_large_movement
	treasury_large_movement_large
}

treasury_large_movement_large if not lib.at_most(treasury_large_movement_settings.amount_fields, treasury_large_movement_settings.review_above)

treasury_large_movement_known_destination if lib.among(treasury_large_movement_settings.destination_fields, treasury_large_movement_settings.known_destinations)

# Without a list, small movements need none, and large ones one that is said.
treasury_large_movement_known_destination if {
	count(treasury_large_movement_settings.known_destinations) == 0
	not treasury_large_movement_large
}

treasury_large_movement_known_destination if {
	count(treasury_large_movement_settings.known_destinations) == 0
	lib.given(treasury_large_movement_settings.destination_fields)
}
