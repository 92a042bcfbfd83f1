# Template: commit_credential_in_diff
# Domain: coding
# Severity: critical
# Frameworks: SOC2, supply-chain
# Tags: secrets, source-code
# Tier: deny
# Tool surface: push_files, create_or_update_file, git_commit, create_gist, create_pull_request
# Summary: Credentials. Keys and tokens in what is committed, pushed or pasted are refused.
# Purpose: A key in a repository is found by strangers within minutes, and stays in its history.
# Inputs: Every text of the arguments.
# Edit: tools, patterns, hints, examples.

package gate.authz

import rego.v1

import data.gate.lib

commit_credential_in_diff_defaults := {
	"tools": [
		"commit", "file_create", "file_edit", "file_push", "file_update", "file_write", "gist_create", "gist_update", "issue_comment",
		"issue_create", "merge_request_create", "patch_apply", "pull_request_create", "pull_request_update", "snippet_create",
		"wiki_update",
	],
	"patterns": [
		"\\b(?:AKIA|ASIA)[A-Z2-7]{16}\\b", "\\bgh[oprsu]_[A-Za-z0-9]{36,}", "\\bgithub_pat_[A-Za-z0-9_]{22,}",
		"\\bglpat-[A-Za-z0-9_-]{20,}", "\\bxox[abprs]-[A-Za-z0-9-]{10,}", "\\b[rs]k_live_[A-Za-z0-9]{16,}", "\\bAIza[A-Za-z0-9_-]{35}",
		"\\bsk-ant-[A-Za-z0-9_-]{20,}", "\\bnpm_[A-Za-z0-9]{36}\\b", "-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----",
	],
	"hints": [
		"AKIA", "ASIA", "gho_", "ghp_", "ghr_", "ghs_", "ghu_", "github_pat_", "glpat-", "xox", "k_live_", "AIza", "sk-ant-", "npm_",
		"PRIVATE KEY-----",
	],
	"examples": ["EXAMPLE"],
}

commit_credential_in_diff_settings := object.union(commit_credential_in_diff_defaults, given) if given := data.gate.commit_credential_in_diff

else := commit_credential_in_diff_defaults

watches contains "commit_credential_in_diff" if lib.tool_changes(commit_credential_in_diff_settings.tools)

# METADATA
# title: A credential
deny contains "Violation: commit_credential_in_diff: the text that is committed holds a credential (a key or a token); read it from the environment or a secret store, and rotate the one that was written here." if {
	lib.watched.commit_credential_in_diff
	some text in lib.texts
	commit_credential_in_diff_may_hold(text)
	some pattern in commit_credential_in_diff_settings.patterns
	some found in regex.find_all_string_submatch_n(pattern, text, 20)
	not commit_credential_in_diff_example(found[0])
}

commit_credential_in_diff_may_hold(text) if {
	some hint in commit_credential_in_diff_settings.hints
	contains(text, hint)
}

commit_credential_in_diff_example(found) if {
	some example in commit_credential_in_diff_settings.examples
	contains(found, example)
}
