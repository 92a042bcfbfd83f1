package gate.templates.cdr_egress_test

import rego.v1

import data.gate.templates.fixtures

name := "cdr_egress"

test_what_is_missing_lets_nothing_out if {
	every arguments in [
		{},
		{"customer_authenticated": "no"},
		{"purpose": ["billing", "marketing"]},
		{"purpose": "marketing"},
	] {
		fixtures.denies(name, {"tool_type": "cdr.export", "arguments": arguments})
	}
}

test_a_password_opens_no_place if fixtures.denies(name, {"tool_type": "locateDevice_subscriber_locate", "arguments": {"customer_authenticated": true, "purpose": "fraud"}})

test_processes_wait if {
	every arguments in [
		{"subpoena_id": "S-1"},
		{"basis": {"ExigentRequestId": 9}, "to": "a@police.example"},
	] {
		fixtures.asks(name, {"tool_type": "cpni_share", "arguments": arguments})
	}
}

test_inside_it_stays if fixtures.silent(name, {"tool_type": "export_cdr", "arguments": {"purpose": "rating", "url": "https://dwh.carrier.example"}}) with data.gate.cdr_egress as {"internal_domains": ["carrier.example"]}
