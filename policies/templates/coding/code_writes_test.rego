package gate.templates.code_writes_test

import rego.v1

import data.gate.templates.fixtures

name := "code_writes"

test_git_itself_is_refused if {
	every arguments in [
		{"path": ".git/hooks/pre-commit"},
		{"file_path": "C:\\repo\\.git\\config"},
		{"files": [{"path": "a/./.GIT//hooks/x"}]},
	] {
		fixtures.denies(name, {"tool_type": "write_file", "arguments": arguments})
	}
}

test_builds_wait if {
	every arguments in [
		{"path": ".github/workflows/ci.yml"},
		{"path": "docs/CODEOWNERS"},
		{"path": "./.github//workflows/x.yml"},
	] {
		fixtures.asks(name, {"tool_type": "create_or_update_file", "arguments": arguments})
	}
}

test_protected_branches_wait if {
	every arguments in [
		{"branch": "main", "files": [{"path": "a.ts"}]},
		{"branch": "refs/heads/Main"},
		{"branch": "release/4.2"},
	] {
		fixtures.asks(name, {"tool_type": "push_files", "arguments": arguments})
	}
}

test_other_files_pass if {
	every arguments in [
		{"path": "src/main.ts", "branch": "feature/main-menu"},
		{"path": ".github/ISSUE_TEMPLATE/bug.md"},
		{"path": ".gitignore", "content": ".git/hooks/"},
		{},
	] {
		fixtures.silent(name, {"tool_type": "write_file", "arguments": arguments})
	}
}

test_branches_are_a_parameter if {
	every arguments in [
		{"branch": "main"},
	] {
		fixtures.silent(name, {"tool_type": "push_files", "arguments": arguments}) with data.gate.code_writes as {"protected_branches": ["prod"]}
	}
}

test_another_tool_is_let_through if {
	every arguments in [
		{"path": ".git/hooks/pre-commit"},
		{"file_path": "C:\\repo\\.git\\config"},
		{"files": [{"path": "a/./.GIT//hooks/x"}]},
		{"path": ".github/workflows/ci.yml"},
		{"path": "docs/CODEOWNERS"},
		{"path": "./.github//workflows/x.yml"},
		{"branch": "main", "files": [{"path": "a.ts"}]},
		{"branch": "refs/heads/Main"},
		{"branch": "release/4.2"},
	] {
		fixtures.silent(name, {"tool_type": "summarize_thread", "arguments": arguments})
	}
}
