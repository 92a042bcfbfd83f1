# Template: force_push_main
# Domain: coding
# Severity: critical
# Frameworks: SOC2, supply-chain
# Tags: source-code, history
# Tier: mixed
# Tool surface: git_push, force_push, update_ref, reset_branch
# Summary: History. A forced push to a protected branch is refused; one that does not say where it goes waits.
# Purpose: A forced push takes the commits of others out of the branch, and the proof of who wrote and reviewed what with them.
# Inputs: force, branch, ref, args and their like, at any depth.
# Edit: tools, forcing_tools, force_fields, branch_fields, protected_branches.

package gate.authz

import rego.v1

import data.gate.lib

force_push_main_defaults := {
	"tools": [
		"branch_force", "branch_reset", "branch_update", "git_command", "git_push", "push_branch", "push_commit", "push_force",
		"ref_force", "ref_update", "reference_update", "repository_push",
	],
	"forcing_tools": ["branch_force", "push_force", "ref_force"],
	"force_fields": ["force", "force_push", "force_with_lease", "is_force", "mirror", "non_fast_forward", "overwrite_remote"],
	"branch_fields": ["branch", "branch_name", "destination", "ref", "refspec", "remote_branch", "target_branch"],
	"protected_branches": ["main", "master", "production", "release", "trunk"],
}

force_push_main_settings := object.union(force_push_main_defaults, given) if given := data.gate.force_push_main

else := force_push_main_defaults

watches contains "force_push_main" if lib.tool_changes(force_push_main_settings.tools)

watches contains "force_push_main_always" if lib.tool_changes(force_push_main_settings.forcing_tools)

# METADATA
# title: The history of a protected branch
deny contains "Violation: force_push_main: a forced push (force) to a protected branch (branch, ref); push a commit that reverts, or open a pull request." if {
	force_push_main_forces
	some branch in force_push_main_branches
	split(branch, "/")[0] in force_push_main_settings.protected_branches
}

# METADATA
# title: Nobody knows where
review contains "Review: force_push_main: a forced push (force) that does not say where it goes; name the branch, or approve it where nobody else works on it." if {
	force_push_main_forces
	count(force_push_main_branches) == 0
}

force_push_main_forces if lib.watched.force_push_main_always

force_push_main_forces if {
	lib.watched.force_push_main
	lib.switched_on(force_push_main_settings.force_fields)
}

force_push_main_forces if {
	lib.watched.force_push_main
	some word in force_push_main_words
	force_push_main_force_option(word)
}

force_push_main_force_option(word) if word in {"-f", "-fu", "-uf", "--mirror"}

force_push_main_force_option(word) if startswith(word, "--force")

force_push_main_force_option(word) if regex.match(`^\+[A-Za-z0-9_./:-]+$`, word)

# The words of a command line, whole or as a list.
force_push_main_words contains word if {
	some text in lib.texts
	count(text) < 500
	some word in split(trim_space(text), " ")
}

force_push_main_branches contains force_push_main_bare(value) if {
	some value in lib.values(force_push_main_settings.branch_fields)
	lib.says_something(value)
	is_string(value)
}

force_push_main_branches contains force_push_main_bare(word) if {
	some word in force_push_main_words
	split(force_push_main_bare(word), "/")[0] in force_push_main_settings.protected_branches
}

# "+HEAD:refs/heads/main" is main.
force_push_main_bare(text) := trim_prefix(trim_prefix(parts[count(parts) - 1], "refs/heads/"), "origin/") if {
	parts := split(trim_left(lower(trim_space(text)), "+"), ":")
}
