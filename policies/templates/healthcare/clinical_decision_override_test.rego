package gate.templates.clinical_decision_override_test

import rego.v1

import data.gate.templates.fixtures

name := "clinical_decision_override"

test_hard_stops_hold if {
	every arguments in [
		{"npi": "1", "reason": "x", "severity": "High"},
		{"npi": "1", "reason": "x", "alert": [{"category": "x", "alert_level": "hard-stop"}]},
	] {
		fixtures.denies(name, {"tool_type": "cds.dismissAlert", "arguments": arguments})
	}
}

test_both_are_asked if {
	every arguments in [
		{},
		{"npi": "1"},
		{"reason": "x"},
		{"npi": "n/a", "reason": "x"},
	] {
		fixtures.denies(name, {"tool_type": "override_interaction", "arguments": arguments})
	}
}

test_others_wait if {
	every arguments in [
		{"npi": 1, "reason": "x"},
		{"npi": 1, "reason": "x", "severity": "moderate"},
	] {
		fixtures.asks(name, {"tool_type": "triageOverride", "arguments": arguments})
	}
}

test_words_are_a_parameter if fixtures.denies(name, {"tool_type": "override_interaction", "arguments": {"npi": 1, "reason": "x", "severity": "moderate"}}) with data.gate.clinical_decision_override as {"hard": ["moderate"]}
