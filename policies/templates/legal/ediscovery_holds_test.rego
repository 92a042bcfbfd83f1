package gate.templates.ediscovery_holds_test

import rego.v1

import data.gate.templates.fixtures

name := "ediscovery_holds"

test_nothing_clears_with_a_blank if {
	every arguments in [
		{},
		{"hold_clearance_id": "n/a"},
	] {
		fixtures.denies(name, {"tool_type": "hold.excludeCustodian", "arguments": arguments})
	}
}

test_retention_needs_its_check if {
	every arguments in [
		{"days": 1},
		{"holdCheckId": ""},
	] {
		fixtures.denies(name, {"tool_type": "setAutoDelete", "arguments": arguments})
	}
}

test_unreviewed_is_not_reviewed if {
	every arguments in [
		{"review_complete": false},
		{"review_complete": "no"},
		{},
	] {
		fixtures.denies(name, {"tool_type": "deliver_production", "arguments": arguments})
	}
}

test_cleared_changes_wait if fixtures.asks(name, {"tool_type": "retention_policy_set", "arguments": {"hold_check_id": "HC-1"}})

test_reads_run if fixtures.silent(name, {"tool_type": "get_retention_policy", "arguments": {}})
