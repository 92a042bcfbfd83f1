package gate.templates.pii_to_foreign_address_test

import rego.v1

import data.gate.templates.fixtures

name := "pii_to_foreign_address"

test_foreign_ends_are_found if {
	every arguments in [
		{"url": "https://a.example.cn:8443/x", "ssn": "078-05-1120"},
		{"to": ["<b@x.de>"], "Passport": "X1"},
		{"country": "Iran", "ssn": "1"},
		{"country": ["US", "KP"], "ssn": "1"},
	] {
		fixtures.denies(name, {"tool_type": "http_post", "arguments": arguments})
	}
}

test_at_home_it_is_another_rule if {
	every arguments in [
		{"url": "https://a.example.gov", "ssn": "078-05-1120"},
		{"to": "a@startup.io", "ssn": "1"},
		{"country": "USA", "ssn": "1"},
		{"ssn": "1"},
	] {
		fixtures.silent(name, {"tool_type": "http_post", "arguments": arguments})
	}
}

test_ends_are_a_parameter if fixtures.silent(name, {"tool_type": "send_email", "arguments": {"to": "a@x.de", "ssn": "1"}}) with data.gate.pii_to_foreign_address as {"home_suffixes": ["de"]}
