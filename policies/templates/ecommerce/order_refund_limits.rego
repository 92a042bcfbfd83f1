# Template: order_refund_limits
# Domain: ecommerce
# Severity: high
# Frameworks: PCI-DSS, consumer
# Tags: refunds, orders
# Tier: mixed
# Tool surface: refund_order, create_refund, issue_store_credit, cancel_order, bulk_refund
# Summary: Refunds of orders. Above the limit, beyond what was paid, in bulk or for no order they are refused; the next within a minute waits, as does credit above the limit.
# Purpose: Refunds are money that goes out by one call. Prompted agents gave back what nobody bought, and card rules want it back on the card that paid.
# Inputs: amount, order_total; order_id, charge_id; destination; at any depth.
# Edit: tools, credit_tools, harmless_tools, bulk_words, amount_fields, deny_above, credit_up_to, paid_fields, order_fields, elsewhere_fields, pause_ms.

package gate.authz

import rego.v1

import data.gate.lib

order_refund_limits_defaults := {
	"tools": [
		"charge_refund", "customer_refund", "order_refund", "order_reimburse", "payment_refund", "refund_create", "refund_execute",
		"refund_issue", "refund_process",
	],
	"credit_tools": [
		"account_credit", "coupon_issue", "credit_issue", "customer_credit", "gift_card_create", "gift_card_issue", "goodwill_credit",
		"store_credit",
	],
	"harmless_tools": ["calculate", "estimate", "label", "notification", "policy", "quote", "reminder", "report", "request"],
	"bulk_words": ["all", "batch", "bulk", "mass"],
	"amount_fields": ["amount", "amount_refunded", "refund_amount", "value"],
	"deny_above": 200,
	"credit_up_to": 25,
	"paid_fields": ["amount_paid", "captured_amount", "charge_amount", "order_amount", "order_total", "paid_amount"],
	"order_fields": [
		"charge", "charge_id", "order", "order_id", "order_number", "payment_id", "payment_intent", "payment_intent_id", "transaction_id",
	],
	"elsewhere_fields": ["alternate_card", "bank_account", "destination", "iban", "new_card", "paypal_email", "recipient_account"],
	"pause_ms": 60000,
}

order_refund_limits_settings := object.union(order_refund_limits_defaults, given) if given := data.gate.order_refund_limits

else := order_refund_limits_defaults

watches contains "order_refund_limits" if {
	lib.tool_changes(order_refund_limits_settings.tools)
	not lib.tool_is(order_refund_limits_settings.harmless_tools)
}

watches contains "order_refund_limits_bulk" if lib.tool_is(order_refund_limits_settings.bulk_words)

watches contains "order_refund_limits_credit" if {
	lib.tool_changes(order_refund_limits_settings.credit_tools)
	not lib.tool_is(order_refund_limits_settings.harmless_tools)
}

# METADATA
# title: Many at once
deny contains "Violation: order_refund_limits: the tool refunds many orders at once; refund each by its own order, or let finance run the batch." if {
	lib.watched.order_refund_limits
	lib.watched.order_refund_limits_bulk
}

# METADATA
# title: For no order
deny contains "Violation: order_refund_limits: no order or charge (order_id, charge_id) is named; a refund goes back on what was paid." if {
	lib.watched.order_refund_limits
	not lib.given(order_refund_limits_settings.order_fields)
}

# METADATA
# title: Too much
deny contains "Violation: order_refund_limits: the amount (amount, refund_amount) is above deny_above, beyond what was paid (order_total), or no plain number; a person of the team refunds it." if {
	lib.watched.order_refund_limits
	not order_refund_limits_within
}

# METADATA
# title: Elsewhere
deny contains "Violation: order_refund_limits: the money would go elsewhere (destination, iban) than it came from; refund to the original payment." if {
	lib.watched.order_refund_limits
	lib.given(order_refund_limits_settings.elsewhere_fields)
}

# METADATA
# title: One after the other
review contains "Review: order_refund_limits: this agent refunded a moment ago (pause_ms); approve it where it is another order and another customer." if {
	lib.watched.order_refund_limits
	lib.recently(order_refund_limits_settings.tools, order_refund_limits_settings.pause_ms)
}

# METADATA
# title: A large credit
review contains "Review: order_refund_limits: the credit (amount) is above credit_up_to, or no plain number; approve it as goodwill." if {
	lib.watched.order_refund_limits_credit
	not lib.at_most(order_refund_limits_settings.amount_fields, order_refund_limits_settings.credit_up_to)
}

order_refund_limits_within if {
	lib.at_most(order_refund_limits_settings.amount_fields, order_refund_limits_settings.deny_above)
	every paid in lib.values(order_refund_limits_settings.paid_fields) {
		lib.at_most(order_refund_limits_settings.amount_fields, lib.number_in(paid))
	}
}
