package gate.templates.chargeback_dispute_test

import rego.v1

import data.gate.templates.fixtures

name := "chargeback_dispute"

test_blank_evidence_is_none if {
	every arguments in [
		{"amount": 5},
		{"notes": "x"},
		{"file_id": ""},
	] {
		fixtures.denies(name, {"tool_type": "disputes.submitEvidence", "arguments": arguments})
	}
}

test_evidence_that_is_not_final_is_ordinary if {
	every arguments in [
		{"evidence": [{"invoice": "in_1"}]},
		{"file_id": "f1", "final": "no"},
	] {
		fixtures.silent(name, {"tool_type": "contest_chargeback", "arguments": arguments})
	}
}

test_final_answers_wait if {
	every arguments in [
		{"file_id": "f1", "submit": "true"},
		{"file_id": "f1", "options": {"SubmitNow": 1}},
	] {
		fixtures.asks(name, {"tool_type": "represent_chargeback", "arguments": arguments})
	}
}

test_the_limit_is_a_parameter if fixtures.silent(name, {"tool_type": "accept_dispute", "arguments": {"amount": 100}}) with data.gate.chargeback_dispute as {"concede_up_to": 100}
