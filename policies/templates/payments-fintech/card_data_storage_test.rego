package gate.templates.card_data_storage_test

import rego.v1

import data.gate.templates.fixtures

name := "card_data_storage"

test_codes_are_refused_in_any_shape if {
	every arguments in [
		{"cvc": 123},
		{"custom_fields": [{"SecurityCode": "0123"}]},
		{"data": "{\"pin_block\": \"0412AC89ABCDEF67\"}"},
	] {
		fixtures.denies(name, {"tool_type": "ticket.update", "arguments": arguments})
	}
}

test_numbers_are_refused_in_any_shape if {
	every arguments in [
		{"values": ["4111-1111-1111-1111"]},
		{"pan": "4111111111111111"},
		{"credit_card": 4111111111111111},
	] {
		fixtures.denies(name, {"tool_type": "appendRow", "arguments": arguments})
	}
}

test_an_empty_code_is_none if {
	every arguments in [
		{"cvv": ""},
		{"cvv": null},
		{"cvc_check": "pass"},
		{},
	] {
		fixtures.silent(name, {"tool_type": "update_customer", "arguments": arguments})
	}
}

test_the_vault_may_have_the_number_and_no_code if fixtures.denies(name, {"tool_type": "vault_record_create", "arguments": {"card_number": "4111111111111111", "cvv": "123"}})

test_the_vault_may_have_the_number if fixtures.silent(name, {"tool_type": "vault_record_create", "arguments": {"card_number": "4111111111111111"}})

test_a_charge_is_not_stored_here if fixtures.silent(name, {"tool_type": "create_payment_intent", "arguments": {"card_number": "4111111111111111"}})
