package gate.templates.repo_scope_test

import rego.v1

import data.gate.templates.fixtures

name := "repo_scope"

test_public_is_refused if {
	every arguments in [
		{"visibility": "public"},
		{"private": false},
		{"settings": {"Private": "no"}},
		{"visibility": 20},
	] {
		fixtures.denies(name, {"tool_type": "update_repository", "arguments": arguments})
	}
}

test_giving_away_is_refused if {
	every arguments in [
		{"new_owner": "x"},
		{},
	] {
		fixtures.denies(name, {"tool_type": "transfer_repository", "arguments": arguments})
	}
}

test_letting_in_waits if {
	every arguments in [
		{"username": "ada"},
	] {
		fixtures.asks(name, {"tool_type": "add_collaborator", "arguments": arguments})
	}
}

test_other_settings_pass if {
	every arguments in [
		{"description": "x"},
		{"private": true},
		{"visibility": "internal"},
	] {
		fixtures.silent(name, {"tool_type": "update_repository", "arguments": arguments})
	}
}

test_without_owners_all_are_in_reach if {
	every arguments in [
		{"repo": "other/x"},
		{"owner": "other"},
	] {
		fixtures.silent(name, {"tool_type": "create_issue", "arguments": arguments})
	}
}

test_with_owners_others_are_not if {
	every arguments in [
		{"repo": "other/x"},
		{"owner": "other", "repo": "x"},
		{"repo": "https://git.example/Other/x"},
	] {
		fixtures.denies(name, {"tool_type": "create_issue", "arguments": arguments}) with data.gate.repo_scope as {"owners": ["acme"]}
	}
}

test_with_owners_their_own_are if {
	every arguments in [
		{"repo": "Acme/x"},
		{"owner": "acme", "repo": "x"},
		{"repo": "x"},
	] {
		fixtures.silent(name, {"tool_type": "create_issue", "arguments": arguments}) with data.gate.repo_scope as {"owners": ["acme"]}
	}
}

test_another_tool_is_let_through if {
	every arguments in [
		{"visibility": "public"},
		{"private": false},
		{"settings": {"Private": "no"}},
		{"visibility": 20},
		{"new_owner": "x"},
		{},
		{"username": "ada"},
	] {
		fixtures.silent(name, {"tool_type": "summarize_thread", "arguments": arguments})
	}
}
