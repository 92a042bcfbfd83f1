package gate.templates.prescription_renewal_no_review_test

import rego.v1

import data.gate.templates.fixtures

name := "prescription_renewal_no_review"

test_controlled_by_name_or_schedule if {
	every arguments in [
		{"prescriber": "a", "visit_id": "v", "drug": {"name": "fentanyl patch"}},
		{"prescriber": "a", "visit_id": "v", "is_controlled": true},
		{"prescriber": "a", "visit_id": "v", "dea_schedule": 2},
	] {
		fixtures.denies(name, {"tool_type": "rx.send", "arguments": arguments})
	}
}

test_both_are_asked if {
	every arguments in [
		{},
		{"npi": "1", "visit_id": "n/a"},
		{"visit_id": "v"},
	] {
		fixtures.denies(name, {"tool_type": "approveRefill", "arguments": arguments})
	}
}

test_others_wait if {
	every arguments in [
		{"npi": "1", "visit_id": "v", "is_controlled": false},
		{"npi": "1", "visit_id": "v", "dea_schedule": "non-controlled"},
	] {
		fixtures.asks(name, {"tool_type": "authorize_refill", "arguments": arguments})
	}
}

test_substances_are_a_parameter if fixtures.denies(name, {"tool_type": "authorize_refill", "arguments": {"npi": "1", "visit_id": "v", "drug": "Gabapentin"}}) with data.gate.prescription_renewal_no_review as {"controlled": ["gabapentin"]}
