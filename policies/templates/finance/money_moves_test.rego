package gate.templates.money_moves_test

import rego.v1

import data.gate.templates.fixtures

name := "money_moves"

test_sanctioned_countries_are_refused if {
	every arguments in [
		{"amount": 1, "reference": "INV-1", "beneficiary_country": "cu"},
		{"amount": 1, "reference": "INV-1", "bank": {"bankCountry": "North Korea"}},
		{"amount": 1, "reference": "INV-1", "country": " KP "},
		{"amount": 1, "reference": "INV-1", "country": "Iran, Islamic Republic of"},
		{"amount": 1, "reference": "INV-1", "country": "Democratic People's Republic of Korea"},
	] {
		fixtures.denies(name, {"tool_type": "wire_transfer", "arguments": arguments})
	}
}

test_a_missing_or_odd_amount_is_refused if {
	every arguments in [
		{"invoice_id": "INV-1"},
		{"invoice_id": "INV-1", "amount": "a lot"},
		{"invoice_id": "INV-1", "amount": 100000.01},
	] {
		fixtures.denies(name, {"tool_type": "pay_invoice", "arguments": arguments})
	}
}

test_a_blank_reference_waits if {
	every arguments in [
		{"amount": 1},
		{"amount": "1,000.00", "reference": "n/a"},
	] {
		fixtures.asks(name, {"tool_type": "create_payment", "arguments": arguments})
	}
}

test_a_plain_payment_is_left_to_the_floor if {
	every arguments in [
		{"amount": 100000, "invoice_id": "INV-1", "country": "DE"},
		{"amount": 1, "invoice_id": "INV-1", "country": "Republic of Korea"},
		{"amount": {"value": "99.50", "currency": "USD"}, "poNumber": "PO-7"},
	] {
		fixtures.silent(name, {"tool_type": "wireTransfer", "arguments": arguments})
	}
}

test_a_bank_sets_its_ceiling if fixtures.denies(name, {"tool_type": "wire_transfer", "arguments": {"amount": 501, "invoice_id": "INV-1"}}) with data.gate.money_moves as {"deny_above": 500}
