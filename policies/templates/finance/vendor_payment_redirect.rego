# Template: vendor_payment_redirect
# Domain: finance
# Severity: critical
# Frameworks: SOX, PCI-DSS
# Tags: fraud, vendors
# Tier: mixed
# Tool surface: update_vendor, update_supplier_bank_details, add_vendor_bank_account, change_remittance
# Summary: Bank details of vendors. A change that nobody confirmed with the vendor is refused; a confirmed one waits.
# Purpose: A mail that says "our bank account has changed" is the costliest fraud there is (business e-mail compromise, FBI IC3). A call to the number on file ends it.
# Inputs: iban, account_number, routing_number and their like; callback_reference, verified_by; at any depth.
# Edit: tools, bank_fields, proof_fields, bank_tools.

package gate.authz

import rego.v1

import data.gate.lib

vendor_payment_redirect_defaults := {
	"tools": [
		"bank_account_add", "bank_account_update", "bank_detail_change", "bank_detail_update", "beneficiary_update", "payee_add", "payee_edit",
		"payee_update", "payment_detail_update", "remittance_change", "remittance_update", "supplier_create", "supplier_edit", "supplier_update",
		"vendor_create", "vendor_edit", "vendor_modify", "vendor_update",
	],
	"bank_fields": [
		"account_number", "ach_account", "bank", "bank_account", "bank_account_number", "bank_detail", "bic", "iban", "remit_to",
		"remittance_account", "routing_number", "sort_code", "swift_code",
	],
	"proof_fields": [
		"call_back_id", "call_back_reference", "callback_id", "callback_reference", "verification_call_id", "verified_by_phone",
	],
	"bank_tools": [
		"bank_account_add", "bank_account_update", "bank_detail_change", "bank_detail_update", "remittance_change", "remittance_update",
	],
}

vendor_payment_redirect_settings := object.union(vendor_payment_redirect_defaults, given) if given := data.gate.vendor_payment_redirect

else := vendor_payment_redirect_defaults

watches contains "vendor_payment_redirect" if lib.tool_changes(vendor_payment_redirect_settings.tools)

watches contains "vendor_payment_redirect_bank" if lib.tool_changes(vendor_payment_redirect_settings.bank_tools)

# METADATA
# title: Not confirmed
deny contains "Violation: vendor_payment_redirect: bank details (iban, account_number) change without a call-back (callback_reference); call the vendor at the number on file, not the one in the message." if {
	vendor_payment_redirect_redirects
	not lib.given(vendor_payment_redirect_settings.proof_fields)
}

# METADATA
# title: Confirmed
review contains "Review: vendor_payment_redirect: bank details (iban, account_number) change after a call-back; approve it where the call is on record and somebody else made it." if {
	vendor_payment_redirect_redirects
	lib.given(vendor_payment_redirect_settings.proof_fields)
}

vendor_payment_redirect_redirects if lib.watched.vendor_payment_redirect_bank

vendor_payment_redirect_redirects if {
	lib.watched.vendor_payment_redirect
	lib.given(vendor_payment_redirect_settings.bank_fields)
}
