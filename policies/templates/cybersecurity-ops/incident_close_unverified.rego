# Template: incident_close_unverified
# Domain: cybersecurity-ops
# Severity: high
# Frameworks: SOC2, ISO-27001, NIST-CSF
# Tags: incident-response
# Tier: mixed
# Tool surface: close_incident, resolve_incident, update_incident, close_case
# Summary: Incidents. Closing one takes a cause and somebody who verified it; a grave one is closed by a person.
# Purpose: The alert was seen and closed (Target 2013): what is closed without a cause comes back, and nobody looks twice.
# Inputs: status, root_cause, verified_by, severity and their like, at any depth.
# Edit: closing_tools, updating_tools, status_fields, closed, cause_fields, verifier_fields, severity_fields, light.

package gate.authz

import rego.v1

import data.gate.lib

incident_close_unverified_defaults := {
	"closing_tools": [
		"case_close", "case_resolve", "finding_close", "finding_resolve", "incident_close", "incident_resolve", "offense_close",
		"security_alert_close", "security_alert_resolve",
	],
	"updating_tools": [
		"case_edit", "case_update", "finding_update", "incident_edit", "incident_patch", "incident_set", "incident_update",
		"offense_update",
	],
	"status_fields": ["incident_status", "resolution_status", "state", "status", "workflow_status"],
	"closed": ["closed", "complete", "completed", "dismissed", "done", "fixed", "resolved", "suppressed"],
	"cause_fields": ["classification", "closure_reason", "determination", "root_cause", "root_cause_analysis"],
	"verifier_fields": ["approved_by", "reviewed_by", "verified_by", "verifier"],
	"severity_fields": ["impact", "priority", "severity", "urgency"],
	"light": ["info", "informational", "low", "medium", "minor", "moderate", "p3", "p4", "p5", "sev3", "sev4", "sev5"],
}

incident_close_unverified_settings := object.union(incident_close_unverified_defaults, given) if given := data.gate.incident_close_unverified

else := incident_close_unverified_defaults

watches contains "incident_close_unverified" if lib.tool_changes(incident_close_unverified_settings.closing_tools)

watches contains "incident_close_unverified_update" if lib.tool_changes(incident_close_unverified_settings.updating_tools)

# METADATA
# title: Not verified
deny contains "Violation: incident_close_unverified: an incident is closed without a cause (root_cause) or without who verified it (verified_by); write both down, the second being another than who closes." if {
	incident_close_unverified_closes
	not incident_close_unverified_verified
}

# METADATA
# title: A grave one
review contains "Review: incident_close_unverified: a grave incident, or one that does not say how grave (severity), is closed; approve it where the cause is gone from every host." if {
	incident_close_unverified_closes
	incident_close_unverified_verified
	not lib.among(incident_close_unverified_settings.severity_fields, incident_close_unverified_settings.light)
}

incident_close_unverified_closes if lib.watched.incident_close_unverified

incident_close_unverified_closes if {
	lib.watched.incident_close_unverified_update
	lib.mentions(incident_close_unverified_settings.status_fields, incident_close_unverified_settings.closed)
}

incident_close_unverified_verified if {
	lib.given(incident_close_unverified_settings.cause_fields)
	verifiers := {value |
		some value in lib.values(incident_close_unverified_settings.verifier_fields)
		lib.says_something(value)
	}
	count(verifiers - {input.agent_id}) > 0
}
