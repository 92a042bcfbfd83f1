package gate.templates.support_handoff_external_test

import rego.v1

import data.gate.templates.fixtures

name := "support_handoff_external"

test_numbers_do_not_leave if {
	every arguments in [
		{"to": "x@vendor.example", "body": "SSN 078-05-1120"},
		{"share_with": ["https://vendor.example/in"], "passport_number": "C01234567"},
	] {
		fixtures.denies(name, {"tool_type": "forward_ticket", "arguments": arguments})
	}
}

test_outside_waits if {
	every arguments in [
		{"to": "x@vendor.example"},
		{"options": {"forwardTo": ["x@vendor.example"]}},
		{"to": "a@acme.example, b@vendor.example"},
	] {
		fixtures.asks(name, {"tool_type": "forward_ticket", "arguments": arguments})
	}
}

test_queues_are_inside if {
	every arguments in [
		{"to": "billing"},
		{"assignee": "ada"},
		{"ticket_id": "T-1"},
	] {
		fixtures.silent(name, {"tool_type": "transfer_ticket", "arguments": arguments})
	}
}

test_domains_are_a_parameter if {
	every arguments in [
		{"to": "ada@acme.example", "ssn": "078-05-1120"},
		{"to": "Ada <ada@eu.acme.example>"},
	] {
		fixtures.silent(name, {"tool_type": "forward_ticket", "arguments": arguments}) with data.gate.support_handoff_external as {"internal_domains": ["acme.example"]}
	}
}

test_a_lookalike_is_outside if {
	every arguments in [
		{"to": "ada@notacme.example"},
	] {
		fixtures.asks(name, {"tool_type": "forward_ticket", "arguments": arguments}) with data.gate.support_handoff_external as {"internal_domains": ["acme.example"]}
	}
}

test_another_tool_is_let_through if {
	every arguments in [
		{"to": "x@vendor.example", "body": "SSN 078-05-1120"},
		{"share_with": ["https://vendor.example/in"], "passport_number": "C01234567"},
		{"to": "x@vendor.example"},
		{"options": {"forwardTo": ["x@vendor.example"]}},
		{"to": "a@acme.example, b@vendor.example"},
	] {
		fixtures.silent(name, {"tool_type": "summarize_thread", "arguments": arguments})
	}
}
