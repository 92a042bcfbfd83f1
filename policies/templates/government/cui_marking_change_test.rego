package gate.templates.cui_marking_change_test

import rego.v1

import data.gate.templates.fixtures

name := "cui_marking_change"

test_what_is_unknown_is_lower if {
	every arguments in [
		{},
		{"marking": "L0"},
		{"change": {"from": "CUI", "to": "U"}},
	] {
		fixtures.denies(name, {"tool_type": "marking_set", "arguments": arguments})
	}
}

test_authorities_wait if {
	every arguments in [
		{"oca_approval": "O-1"},
		{"basis": {"DerivedFrom": "guide 7"}},
	] {
		fixtures.asks(name, {"tool_type": "declassifyDocument", "arguments": arguments})
	}
}

test_higher_runs if fixtures.silent(name, {"tool_type": "classification_update", "arguments": {"classification": "Secret", "previous_classification": "CUI"}})

test_words_are_a_parameter if fixtures.silent(name, {"tool_type": "marking_set", "arguments": {"marking": "protected B"}}) with data.gate.cui_marking_change as {"high_words": ["protected"]}
