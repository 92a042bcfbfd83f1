# Template: phi_breach_notification
# Domain: healthcare
# Severity: critical
# Frameworks: HIPAA, HITECH
# Tags: breach, notification
# Tier: mixed
# Tool surface: notify_breach, submit_breach_report, send_breach_letter, close_breach_case
# Summary: Notices of a breach. None without its risk assessment and count; each waits for the privacy officer, and closing a case without notice is refused.
# Purpose: HITECH gives 60 days, and from 500 people on HHS and the press have to know. A wrong notice frightens, a missing one is fined.
# Inputs: risk_assessment_id, affected_count; decision, low_probability_basis; at any depth.
# Edit: notify_tools, draft_tools, close_tools, assessment_fields, count_fields.

package gate.authz

import rego.v1

import data.gate.lib

phi_breach_notification_defaults := {
	"notify_tools": [
		"breach_announce", "breach_letter_send", "breach_notice_publish", "breach_notice_send", "breach_notification", "breach_notify",
		"breach_report_file", "breach_report_submit", "hhs_breach_submit", "ocr_breach_submit", "ocr_report_submit",
	],
	"draft_tools": ["draft", "template"],
	"close_tools": [
		"breach_assessment_close", "breach_case_close", "breach_close", "breach_downgrade", "breach_incident_close", "breach_status_update",
		"phi_incident_close", "privacy_incident_close",
	],
	"assessment_fields": ["assessment_id", "breach_assessment_id", "four_factor_assessment", "risk_assessment", "risk_assessment_id"],
	"count_fields": [
		"affected", "affected_count", "affected_individual", "affected_people", "individual_count", "individuals_affected", "patients_affected",
		"number_affected", "record_count",
	],
}

phi_breach_notification_settings := object.union(phi_breach_notification_defaults, given) if given := data.gate.phi_breach_notification

else := phi_breach_notification_defaults

watches contains "phi_breach_notification_notify" if {
	lib.tool_changes(phi_breach_notification_settings.notify_tools)
	not lib.tool_is(phi_breach_notification_settings.draft_tools)
}

watches contains "phi_breach_notification_close" if lib.tool_changes(phi_breach_notification_settings.close_tools)

# METADATA
# title: No assessment
deny contains "Violation: phi_breach_notification: no risk assessment (risk_assessment_id) stands behind this; finish the four factors first, and name it." if {
	phi_breach_notification_acts
	not lib.given(phi_breach_notification_settings.assessment_fields)
}

# METADATA
# title: Nobody counted
deny contains "Violation: phi_breach_notification: how many people are affected (affected_count) is not said, or no plain number; it decides whom the law wants told." if {
	lib.watched.phi_breach_notification_notify
	not lib.at_least(phi_breach_notification_settings.count_fields, 1)
}

# METADATA
# title: A notice
review contains "Review: phi_breach_notification: a notice of a breach goes out; approve it as privacy officer, with text, recipients and date." if {
	lib.watched.phi_breach_notification_notify
}

# METADATA
# title: A case that ends
review contains "Review: phi_breach_notification: a case of a breach ends; approve it as privacy officer, where notice was given or is not due." if {
	lib.watched.phi_breach_notification_close
}

phi_breach_notification_acts if lib.watched.phi_breach_notification_notify

phi_breach_notification_acts if lib.watched.phi_breach_notification_close
