package gate.templates.recruiter_pii_test

import rego.v1

import data.gate.templates.fixtures

name := "recruiter_pii"

test_protected_fields_are_refused_anywhere if {
	every arguments in [
		{"where": {"Gender": "f"}},
		{"filters": "[{\"nationality\": \"DE\"}]"},
		{"criteria": "native speaker only"},
		{"max_age": 35},
	] {
		fixtures.denies(name, {"tool_type": "candidates.filter", "arguments": arguments})
	}
}

test_decisions_by_them_too if fixtures.denies(name, {"tool_type": "reject_application", "arguments": {"rejection_reason": "too old for the team"}})

test_plain_criteria_run if {
	every arguments in [
		{"criteria": "knows Java"},
		{"criteria": "manages trace data"},
		{"gender": ""},
		{},
	] {
		fixtures.silent(name, {"tool_type": "screen_resume", "arguments": arguments})
	}
}

test_decisions_wait if {
	every arguments in [
		{"candidate": "c"},
		{},
	] {
		fixtures.asks(name, {"tool_type": "send_offer", "arguments": arguments})
	}
}

test_inside_it_may_be_shared if fixtures.silent(name, {"tool_type": "forward_cv", "arguments": {"to": "lead@acme.example"}}) with data.gate.recruiter_pii as {"internal_domains": ["acme.example"]}
