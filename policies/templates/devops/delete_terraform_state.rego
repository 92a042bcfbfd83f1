# Template: delete_terraform_state
# Domain: devops
# Severity: critical
# Frameworks: SOC2, ISO-27001
# Tags: terraform, availability
# Tier: mixed
# Tool surface: terraform_state_rm, state_push, delete_workspace, put_object
# Summary: Terraform state. Removing or overwriting it needs a backup and a change, and then a person; the file itself is written by nobody but Terraform.
# Purpose: A state that is gone leaves resources that nobody manages, and the next apply builds them a second time.
# Inputs: backup_id, change_ticket and their like; key, path; at any depth.
# Edit: state_tools, file_tools, path_fields, state_words, backup_fields, ticket_fields.

package gate.authz

import rego.v1

import data.gate.lib

delete_terraform_state_defaults := {
	"state_tools": [
		"force_unlock", "state_delete", "state_mv", "state_push", "state_remove", "state_replace", "state_rm", "state_unlock",
		"terraform_untaint", "workspace_delete",
	],
	"file_tools": [
		"blob_delete", "blob_put", "blob_upload", "file_delete", "file_move", "file_remove", "file_upload", "file_write",
		"object_delete", "object_put", "object_remove", "object_upload",
	],
	"path_fields": [
		"blob", "blob_name", "destination", "file_path", "filename", "key", "object", "object_key", "object_name", "path", "source",
	],
	"state_words": ["opentofu", "state", "terraform", "tf", "tfstate", "tofu"],
	"backup_fields": ["backup", "backup_id", "backup_path", "backup_version", "state_backup", "version_id"],
	"ticket_fields": ["change_id", "change_request", "change_ticket", "issue", "jira", "ticket", "ticket_id"],
}

delete_terraform_state_settings := object.union(delete_terraform_state_defaults, given) if given := data.gate.delete_terraform_state

else := delete_terraform_state_defaults

watches contains "delete_terraform_state" if lib.tool_changes(delete_terraform_state_settings.state_tools)

watches contains "delete_terraform_state_file" if lib.tool_changes(delete_terraform_state_settings.file_tools)

# METADATA
# title: Without a backup or a change
deny contains "Violation: delete_terraform_state: a Terraform state is removed or overwritten without a backup (backup_id) and a change (change_ticket); pull the state to a file first and name both." if {
	delete_terraform_state_touches
	not delete_terraform_state_prepared
}

# METADATA
# title: With both
review contains "Review: delete_terraform_state: a Terraform state is changed with a backup (backup_id) under a change (change_ticket); approve it where the plan after it is empty." if {
	delete_terraform_state_touches
	delete_terraform_state_prepared
}

# METADATA
# title: The file of a state
deny contains "Violation: delete_terraform_state: the file of a Terraform state (key, path) is written past Terraform; use terraform state and its lock." if {
	lib.watched.delete_terraform_state_file
	some value in lib.values(delete_terraform_state_settings.path_fields)
	is_string(value)
	regex.match(`(?i)\.tfstate(?:\.backup)?(?:[?#\s]|$)`, value)
}

# "update_user_state" and "delete_workspace" of a chat are none of Terraform's.
delete_terraform_state_touches if {
	lib.watched.delete_terraform_state
	lib.tool_is(delete_terraform_state_settings.state_words)
}

delete_terraform_state_prepared if {
	lib.given(delete_terraform_state_settings.backup_fields)
	lib.given(delete_terraform_state_settings.ticket_fields)
}
