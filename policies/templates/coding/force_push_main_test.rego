package gate.templates.force_push_main_test

import rego.v1

import data.gate.templates.fixtures

name := "force_push_main"

test_protected_branches_are_refused if {
	every arguments in [
		{"branch": "main", "force": true},
		{"ref": "refs/heads/Main", "force": "yes"},
		{"args": ["origin", "+HEAD:main"]},
		{"command": "git push --force-with-lease origin master"},
		{"branch": "release/4.2", "force": 1},
	] {
		fixtures.denies(name, {"tool_type": "git_push", "arguments": arguments})
	}
}

test_without_a_branch_it_waits if {
	every arguments in [
		{"force": true},
	] {
		fixtures.asks(name, {"tool_type": "git_push", "arguments": arguments})
	}
}

test_a_tool_that_forces_needs_no_switch if {
	every arguments in [
		{"branch": "main"},
	] {
		fixtures.denies(name, {"tool_type": "force_push", "arguments": arguments})
	}
}

test_other_pushes_pass if {
	every arguments in [
		{"branch": "main"},
		{"branch": "feat/main-menu", "force": true},
		{"branch": "main", "force": "false"},
		{},
	] {
		fixtures.silent(name, {"tool_type": "git_push", "arguments": arguments})
	}
}

test_branches_are_a_parameter if {
	every arguments in [
		{"branch": "main", "force": true},
	] {
		fixtures.silent(name, {"tool_type": "git_push", "arguments": arguments}) with data.gate.force_push_main as {"protected_branches": ["prod"]}
	}
}

test_another_tool_is_let_through if {
	every arguments in [
		{"branch": "main", "force": true},
		{"ref": "refs/heads/Main", "force": "yes"},
		{"args": ["origin", "+HEAD:main"]},
		{"command": "git push --force-with-lease origin master"},
		{"branch": "release/4.2", "force": 1},
		{"force": true},
		{"branch": "main"},
	] {
		fixtures.silent(name, {"tool_type": "summarize_thread", "arguments": arguments})
	}
}
