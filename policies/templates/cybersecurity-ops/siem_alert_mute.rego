# Template: siem_alert_mute
# Domain: cybersecurity-ops
# Severity: high
# Frameworks: SOC2, ISO-27001, NIST-CSF
# Tags: detection, monitoring
# Tier: mixed
# Tool surface: mute_alert, create_silence, disable_detection_rule, stop_logging
# Summary: Detection. Ending it is refused; a mute has an end, a bounded scope and a ticket, and a grave alert is muted by a person.
# Purpose: Who breaks in switches the alarm off first (MITRE ATT&CK T1562): trails are stopped, rules disabled, and a mute without an end is forgotten.
# Inputs: duration_minutes, matchers, severity, ticket, enabled and their like, at any depth.
# Edit: mute_tools, ending_tools, rule_tools, enabled_fields, duration_fields, at_most_minutes, scope_fields, ticket_fields, severity_fields, grave.

package gate.authz

import rego.v1

import data.gate.lib

siem_alert_mute_defaults := {
	"mute_tools": [
		"alarm_mute", "alert_mute", "alert_silence", "alert_snooze", "alert_suppress", "detection_mute", "detection_suppress",
		"exclusion_create", "monitor_mute", "rule_mute", "silence_create", "suppression_create", "suppression_rule",
	],
	"ending_tools": [
		"alarm_disable", "alert_disable", "alert_rule_disable", "correlation_rule_disable", "detection_disable",
		"detection_rule_disable", "detector_disable", "detector_stop", "log_forwarding_disable", "log_source_disable", "logging_disable",
		"logging_stop", "trail_stop",
	],
	"rule_tools": [
		"alert_rule_edit", "alert_rule_update", "correlation_rule_update", "detection_rule_edit", "detection_rule_patch",
		"detection_rule_update", "detector_update",
	],
	"enabled_fields": ["active", "enable", "enabled", "is_enabled"],
	"duration_fields": ["duration_minutes", "expires_in_minutes", "minutes", "mute_minutes", "snooze_minutes"],
	"at_most_minutes": 240,
	"scope_fields": [
		"alert", "alert_id", "alert_name", "filter", "host", "matcher", "monitor_id", "query", "rule", "rule_id", "scope", "service",
	],
	"ticket_fields": ["change_id", "change_request", "change_ticket", "incident_id", "issue", "jira", "ticket", "ticket_id"],
	"severity_fields": ["priority", "severity"],
	"grave": ["critical", "emergency", "high"],
}

siem_alert_mute_settings := object.union(siem_alert_mute_defaults, given) if given := data.gate.siem_alert_mute

else := siem_alert_mute_defaults

watches contains "siem_alert_mute" if lib.tool_changes(siem_alert_mute_settings.mute_tools)

watches contains "siem_alert_mute_ends" if lib.tool_changes(siem_alert_mute_settings.ending_tools)

watches contains "siem_alert_mute_rule" if lib.tool_changes(siem_alert_mute_settings.rule_tools)

# METADATA
# title: Detection ends
deny contains "Violation: siem_alert_mute: a detection or the logs that it reads are switched off (enabled); mute the one alert for the time of the work instead." if siem_alert_mute_ends

# METADATA
# title: No end or no scope
deny contains "Violation: siem_alert_mute: a mute without an end (duration_minutes within at_most_minutes) or for everything (scope, matcher); name the minutes and the alert." if {
	lib.watched.siem_alert_mute
	not siem_alert_mute_bounded
}

# METADATA
# title: A mute that a person looks at
review contains "Review: siem_alert_mute: a mute of a grave alert (severity), or without the work that it is for (ticket); approve it where somebody watches meanwhile." if {
	lib.watched.siem_alert_mute
	siem_alert_mute_bounded
	siem_alert_mute_weighs
}

siem_alert_mute_ends if lib.watched.siem_alert_mute_ends

siem_alert_mute_ends if {
	lib.watched.siem_alert_mute_rule
	some value in lib.values(siem_alert_mute_settings.enabled_fields)
	lib.is_no(value)
}

siem_alert_mute_bounded if {
	lib.at_most(siem_alert_mute_settings.duration_fields, siem_alert_mute_settings.at_most_minutes)
	lib.given(siem_alert_mute_settings.scope_fields)
	not siem_alert_mute_everything
}

siem_alert_mute_everything if {
	some value in lib.values(siem_alert_mute_settings.scope_fields)
	is_string(value)
	lower(trim(value, " \t\"'^$(){}=~")) in {"*", ".*", ".+", "**", "all", "any", "everything", ""}
}

siem_alert_mute_weighs if lib.mentions(siem_alert_mute_settings.severity_fields, siem_alert_mute_settings.grave)

siem_alert_mute_weighs if not lib.given(siem_alert_mute_settings.ticket_fields)
