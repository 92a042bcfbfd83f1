# Template: money_moves
# Domain: finance
# Severity: critical
# Frameworks: PCI-DSS, SOX, OFAC
# Tags: payments, sanctions
# Tier: mixed
# Tool surface: wire_transfer, send_payment, create_payment, bank_transfer, ach_transfer
# Summary: Outgoing payments. One to a sanctioned country, above the ceiling or without a readable amount is refused; one without a reference waits.
# Purpose: OFAC liability is strict: a payment to an embargoed country is a violation whoever sent it. SOX 404 wants every payment traceable to what it pays.
# Inputs: amount, beneficiary_country, bank_country and their like; invoice_id, payment_reference; at any depth.
# Edit: tools, harmless_tools, amount_fields, deny_above, country_fields, sanctioned, reference_fields.

package gate.authz

import rego.v1

import data.gate.lib

money_moves_defaults := {
	"tools": [
		"ach_payment", "ach_transfer", "bank_transfer", "bill_pay", "fund_transfer", "invoice_pay", "money_send", "money_transfer",
		"payment_create", "payment_execute", "payment_initiate", "payment_make", "payment_order_create", "payment_order_submit",
		"payment_release", "payment_send", "payment_submit", "sepa_transfer", "swift_send", "wire_send", "wire_transfer",
	],
	"harmless_tools": ["intent", "invoice_draft", "link", "method", "notification", "page", "receipt", "reminder", "template"],
	"amount_fields": ["amount", "amount_usd", "payment_amount", "total_amount", "transfer_amount"],
	"deny_above": 100000,
	"country_fields": [
		"bank_country", "beneficiary_country", "country", "country_code", "creditor_country", "destination_country", "recipient_country",
	],
	"sanctioned": ["cu", "cub", "cuba", "democratic_people_korea", "dprk", "ir", "iran", "irn", "kp", "north_korea", "prk"],
	"reference_fields": [
		"bill_id", "contract_id", "invoice", "invoice_id", "invoice_number", "payment_reference", "po_number", "purchase_order", "reference",
		"remittance_information",
	],
}

money_moves_settings := object.union(money_moves_defaults, given) if given := data.gate.money_moves

else := money_moves_defaults

watches contains "money_moves" if {
	lib.tool_changes(money_moves_settings.tools)
	not lib.tool_is(money_moves_settings.harmless_tools)
}

# METADATA
# title: A sanctioned country
deny contains "Violation: money_moves: the country (beneficiary_country, bank_country) is under embargo; stop, and hand the payment to the sanctions desk." if {
	lib.watched.money_moves
	lib.mentions(money_moves_settings.country_fields, money_moves_settings.sanctioned)
}

# METADATA
# title: Too much at once
deny contains "Violation: money_moves: the amount is above deny_above, or is not a plain number; the treasury pays it under dual control." if {
	lib.watched.money_moves
	not lib.at_most(money_moves_settings.amount_fields, money_moves_settings.deny_above)
}

# METADATA
# title: Paid for nothing
review contains "Review: money_moves: no reference says what is paid (invoice_id, po_number, payment_reference); add it, or approve the payment as it is." if {
	lib.watched.money_moves
	not lib.given(money_moves_settings.reference_fields)
}
