package gate.templates.pii_lookup_no_ticket_test

import rego.v1

import data.gate.templates.fixtures

name := "pii_lookup_no_ticket"

test_numbers_need_a_ticket if {
	every arguments in [
		{"id": 1, "fields": ["name", "ssn"]},
		{"include": "dateOfBirth"},
		{"unmask": "true"},
		{"fields": "ssn", "ticket_id": "none"},
	] {
		fixtures.denies(name, {"tool_type": "get_customer", "arguments": arguments})
	}
}

test_documents_do if {
	every arguments in [
		{"customer_id": 1},
	] {
		fixtures.denies(name, {"tool_type": "view_identity_document", "arguments": arguments})
	}
}

test_with_one_they_are_shown if {
	every arguments in [
		{"fields": ["ssn"], "ticket_id": "T-1"},
	] {
		fixtures.silent(name, {"tool_type": "get_customer", "arguments": arguments})
	}
}

test_other_fields_are_ordinary if {
	every arguments in [
		{"id": 1},
		{"fields": ["name", "plan"]},
		{"unmask": false},
		{"limit": 20},
	] {
		fixtures.silent(name, {"tool_type": "get_customer", "arguments": arguments})
	}
}

test_many_people_wait if {
	every arguments in [
		{"limit": 5000},
		{"page_size": "1,000"},
		{"limit": "all5"},
	] {
		fixtures.asks(name, {"tool_type": "search_customers", "arguments": arguments})
	}
}

test_how_many_is_a_parameter if {
	every arguments in [
		{"limit": 5000},
	] {
		fixtures.silent(name, {"tool_type": "search_customers", "arguments": arguments}) with data.gate.pii_lookup_no_ticket as {"at_most": 5000}
	}
}

test_another_tool_is_let_through if {
	every arguments in [
		{"id": 1, "fields": ["name", "ssn"]},
		{"include": "dateOfBirth"},
		{"unmask": "true"},
		{"fields": "ssn", "ticket_id": "none"},
		{"customer_id": 1},
		{"limit": 5000},
		{"page_size": "1,000"},
		{"limit": "all5"},
	] {
		fixtures.silent(name, {"tool_type": "summarize_thread", "arguments": arguments})
	}
}
