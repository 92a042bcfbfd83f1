package gate.templates.student_records_test

import rego.v1

import data.gate.templates.fixtures

name := "student_records"

test_official_changes_wait if {
	every arguments in [
		{},
		{"approved": true},
	] {
		fixtures.asks(name, {"tool_type": "gpaUpdate", "arguments": arguments})
	}
}

test_guarded_parts_wait if {
	every arguments in [
		{"select": "disciplinary_notes"},
		{"query": {"Fields": ["special education"]}},
	] {
		fixtures.asks(name, {"tool_type": "students.lookup", "arguments": arguments})
	}
}

test_others_run if {
	every arguments in [
		{},
		{"select": "email"},
		{"note": "iep"},
	] {
		fixtures.silent(name, {"tool_type": "students.lookup", "arguments": arguments})
	}
}

test_words_are_a_parameter if fixtures.asks(name, {"tool_type": "edit_grade", "arguments": {"type": "midterm"}}) with data.gate.student_records as {"final_words": ["midterm"]}
