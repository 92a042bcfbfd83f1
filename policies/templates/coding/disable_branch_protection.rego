# Template: disable_branch_protection
# Domain: coding
# Severity: critical
# Frameworks: SOC2, supply-chain
# Tags: source-code, change-management
# Tier: mixed
# Tool surface: update_branch_protection, unprotect_branch, update_ruleset, disable_ruleset
# Summary: Protected branches. Taking the protection away or weakening it is refused; other changes of it wait.
# Purpose: A review that anybody switches off for a minute proves nothing to an auditor, and it is the first step of who wants to push unseen.
# Inputs: enforcement, enforce_admins, required_reviews, allow_force_pushes and their like, at any depth.
# Edit: tools, removing_tools, required_fields, opening_fields, enforcement_fields, held.

package gate.authz

import rego.v1

import data.gate.lib

disable_branch_protection_defaults := {
	"tools": [
		"branch_protect", "branch_protection", "branch_rule", "protected_branch", "push_rule", "repository_ruleset", "ruleset_create",
		"ruleset_edit", "ruleset_update",
	],
	"removing_tools": [
		"branch_unprotect", "protected_branch_delete", "protection_delete", "protection_disable", "protection_remove", "ruleset_delete",
		"ruleset_disable", "ruleset_remove",
	],
	"required_fields": [
		"enabled", "enforce_admins", "require_code_owner_reviews", "required_approving_review_count", "required_pull_request_reviews",
		"required_reviews", "required_signatures", "required_status_checks",
	],
	"opening_fields": [
		"allow_bypass", "allow_deletions", "allow_force_push", "allow_force_pushes", "bypass_actors", "bypass_pull_request_allowances",
	],
	"enforcement_fields": ["enforcement", "enforcement_level"],
	"held": ["active", "enabled", "everyone"],
}

disable_branch_protection_settings := object.union(disable_branch_protection_defaults, given) if given := data.gate.disable_branch_protection

else := disable_branch_protection_defaults

watches contains "disable_branch_protection" if lib.tool_changes(disable_branch_protection_settings.tools)

watches contains "disable_branch_protection_off" if lib.tool_changes(disable_branch_protection_settings.removing_tools)

# METADATA
# title: Taken away
deny contains "Violation: disable_branch_protection: the protection of a branch is taken away; merge by a pull request, or let an owner of the repository do it." if lib.watched.disable_branch_protection_off

# METADATA
# title: Weakened
deny contains "Violation: disable_branch_protection: the protection of a branch is weakened (enforcement, required_reviews, allow_force_pushes); keep reviews and checks required and force pushes off." if {
	lib.watched.disable_branch_protection
	disable_branch_protection_weakens
}

# METADATA
# title: Changed
review contains "Review: disable_branch_protection: the protection of a branch changes; approve it where an owner of the repository asked for it." if {
	lib.watched.disable_branch_protection
	not lib.watched.disable_branch_protection_off
	not disable_branch_protection_weakens
}

disable_branch_protection_weakens if {
	some value in lib.values(disable_branch_protection_settings.required_fields)
	lib.is_no(value)
}

disable_branch_protection_weakens if lib.switched_on(disable_branch_protection_settings.opening_fields)

disable_branch_protection_weakens if {
	count(lib.values(disable_branch_protection_settings.enforcement_fields)) > 0
	not lib.among(disable_branch_protection_settings.enforcement_fields, disable_branch_protection_settings.held)
}
