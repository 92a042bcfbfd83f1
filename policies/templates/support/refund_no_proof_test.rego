package gate.templates.refund_no_proof_test

import rego.v1

import data.gate.templates.fixtures

name := "refund_no_proof"

test_amounts_are_numbers if {
	every arguments in [
		{"order_id": "o", "reason": "x"},
		{"order_id": "o", "reason": "x", "amount": "five hundred"},
		{"order_id": "o", "reason": "x", "amount": "500.01"},
	] {
		fixtures.denies(name, {"tool_type": "refunds.create", "arguments": arguments})
	}
}

test_proof_and_reason_are_asked if {
	every arguments in [
		{"amount": 5},
		{"amount": 5, "order_id": "n/a", "reason": "x"},
		{"amount": 5, "order": {"id": "o"}},
	] {
		fixtures.asks(name, {"tool_type": "refundPayment", "arguments": arguments})
	}
}

test_a_proven_refund_is_left_to_the_floor if fixtures.silent(name, {"tool_type": "refundPayment", "arguments": {"amount": "$5.00", "paymentId": "p", "Reason": "late"}})

test_the_limit_is_a_parameter if fixtures.denies(name, {"tool_type": "refundPayment", "arguments": {"amount": 51, "order_id": "o", "reason": "x"}}) with data.gate.refund_no_proof as {"deny_above": 50}
