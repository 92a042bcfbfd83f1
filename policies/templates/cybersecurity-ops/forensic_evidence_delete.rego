# Template: forensic_evidence_delete
# Domain: cybersecurity-ops
# Severity: critical
# Frameworks: SOC2, ISO-27001, NIST-CSF
# Tags: evidence, incident-response
# Tier: mixed
# Tool surface: delete_evidence, overwrite_evidence, reimage_host, update_log_retention
# Summary: Evidence. It is deleted or overwritten by nobody here; a host is reimaged after its evidence was taken, and logs are kept as long as the policy says.
# Purpose: A host that was reimaged before its memory and disk were copied has told nobody how the thief came in (NIST SP 800-86; ISO 27037).
# Inputs: evidence_id, image_hash, retention_days and their like, at any depth.
# Edit: evidence_tools, log_tools, rebuild_tools, retention_tools, evidence_fields, retention_fields, retention_at_least_days.

package gate.authz

import rego.v1

import data.gate.lib

forensic_evidence_delete_defaults := {
	"evidence_tools": [
		"custody_chain_update", "disk_image_delete", "evidence_delete", "evidence_destroy", "evidence_modify", "evidence_overwrite",
		"evidence_purge", "evidence_remove", "evidence_update", "forensic_delete", "forensic_purge", "memory_dump_delete",
	],
	"log_tools": [
		"audit_log_delete", "audit_log_purge", "event_log_clear", "eventlog_clear", "log_clear", "log_truncate", "log_wipe",
	],
	"rebuild_tools": [
		"device_wipe", "endpoint_reimage", "host_rebuild", "host_reimage", "host_wipe", "machine_reimage", "server_reimage",
		"workstation_reimage",
	],
	"retention_tools": ["retention_change", "retention_policy", "retention_put", "retention_set", "retention_update"],
	"evidence_fields": [
		"acquisition_id", "disk_image_id", "evidence_id", "evidence_reference", "image_hash", "image_sha", "memory_image_id",
	],
	"retention_fields": ["days", "retention", "retention_days", "retention_in_days", "retention_period_days"],
	"retention_at_least_days": 365,
}

forensic_evidence_delete_settings := object.union(forensic_evidence_delete_defaults, given) if given := data.gate.forensic_evidence_delete

else := forensic_evidence_delete_defaults

watches contains "forensic_evidence_delete" if lib.tool_changes(forensic_evidence_delete_settings.evidence_tools)

watches contains "forensic_evidence_delete" if lib.tool_changes(forensic_evidence_delete_settings.log_tools)

watches contains "forensic_evidence_delete_rebuild" if lib.tool_changes(forensic_evidence_delete_settings.rebuild_tools)

watches contains "forensic_evidence_delete_retention" if lib.tool_changes(forensic_evidence_delete_settings.retention_tools)

# METADATA
# title: Evidence or logs are gone
deny contains "Violation: forensic_evidence_delete: evidence or a log is deleted or overwritten; add a copy or a note beside it, and let the custodian of the case release it." if lib.watched.forensic_evidence_delete

# METADATA
# title: Rebuilt too early
deny contains "Violation: forensic_evidence_delete: a host is written anew without the evidence that was taken (evidence_id, image_hash); copy its memory and disk first and name the copy." if {
	lib.watched.forensic_evidence_delete_rebuild
	not lib.given(forensic_evidence_delete_settings.evidence_fields)
}

# METADATA
# title: Rebuilt
review contains "Review: forensic_evidence_delete: a host is written anew and its evidence is named (evidence_id, image_hash); approve it where the hash was checked." if {
	lib.watched.forensic_evidence_delete_rebuild
	lib.given(forensic_evidence_delete_settings.evidence_fields)
}

# METADATA
# title: Kept too short
deny contains "Violation: forensic_evidence_delete: logs would be kept shorter than retention_at_least_days (retention_days), or it does not say how long; keep them as long as the policy says." if {
	lib.watched.forensic_evidence_delete_retention
	not lib.at_least(forensic_evidence_delete_settings.retention_fields, forensic_evidence_delete_settings.retention_at_least_days)
}
