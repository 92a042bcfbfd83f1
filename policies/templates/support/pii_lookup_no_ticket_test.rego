package gate.templates.pii_lookup_no_ticket_test

import rego.v1

import data.gate.templates.fixtures

name := "pii_lookup_no_ticket"

test_masks_hold_in_any_spelling if {
	every arguments in [
		{"unmask": "please"},
		{"select": "ssn,name"},
		{"query": {"Include": ["passportNumber", "passport"]}},
	] {
		fixtures.denies(name, {"tool_type": "customers.get", "arguments": arguments})
	}
}

test_tools_that_reveal_need_no_field if {
	every arguments in [
		{},
		{"ticket": "none"},
	] {
		fixtures.denies(name, {"tool_type": "piiLookup", "arguments": arguments})
	}
}

test_tickets_wait if fixtures.asks(name, {"tool_type": "user_lookup", "arguments": {"raw": 1, "case_id": "C-1"}})

test_plain_looks_run if {
	every arguments in [
		{},
		{"include": "orders"},
		{"raw": "false"},
	] {
		fixtures.silent(name, {"tool_type": "user_lookup", "arguments": arguments})
	}
}

test_fields_are_a_parameter if fixtures.denies(name, {"tool_type": "user_lookup", "arguments": {"include": "salary"}}) with data.gate.pii_lookup_no_ticket as {"guarded_parts": ["salary"]}
