# Template: code_writes
# Domain: coding
# Severity: high
# Frameworks: SOC2, supply-chain
# Tags: source-code, ci
# Tier: mixed
# Tool surface: create_or_update_file, push_files, write_file, edit_file
# Summary: Source code. Files that run by themselves or say who reviews, and writes straight to a protected branch, wait; git's own files are refused.
# Purpose: What builds and releases the code has its secrets: a changed workflow is how tj-actions (2025) and Codecov (2021) were robbed. A hook in .git runs on the machine of the next who commits.
# Inputs: path, file_path, branch and their like, at any depth.
# Edit: tools, path_fields, branch_fields, protected_branches, guarded_paths, refused_paths.

package gate.authz

import rego.v1

import data.gate.lib

code_writes_defaults := {
	"tools": [
		"content_update", "file_commit", "file_create", "file_edit", "file_patch", "file_push", "file_replace", "file_update",
		"file_upload", "file_write", "patch_apply",
	],
	"path_fields": ["destination", "file_name", "file_path", "filename", "new_path", "path", "target_file"],
	"branch_fields": ["base_branch", "branch", "branch_name", "ref", "target_branch"],
	"protected_branches": ["main", "master", "production", "release", "trunk"],
	"guarded_paths": [
		".github/workflows/", ".github/actions/", ".gitlab-ci.yml", ".circleci/", ".buildkite/", "azure-pipelines.yml",
		"bitbucket-pipelines.yml", "jenkinsfile", "codeowners", ".pre-commit-config.yaml", ".husky/",
	],
	"refused_paths": [".git/hooks/", ".git/config", ".ssh/"],
}

code_writes_settings := object.union(code_writes_defaults, given) if given := data.gate.code_writes

else := code_writes_defaults

watches contains "code_writes" if lib.tool_changes(code_writes_settings.tools)

# METADATA
# title: Git's own files
deny contains "Violation: code_writes: a file of git or ssh itself (path) is written; use git config or a pull request." if {
	lib.watched.code_writes
	code_writes_holds(code_writes_settings.refused_paths)
}

# METADATA
# title: What runs by itself
review contains "Review: code_writes: a file that runs by itself or says who reviews (path) is written; approve it where somebody who owns the build read the change." if {
	lib.watched.code_writes
	code_writes_holds(code_writes_settings.guarded_paths)
}

# METADATA
# title: Straight to a protected branch
review contains "Review: code_writes: a write straight to a protected branch (branch); write to a branch of its own and open a pull request." if {
	lib.watched.code_writes
	some value in lib.values(code_writes_settings.branch_fields)
	is_string(value)
	branch := trim_prefix(trim_prefix(lower(trim_space(value)), "refs/heads/"), "origin/")
	split(branch, "/")[0] in code_writes_settings.protected_branches
}

code_writes_holds(parts) if {
	some value in lib.values(code_writes_settings.path_fields)
	is_string(value)
	path := strings.replace_n({"\\": "/"}, lower(trim_space(value)))
	steps := [step | some step in split(path, "/"); not step in {"", "."}]
	some part in parts
	contains(concat("/", ["", concat("/", steps)]), concat("", ["/", part]))
}
