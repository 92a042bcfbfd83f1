package gate.templates.refund_no_proof_test

import rego.v1

import data.gate.templates.fixtures

name := "refund_no_proof"

test_without_a_purchase_it_is_refused if {
	every arguments in [
		{"amount": 5},
		{"amount": 5, "order_id": ""},
		{},
	] {
		fixtures.denies(name, {"tool_type": "issue_refund", "arguments": arguments})
	}
}

test_too_much_is_refused if {
	every arguments in [
		{"order_id": "o-1", "amount": 5001},
		{"order_id": "o-1", "amount": "USD 9,000.00"},
		{"order_id": "o-1", "amount": "9k"},
	] {
		fixtures.denies(name, {"tool_type": "refunds.issue", "arguments": arguments})
	}
}

test_more_than_support_gives_waits if {
	every arguments in [
		{"order_id": "o-1", "amount": 101},
		{"order_id": "o-1"},
		{"order_id": "o-1", "lines": [{"amount": 20}, {"amount": 200}]},
	] {
		fixtures.asks(name, {"tool_type": "issueRefund", "arguments": arguments})
	}
}

test_small_ones_pass if {
	every arguments in [
		{"order_id": "o-1", "amount": 100},
		{"order_id": "o-1", "amount": "25.00"},
	] {
		fixtures.silent(name, {"tool_type": "issue_credit", "arguments": arguments})
	}
}

test_amounts_are_a_parameter if {
	every arguments in [
		{"order_id": "o-1", "amount": 1000},
	] {
		fixtures.silent(name, {"tool_type": "issue_credit", "arguments": arguments}) with data.gate.refund_no_proof as {"review_above": 1000}
	}
}

test_reading_passes if {
	every arguments in [
		{},
	] {
		fixtures.silent(name, {"tool_type": "get_refund_issue_date", "arguments": arguments})
	}
}

test_another_tool_is_let_through if {
	every arguments in [
		{"amount": 5},
		{"amount": 5, "order_id": ""},
		{},
		{"order_id": "o-1", "amount": 5001},
		{"order_id": "o-1", "amount": "USD 9,000.00"},
		{"order_id": "o-1", "amount": "9k"},
		{"order_id": "o-1", "amount": 101},
		{"order_id": "o-1"},
		{"order_id": "o-1", "lines": [{"amount": 20}, {"amount": 200}]},
	] {
		fixtures.silent(name, {"tool_type": "summarize_thread", "arguments": arguments})
	}
}
