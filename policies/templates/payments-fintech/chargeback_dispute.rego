# Template: chargeback_dispute
# Domain: payments-fintech
# Severity: high
# Frameworks: PCI-DSS, Visa-Dispute, Mastercard-Chargeback
# Tags: disputes
# Tier: mixed
# Tool surface: submit_dispute_evidence, update_dispute, accept_dispute, close_dispute
# Summary: Chargebacks. An answer without evidence is refused; conceding a dispute waits above a limit, and what cannot be taken back waits.
# Purpose: A dispute is answered once: an empty answer loses the money, an invented one the merchant account. Conceding pays the amount and the fee.
# Inputs: evidence, tracking_number, receipt and their like; amount; submit.
# Edit: answer_tools, concede_tools, evidence_fields, final_fields, amount_fields, concede_up_to.

package gate.authz

import rego.v1

import data.gate.lib

chargeback_dispute_defaults := {
	"answer_tools": [
		"chargeback_contest", "chargeback_represent", "chargeback_respond", "chargeback_submit", "dispute_challenge", "dispute_contest",
		"dispute_defend", "dispute_evidence", "dispute_respond", "dispute_submit", "dispute_update", "representment_submit",
	],
	"concede_tools": [
		"chargeback_accept", "chargeback_close", "chargeback_concede", "dispute_accept", "dispute_close", "dispute_concede",
	],
	"evidence_fields": [
		"access_activity_log", "attachment", "cancellation_policy", "customer_communication", "customer_signature", "delivery_confirmation",
		"document_id", "evidence", "evidence_file", "evidence_id", "file_id", "invoice", "receipt", "refund_policy", "service_documentation",
		"shipping_documentation", "shipping_tracking_number", "tracking_number", "uncategorized_file", "uncategorized_text",
	],
	"final_fields": ["final", "submit", "submit_now"],
	"amount_fields": ["amount", "dispute_amount", "disputed_amount"],
	"concede_up_to": 25,
}

chargeback_dispute_settings := object.union(chargeback_dispute_defaults, given) if given := data.gate.chargeback_dispute

else := chargeback_dispute_defaults

watches contains "chargeback_dispute_answer" if lib.tool_changes(chargeback_dispute_settings.answer_tools)

watches contains "chargeback_dispute_concede" if lib.tool_changes(chargeback_dispute_settings.concede_tools)

# METADATA
# title: An answer without evidence
deny contains "Violation: chargeback_dispute: the answer has no evidence (evidence, receipt, tracking_number); attach what shows the purchase or the delivery." if {
	lib.watched.chargeback_dispute_answer
	not lib.given(chargeback_dispute_settings.evidence_fields)
}

# METADATA
# title: A final answer
review contains "Review: chargeback_dispute: the answer is final (submit) and there is one only; approve it where the evidence is complete and true." if {
	lib.watched.chargeback_dispute_answer
	lib.switched_on(chargeback_dispute_settings.final_fields)
}

# METADATA
# title: Giving in
review contains "Review: chargeback_dispute: the amount at stake is above concede_up_to or not said; approve conceding it, or contest it." if {
	lib.watched.chargeback_dispute_concede
	not lib.at_most(chargeback_dispute_settings.amount_fields, chargeback_dispute_settings.concede_up_to)
}
