package gate.templates.customs_declarations_test

import rego.v1

import data.gate.templates.fixtures

name := "customs_declarations"

test_each_fact_is_needed if {
	every arguments in [
		{},
		{"hs": "1", "origin": "n/a", "customs_value": 1},
		{"origin": "DE", "customs_value": 1},
		{"hs": "1", "origin": "DE", "customs_value": ""},
	] {
		fixtures.denies(name, {"tool_type": "fileIsf", "arguments": arguments})
	}
}

test_embargoes_hold_by_name_and_code if {
	every arguments in [
		{"hs": "1", "origin": "DE", "customs_value": 1, "destination": "Tehran, Iran"},
		{"hs": "1", "origin": "DE", "customs_value": 1, "ship": {"ToCountry": " kp "}},
	] {
		fixtures.denies(name, {"tool_type": "amend_export_declaration", "arguments": arguments})
	}
}

test_a_licence_helps if fixtures.silent(name, {"tool_type": "submit_eei", "arguments": {"schedule_b": "1", "origin": "US", "customs_value": 1, "eccn": "3A001", "license_exception": "LVS"}})

test_unread_values_wait if fixtures.asks(name, {"tool_type": "submit_customs_entry", "arguments": {"hs": "1", "origin": "DE", "customs_value": "2k"}})

test_the_value_is_a_parameter if fixtures.asks(name, {"tool_type": "submit_customs_entry", "arguments": {"hs": "1", "origin": "DE", "customs_value": 200}}) with data.gate.customs_declarations as {"review_above": 100}
