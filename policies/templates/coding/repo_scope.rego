# Template: repo_scope
# Domain: coding
# Severity: high
# Frameworks: SOC2, supply-chain
# Tags: source-code, exposure
# Tier: mixed
# Tool surface: update_repository, create_repository, transfer_repository, add_collaborator, add_deploy_key
# Summary: Repositories. Making one public or giving it away is refused; letting somebody in waits; with owners set, repositories of others are out of reach.
# Purpose: An agent that works on one repository is talked into another (the GitHub MCP leak of 2025), or opens a private one to everybody.
# Inputs: visibility, private, owner, repo and their like, at any depth.
# Edit: tools, giving_tools, sharing_tools, writing_tools, visibility_fields, hidden, private_fields, public_fields, owner_fields, repo_fields, owners.

package gate.authz

import rego.v1

import data.gate.lib

repo_scope_defaults := {
	"tools": [
		"project_create", "project_update", "project_visibility", "repo_create", "repo_edit", "repo_fork", "repo_update",
		"repo_visibility", "repository_create", "repository_edit", "repository_fork", "repository_update", "repository_visibility",
	],
	"giving_tools": ["repo_transfer", "repository_transfer"],
	"sharing_tools": [
		"collaborator_add", "collaborator_invite", "deploy_key_add", "deploy_key_create", "outside_collaborator",
		"repository_webhook_create",
	],
	"writing_tools": [
		"branch_create", "file_create", "file_push", "file_update", "issue_comment", "issue_create", "pull_request_create",
		"pull_request_merge", "release_create",
	],
	"visibility_fields": ["visibility", "visibility_level"],
	"hidden": ["internal", "private"],
	"private_fields": ["is_private", "private"],
	"public_fields": ["is_public", "public"],
	"owner_fields": ["namespace", "new_owner", "org", "organization", "owner", "target_owner"],
	"repo_fields": ["full_name", "repo", "repo_name", "repository"],
	"owners": [],
}

repo_scope_settings := object.union(repo_scope_defaults, given) if given := data.gate.repo_scope

else := repo_scope_defaults

watches contains "repo_scope" if lib.tool_changes(repo_scope_settings.tools)

watches contains "repo_scope_gives" if lib.tool_changes(repo_scope_settings.giving_tools)

watches contains "repo_scope_shares" if lib.tool_changes(repo_scope_settings.sharing_tools)

watches contains "repo_scope_writes" if lib.tool_changes(repo_scope_settings.writing_tools)

# METADATA
# title: Public
deny contains "Violation: repo_scope: a repository becomes public (visibility, private); leave it private, and let its owner publish it." if {
	lib.watched.repo_scope
	repo_scope_public
}

# METADATA
# title: Given away
deny contains "Violation: repo_scope: a repository is given away, or written though its owner (owner, repo) is not in owners; work in repositories of the company, and let an owner move one." if lib.watched.repo_scope_gives

# METADATA
# title: Somebody else's
deny contains "Violation: repo_scope: a repository is given away, or written though its owner (owner, repo) is not in owners; work in repositories of the company, and let an owner move one." if {
	repo_scope_any
	count(repo_scope_settings.owners) > 0
	some owner in repo_scope_said
	not owner in {lower(one) | some one in repo_scope_settings.owners}
}

# METADATA
# title: Somebody is let in
review contains "Review: repo_scope: somebody is let into a repository (collaborator, key, webhook); approve it where they belong to the team, and read alone is enough." if lib.watched.repo_scope_shares

repo_scope_any if lib.watched.repo_scope

repo_scope_any if lib.watched.repo_scope_shares

repo_scope_any if lib.watched.repo_scope_writes

repo_scope_public if {
	count(lib.values(repo_scope_settings.visibility_fields)) > 0
	not lib.among(repo_scope_settings.visibility_fields, repo_scope_settings.hidden)
}

repo_scope_public if {
	some value in lib.values(repo_scope_settings.private_fields)
	lib.is_no(value)
}

repo_scope_public if lib.switched_on(repo_scope_settings.public_fields)

repo_scope_said contains lower(trim_space(value)) if {
	some value in lib.values(repo_scope_settings.owner_fields)
	is_string(value)
}

repo_scope_said contains lower(trim_space(split(value, "/")[0])) if {
	some value in lib.values(repo_scope_settings.repo_fields)
	is_string(value)
	contains(value, "/")
	not contains(value, "://")
}

# The owner in "https://git.example/owner/repo".
repo_scope_said contains lower(split(value, "/")[3]) if {
	some value in lib.values(repo_scope_settings.repo_fields)
	is_string(value)
	contains(value, "://")
}
