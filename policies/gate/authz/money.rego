# Summary: Money. Money moves only after a human said so.
# Tier: review

package gate.authz

import rego.v1

import data.gate.lib

moves_money if tool_says.wires_money

moves_money if tool_says.pays_money

tool_traits contains "wires_money" if wires_money

tool_traits contains "pays_money" if pays_money

wires_money if {
	lib.tool_is_any_of(data.gate.money.wire_tools)
	money_itself
}

pays_money if {
	lib.tool_is_any_of(data.gate.money.tools)
	money_itself
}

# Not a read of it, and not a letter about it: list_wire_transfers, send_payment_reminder.
money_itself if {
	not lib.tool_reads
	not writes_about_money
}

writes_about_money if {
	some word in data.gate.money.harmless_words
	word in lib.tool_forms
}

# METADATA
# title: Wire transfer
# description: Always a human decision.
review contains "Review: Wire transfers require human approval." if tool_says.wires_money

# METADATA
# title: Money movement
# description: Payments, payouts and refunds.
review contains "Review: money movement requires human approval." if {
	tool_says.pays_money
	not tool_says.wires_money
}
