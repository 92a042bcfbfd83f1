# Template: ediscovery_holds
# Domain: legal
# Severity: high
# Frameworks: FRCP, EDRM
# Tags: ediscovery, preservation
# Tier: mixed
# Tool surface: create_hold, update_hold_custodians, run_retention_policy, produce_documents, purge_mailbox
# Summary: Preservation. Retention is not changed and custodians are not taken off while a matter is on hold; a production waits.
# Purpose: FRCP 37(e) punishes the auto-delete that nobody switched off, and a production of the wrong set cannot be un-read (FRE 502(b)).
# Inputs: custodian, retention_days, auto_delete; matter_id, review_complete; at any depth.
# Edit: custodian_tools, retention_tools, hold_check_fields, production_tools, review_fields.

package gate.authz

import rego.v1

import data.gate.lib

ediscovery_holds_defaults := {
	"custodian_tools": [
		"custodian_drop", "custodian_exclude", "custodian_release", "custodian_remove", "custodian_unassign", "data_source_release",
		"hold_exclude", "hold_narrow", "hold_scope_reduce",
	],
	"retention_tools": [
		"auto_delete_enable", "auto_delete_set", "mailbox_retention_set", "mailbox_retention_update", "retention_disable",
		"retention_label_remove", "retention_policy_apply", "retention_policy_change", "retention_policy_set", "retention_policy_update",
		"retention_set", "retention_shorten",
	],
	"hold_check_fields": ["disposition_id", "hold_check_id", "hold_clearance", "hold_clearance_id", "legal_clearance_id"],
	"production_tools": [
		"document_produce", "export_set_release", "production_deliver", "production_release", "production_send", "production_set_create",
		"production_volume_export",
	],
	"review_fields": ["privilege_review_complete", "privilege_review_id", "privilege_screened", "review_complete"],
}

ediscovery_holds_settings := object.union(ediscovery_holds_defaults, given) if given := data.gate.ediscovery_holds

else := ediscovery_holds_defaults

watches contains "ediscovery_holds_custodian" if lib.tool_changes(ediscovery_holds_settings.custodian_tools)

watches contains "ediscovery_holds_retention" if lib.tool_changes(ediscovery_holds_settings.retention_tools)

watches contains "ediscovery_holds_production" if lib.tool_changes(ediscovery_holds_settings.production_tools)

# METADATA
# title: A custodian who is let go
deny contains "Violation: ediscovery_holds: the hold would cover less (custodian, data source) and nothing clears it (hold_clearance_id); counsel releases custodians in writing." if {
	lib.watched.ediscovery_holds_custodian
	not lib.given(ediscovery_holds_settings.hold_check_fields)
}

# METADATA
# title: Retention that may delete
deny contains "Violation: ediscovery_holds: retention changes without a check of holds (hold_check_id); run the check, and name it." if {
	lib.watched.ediscovery_holds_retention
	not lib.given(ediscovery_holds_settings.hold_check_fields)
}

# METADATA
# title: Produced unread
deny contains "Violation: ediscovery_holds: the production says of no privilege review (privilege_review_id, review_complete); finish the review first." if {
	lib.watched.ediscovery_holds_production
	not ediscovery_holds_reviewed
}

# METADATA
# title: Cleared
review contains "Review: ediscovery_holds: preservation changes under a clearance (hold_clearance_id, hold_check_id); approve it where the clearance covers this." if {
	ediscovery_holds_preserves
	lib.given(ediscovery_holds_settings.hold_check_fields)
}

# METADATA
# title: A production
review contains "Review: ediscovery_holds: a reviewed production leaves; approve it where volume and protective order are the right ones." if {
	lib.watched.ediscovery_holds_production
	ediscovery_holds_reviewed
}

ediscovery_holds_preserves if lib.watched.ediscovery_holds_custodian

ediscovery_holds_preserves if lib.watched.ediscovery_holds_retention

ediscovery_holds_reviewed if {
	some value in lib.values(ediscovery_holds_settings.review_fields)
	lib.says_something(value)
	not lib.is_no(value)
}
