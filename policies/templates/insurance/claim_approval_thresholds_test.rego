package gate.templates.claim_approval_thresholds_test

import rego.v1

import data.gate.templates.fixtures

name := "claim_approval_thresholds"

test_amounts_are_numbers if {
	every arguments in [
		{"amount": "25k", "assessment_id": "a"},
		{"assessment_id": "a"},
		{"payments": [{"amount": 100}, {"amount": 25001}], "assessment_id": "a"},
	] {
		fixtures.denies(name, {"tool_type": "claims.payOut", "arguments": arguments})
	}
}

test_unassessed_claims_wait if {
	every arguments in [
		{"amount": 100},
		{"amount": 100, "adjuster": "none"},
		{"amount": 501, "adjuster": "a"},
	] {
		fixtures.asks(name, {"tool_type": "payClaim", "arguments": arguments})
	}
}

test_small_ones_run if fixtures.silent(name, {"tool_type": "claim_approve", "arguments": {"amount": "500.00", "adjuster": "a", "fraud_flag": false}})

test_limits_are_parameters if fixtures.silent(name, {"tool_type": "claim_approve", "arguments": {"amount": 900, "adjuster": "a"}}) with data.gate.claim_approval_thresholds as {"alone_up_to": 1000}
