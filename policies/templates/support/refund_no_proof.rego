# Template: refund_no_proof
# Domain: support
# Severity: high
# Frameworks: SOC2, ATO, consumer
# Tags: refunds, fraud
# Tier: mixed
# Tool surface: issue_refund, refund_order, create_refund, issue_credit, replace_item
# Summary: Refunds by support. Large ones are refused; without an order and a reason they wait, and so do credits and replacements.
# Purpose: Refund fraud is a trade with price lists. A friendly story is not a proof of purchase, and an agent believes stories.
# Inputs: order_id, receipt_id; reason; amount; at any depth.
# Edit: refund_tools, credit_tools, harmless_tools, proof_fields, reason_fields, amount_fields, deny_above.

package gate.authz

import rego.v1

import data.gate.lib

refund_no_proof_defaults := {
	"refund_tools": [
		"charge_refund", "customer_refund", "order_refund", "payment_refund", "refund_approve", "refund_create", "refund_issue",
		"refund_process", "subscription_refund",
	],
	"credit_tools": [
		"account_credit", "credit_issue", "goodwill_credit", "item_replace", "order_reship", "order_resend", "replacement_create",
		"replacement_send", "replacement_ship", "service_credit",
	],
	"harmless_tools": ["calculate", "estimate", "label", "notification", "policy", "reminder", "report", "request"],
	"proof_fields": [
		"charge_id", "invoice_id", "order", "order_id", "order_number", "payment_id", "payment_intent", "proof_of_purchase", "receipt",
		"receipt_id", "subscription_id", "transaction_id",
	],
	"reason_fields": ["evidence", "photo", "reason", "reason_code", "refund_reason", "return_id", "rma", "rma_number"],
	"amount_fields": ["amount", "credit_amount", "refund_amount"],
	"deny_above": 500,
}

refund_no_proof_settings := object.union(refund_no_proof_defaults, given) if given := data.gate.refund_no_proof

else := refund_no_proof_defaults

watches contains "refund_no_proof_refund" if {
	lib.tool_changes(refund_no_proof_settings.refund_tools)
	not lib.tool_is(refund_no_proof_settings.harmless_tools)
}

watches contains "refund_no_proof_credit" if {
	lib.tool_changes(refund_no_proof_settings.credit_tools)
	not lib.tool_is(refund_no_proof_settings.harmless_tools)
}

# METADATA
# title: A large refund
deny contains "Violation: refund_no_proof: the amount (amount) is above deny_above, or no plain number; a person of the team pays it out." if {
	lib.watched.refund_no_proof_refund
	not lib.at_most(refund_no_proof_settings.amount_fields, refund_no_proof_settings.deny_above)
}

# METADATA
# title: No proof of purchase
review contains "Review: refund_no_proof: no proof of purchase (order_id, receipt_id); ask the customer for it, or approve it as goodwill." if {
	refund_no_proof_gives
	not lib.given(refund_no_proof_settings.proof_fields)
}

# METADATA
# title: No reason
review contains "Review: refund_no_proof: no reason (reason, return_id) says what was wrong; write it down, or approve it as goodwill." if {
	refund_no_proof_gives
	not lib.given(refund_no_proof_settings.reason_fields)
}

refund_no_proof_gives if lib.watched.refund_no_proof_refund

refund_no_proof_gives if lib.watched.refund_no_proof_credit
