package gate.templates.disable_branch_protection_test

import rego.v1

import data.gate.templates.fixtures

name := "disable_branch_protection"

test_taking_it_away_is_refused if {
	every arguments in [
		{"branch": "main"},
		{},
	] {
		fixtures.denies(name, {"tool_type": "unprotect_branch", "arguments": arguments})
	}
}

test_weakening_it_is_refused if {
	every arguments in [
		{"enforce_admins": false},
		{"required_pull_request_reviews": null},
		{"rules": {"required_approving_review_count": "0"}},
		{"allow_force_pushes": {"enabled": true}},
		{"enforcement": "evaluate"},
	] {
		fixtures.denies(name, {"tool_type": "update_branch_protection", "arguments": arguments})
	}
}

test_other_changes_wait if {
	every arguments in [
		{"branch": "main", "required_approving_review_count": 2},
		{"enforcement": "active"},
	] {
		fixtures.asks(name, {"tool_type": "update_branch_protection", "arguments": arguments})
	}
}

test_reading_passes if {
	every arguments in [
		{"branch": "main"},
	] {
		fixtures.silent(name, {"tool_type": "get_branch_protection", "arguments": arguments})
	}
}

test_other_tools_pass if {
	every arguments in [
		{"branch": "main", "enabled": false},
	] {
		fixtures.silent(name, {"tool_type": "create_branch", "arguments": arguments})
	}
}

test_another_tool_is_let_through if {
	every arguments in [
		{"branch": "main"},
		{},
		{"enforce_admins": false},
		{"required_pull_request_reviews": null},
		{"rules": {"required_approving_review_count": "0"}},
		{"allow_force_pushes": {"enabled": true}},
		{"enforcement": "evaluate"},
		{"branch": "main", "required_approving_review_count": 2},
		{"enforcement": "active"},
	] {
		fixtures.silent(name, {"tool_type": "summarize_thread", "arguments": arguments})
	}
}
