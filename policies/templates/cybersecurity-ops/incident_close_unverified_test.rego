package gate.templates.incident_close_unverified_test

import rego.v1

import data.gate.templates.fixtures

name := "incident_close_unverified"

test_unverified_it_stays_open if {
	every arguments in [
		{"id": "I-1"},
		{"root_cause": "phishing"},
		{"verified_by": "ada"},
		{"root_cause": "x", "verified_by": "acme/files-bot"},
		{"root_cause": "tbd", "verified_by": "ada"},
	] {
		fixtures.denies(name, {"tool_type": "close_incident", "arguments": arguments})
	}
}

test_a_grave_one_waits if {
	every arguments in [
		{"root_cause": "x", "verified_by": "ada", "severity": "critical"},
		{"root_cause": "x", "verified_by": "ada"},
		{"root_cause": "x", "verified_by": "ada", "severity": ["low", "high"]},
	] {
		fixtures.asks(name, {"tool_type": "resolve_incident", "arguments": arguments})
	}
}

test_a_light_one_closes if {
	every arguments in [
		{"root_cause": "x", "verified_by": "ada", "severity": "Low"},
	] {
		fixtures.silent(name, {"tool_type": "close_incident", "arguments": arguments})
	}
}

test_a_status_closes_too if {
	every arguments in [
		{"status": "Resolved"},
		{"fields": {"state": "closed-false-positive"}},
	] {
		fixtures.denies(name, {"tool_type": "update_incident", "arguments": arguments})
	}
}

test_other_updates_pass if {
	every arguments in [
		{"status": "in progress"},
		{"note": "closed the door"},
	] {
		fixtures.silent(name, {"tool_type": "update_incident", "arguments": arguments})
	}
}

test_another_tool_is_let_through if {
	every arguments in [
		{"id": "I-1"},
		{"root_cause": "phishing"},
		{"verified_by": "ada"},
		{"root_cause": "x", "verified_by": "acme/files-bot"},
		{"root_cause": "tbd", "verified_by": "ada"},
		{"root_cause": "x", "verified_by": "ada", "severity": "critical"},
		{"root_cause": "x", "verified_by": "ada"},
		{"root_cause": "x", "verified_by": "ada", "severity": ["low", "high"]},
		{"status": "Resolved"},
		{"fields": {"state": "closed-false-positive"}},
	] {
		fixtures.silent(name, {"tool_type": "summarize_thread", "arguments": arguments})
	}
}
