# Template: attorney_communication_log_delete
# Domain: legal
# Severity: high
# Frameworks: FRCP, privilege, ABA-Model-Rules
# Tags: privilege, records
# Tier: mixed
# Tool surface: delete_communication_log, redact_correspondence, edit_call_log, archive_client_emails
# Summary: Records of what counsel and client said. Agents delete and overwrite none; archiving or redacting waits.
# Purpose: A privilege log (FRCP 26(b)(5)) has to stand for what is withheld; a record that was destroyed is spoliation under FRCP 37(e).
# Inputs: tool_type; matter_id; dry_run.
# Edit: destroy_tools, keep_tools, rehearsal_fields.

package gate.authz

import rego.v1

import data.gate.lib

attorney_communication_log_delete_defaults := {
	"destroy_tools": [
		"attorney_communication_delete", "attorney_email_delete", "attorney_log_clear", "attorney_log_delete", "attorney_log_edit",
		"attorney_note_delete", "call_log_delete", "call_log_edit", "client_communication_delete", "client_communication_edit",
		"client_correspondence_delete", "communication_log_clear", "communication_log_delete", "communication_log_edit",
		"communication_log_overwrite", "communication_log_purge", "communication_log_remove", "communication_log_update", "correspondence_purge",
		"correspondence_remove", "counsel_log_delete", "privilege_log_delete", "privilege_log_edit", "privilege_log_remove",
		"privilege_log_update",
	],
	"keep_tools": [
		"attorney_communication_archive", "client_communication_archive", "client_communication_redact", "client_email_archive",
		"communication_log_archive", "communication_log_export", "communication_log_move", "communication_log_redact", "correspondence_archive",
		"correspondence_redact", "privilege_log_redact",
	],
	"rehearsal_fields": ["dry_run", "preview"],
}

attorney_communication_log_delete_settings := object.union(attorney_communication_log_delete_defaults, given) if given := data.gate.attorney_communication_log_delete

else := attorney_communication_log_delete_defaults

watches contains "attorney_communication_log_delete_destroy" if lib.tool_changes(attorney_communication_log_delete_settings.destroy_tools)

watches contains "attorney_communication_log_delete_keep" if lib.tool_changes(attorney_communication_log_delete_settings.keep_tools)

# METADATA
# title: A record that would be gone
deny contains "Violation: attorney_communication_log_delete: the tool deletes or overwrites records between counsel and client (tool_type); add a correcting entry, and leave disposal to records management." if {
	lib.watched.attorney_communication_log_delete_destroy
	not lib.affirmed(attorney_communication_log_delete_settings.rehearsal_fields)
}

# METADATA
# title: A record out of sight
review contains "Review: attorney_communication_log_delete: records between counsel and client are archived, redacted or moved; approve it where no hold covers the matter (matter_id)." if {
	lib.watched.attorney_communication_log_delete_keep
	not lib.affirmed(attorney_communication_log_delete_settings.rehearsal_fields)
}
