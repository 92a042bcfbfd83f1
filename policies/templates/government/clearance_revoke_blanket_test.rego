package gate.templates.clearance_revoke_blanket_test

import rego.v1

import data.gate.templates.fixtures

name := "clearance_revoke_blanket"

test_groups_are_refused if {
	every arguments in [
		{"reason": "x"},
		{"person_id": "p", "reason": "x", "scope": "all"},
		{"person_id": "everyone", "reason": "x"},
		{"users": [{"user_id": "*"}], "reason": "x"},
	] {
		fixtures.denies(name, {"tool_type": "clearanceRevoke", "arguments": arguments})
	}
}

test_people_wait if {
	every arguments in [
		{"person_id": "p", "case_id": "C"},
		{"subjects": [{"SubjectId": 1}, {"SubjectId": 2}], "cause": "guideline F"},
		{"person_id": "p", "case_id": "C", "all": false},
	] {
		fixtures.asks(name, {"tool_type": "revoke_eligibility", "arguments": arguments})
	}
}

test_how_many_is_a_parameter if fixtures.denies(name, {"tool_type": "revoke_badge", "arguments": {"badge_id": ["a", "b"], "cause": "lost"}}) with data.gate.clearance_revoke_blanket as {"most_people": 1}
