package gate.templates.vendor_payment_redirect_test

import rego.v1

import data.gate.templates.fixtures

name := "vendor_payment_redirect"

test_unconfirmed_changes_are_refused if {
	every arguments in [
		{"iban": "x"},
		{"changes": [{"BankAccountNumber": "1"}]},
		{"sort_code": "20-00-00", "callback_reference": "none"},
	] {
		fixtures.denies(name, {"tool_type": "vendors.update", "arguments": arguments})
	}
}

test_a_tool_for_bank_details_needs_no_field if {
	every arguments in [
		{},
		{"vendor_id": "v-1", "details": "new account, see mail"},
	] {
		fixtures.denies(name, {"tool_type": "change_bank_details", "arguments": arguments})
	}
}

test_confirmed_changes_wait if {
	every arguments in [
		{"iban": "x", "callback_reference": "CALL-1"},
		{"iban": "x", "verified_by_phone": true},
	] {
		fixtures.asks(name, {"tool_type": "update_vendor", "arguments": arguments})
	}
}

test_other_fields_are_ordinary if {
	every arguments in [
		{"name": "Parts Ltd"},
		{},
	] {
		fixtures.silent(name, {"tool_type": "update_vendor", "arguments": arguments})
	}
}

test_what_proves_is_a_parameter if fixtures.asks(name, {"tool_type": "update_vendor", "arguments": {"iban": "x", "penny_test": "ok-7"}}) with data.gate.vendor_payment_redirect as {"proof_fields": ["penny_test"]}
