package gate.templates.order_refund_limits_test

import rego.v1

import data.gate.templates.fixtures

name := "order_refund_limits"

test_amounts_are_numbers if {
	every arguments in [
		{"order_id": "o"},
		{"order_id": "o", "amount": "all"},
		{"order_id": "o", "lines": [{"amount": 10}, {"amount": "200.01"}]},
	] {
		fixtures.denies(name, {"tool_type": "refund.create", "arguments": arguments})
	}
}

test_within_the_limits_it_is_left_to_the_floor if {
	every arguments in [
		{"order_id": "o", "amount": 200},
		{"order_id": "o", "amount": "50", "order_total": "50.00"},
	] {
		fixtures.silent(name, {"tool_type": "refundOrder", "arguments": arguments})
	}
}

test_limits_are_parameters if fixtures.denies(name, {"tool_type": "refundOrder", "arguments": {"order_id": "o", "amount": 51}}) with data.gate.order_refund_limits as {"deny_above": 50}
