package gate.templates.commit_credential_in_diff_test

import rego.v1

import data.gate.templates.fixtures

name := "commit_credential_in_diff"

test_credentials_are_refused if {
	every arguments in [
		{"diff": concat("", ["+key = AKIA", "Z7Q3M5XK2W4T6YBN"])},
		{"files": [{"content": concat("", ["token: ghp_", "0123456789abcdefghijABCDEFGHIJ012345"])}]},
		{"patch": concat("", ["-----BEGIN RSA ", "PRIVATE KEY-----"])},
	] {
		fixtures.denies(name, {"tool_type": "git_commit", "arguments": arguments})
	}
}

test_other_text_passes if {
	every arguments in [
		{"diff": "+key = process.env.AWS_KEY"},
		{"diff": "AKIAIOSFODNN7EXAMPLE"},
		{"diff": "the prefix AKIA stands for access keys"},
		{},
	] {
		fixtures.silent(name, {"tool_type": "git_commit", "arguments": arguments})
	}
}

test_reading_passes if {
	every arguments in [
		{"x": concat("", ["AKIA", "Z7Q3M5XK2W4T6YBN"])},
	] {
		fixtures.silent(name, {"tool_type": "get_commit", "arguments": arguments})
	}
}

test_patterns_are_a_parameter if {
	every arguments in [
		{"content": "acme-key-123"},
	] {
		fixtures.denies(name, {"tool_type": "push_files", "arguments": arguments}) with data.gate.commit_credential_in_diff as {"patterns": ["acme-key-[0-9]+"], "hints": ["acme-key-"]}
	}
}

test_another_tool_is_let_through if {
	every arguments in [
		{"diff": concat("", ["+key = AKIA", "Z7Q3M5XK2W4T6YBN"])},
		{"files": [{"content": concat("", ["token: ghp_", "0123456789abcdefghijABCDEFGHIJ012345"])}]},
		{"patch": concat("", ["-----BEGIN RSA ", "PRIVATE KEY-----"])},
	] {
		fixtures.silent(name, {"tool_type": "summarize_thread", "arguments": arguments})
	}
}
