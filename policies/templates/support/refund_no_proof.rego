# Template: refund_no_proof
# Domain: support
# Severity: high
# Frameworks: SOC2
# Tags: refunds, fraud
# Tier: mixed
# Tool surface: issue_refund, refund_order, create_refund, issue_credit
# Summary: Refunds and credits. One that names no purchase is refused; one above what support gives by itself waits.
# Purpose: Refunds are talked out of an agent more easily than out of a person, and once paid they are gone.
# Inputs: order_id, receipt_id, amount, currency and their like, at any depth.
# Edit: tools, proof_fields, amount_fields, review_above, deny_above.

package gate.authz

import rego.v1

import data.gate.lib

refund_no_proof_defaults := {
	"tools": [
		"credit_issue", "credit_note_create", "goodwill_credit", "order_refund", "refund_approve", "refund_create", "refund_issue",
		"refund_process", "refund_send", "store_credit", "voucher_issue",
	],
	"proof_fields": [
		"charge", "charge_id", "invoice_id", "invoice_number", "order", "order_id", "order_number", "payment_id", "payment_intent",
		"payment_intent_id", "purchase_id", "receipt_id", "transaction_id",
	],
	"amount_fields": ["amount", "credit_amount", "refund_amount", "total", "value"],
	"review_above": 100,
	"deny_above": 5000,
}

refund_no_proof_settings := object.union(refund_no_proof_defaults, given) if given := data.gate.refund_no_proof

else := refund_no_proof_defaults

watches contains "refund_no_proof" if lib.tool_changes(refund_no_proof_settings.tools)

# METADATA
# title: No purchase
deny contains "Violation: refund_no_proof: a refund or credit that names no purchase (order_id, receipt_id, payment_id); look the order up and name it." if {
	lib.watched.refund_no_proof
	not lib.given(refund_no_proof_settings.proof_fields)
}

# METADATA
# title: Too much
deny contains "Violation: refund_no_proof: a refund or credit above deny_above (amount); hand the case to the team that pays such amounts." if {
	lib.watched.refund_no_proof
	count(lib.values(refund_no_proof_settings.amount_fields)) > 0
	not lib.at_most(refund_no_proof_settings.amount_fields, refund_no_proof_settings.deny_above)
}

# METADATA
# title: More than support gives
review contains "Review: refund_no_proof: a refund or credit above review_above, or that does not say how much (amount); approve it where the order was paid and was not refunded before." if {
	lib.watched.refund_no_proof
	not lib.at_most(refund_no_proof_settings.amount_fields, refund_no_proof_settings.review_above)
}
