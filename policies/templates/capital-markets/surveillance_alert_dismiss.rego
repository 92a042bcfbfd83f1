# Template: surveillance_alert_dismiss
# Domain: capital-markets
# Severity: critical
# Frameworks: SEC, FINRA, MAR
# Tags: surveillance
# Tier: mixed
# Tool surface: dismiss_alert, close_surveillance_alert, bulk_close_alerts, suppress_alert_rule
# Summary: Alerts of market abuse. Closing several at once, without a reason or in one's own favour is refused; closing one waits.
# Purpose: MAR article 16 wants every alert analysed by a person; fines were paid for alerts that were closed in bulk.
# Inputs: alert_ids; rationale, disposition_reason; at any depth.
# Edit: close_tools, mute_tools, alert_fields, bulk_fields, reason_fields.

package gate.authz

import rego.v1

import data.gate.lib

surveillance_alert_dismiss_defaults := {
	"close_tools": [
		"abuse_alert_close", "abuse_alert_dismiss", "market_abuse_close", "spoofing_alert_close", "stor_dismiss", "surveillance_alert_archive",
		"surveillance_alert_close", "surveillance_alert_dismiss", "surveillance_alert_resolve", "surveillance_alert_update",
		"surveillance_case_close", "trade_alert_close", "trade_alert_dismiss",
	],
	"mute_tools": [
		"surveillance_alert_mute", "surveillance_alert_suppress", "surveillance_disable", "surveillance_pause", "surveillance_rule_disable",
		"surveillance_rule_suppress", "surveillance_threshold_raise", "surveillance_threshold_update",
	],
	"alert_fields": ["alert", "alert_id", "alert_list", "case_id"],
	"bulk_fields": ["all", "all_alert", "bulk", "filter", "older_than", "query"],
	"reason_fields": [
		"analysis", "disposition_note", "disposition_reason", "justification", "rationale", "reason", "resolution_note",
	],
}

surveillance_alert_dismiss_settings := object.union(surveillance_alert_dismiss_defaults, given) if given := data.gate.surveillance_alert_dismiss

else := surveillance_alert_dismiss_defaults

watches contains "surveillance_alert_dismiss_close" if lib.tool_changes(surveillance_alert_dismiss_settings.close_tools)

watches contains "surveillance_alert_dismiss_mute" if lib.tool_changes(surveillance_alert_dismiss_settings.mute_tools)

# METADATA
# title: Many at once
deny contains "Violation: surveillance_alert_dismiss: more than one alert (alert_ids, filter) would be closed at once; close each by its own analysis." if {
	lib.watched.surveillance_alert_dismiss_close
	surveillance_alert_dismiss_many
}

# METADATA
# title: No reason
deny contains "Violation: surveillance_alert_dismiss: no analysis (rationale, disposition_reason) says why the alert is closed; write what was looked at." if {
	lib.watched.surveillance_alert_dismiss_close
	not lib.given(surveillance_alert_dismiss_settings.reason_fields)
}

# METADATA
# title: Fewer alerts
deny contains "Violation: surveillance_alert_dismiss: the tool keeps alerts of surveillance from coming; compliance tunes the model, with its tests on record." if {
	lib.watched.surveillance_alert_dismiss_mute
}

# METADATA
# title: One alert
review contains "Review: surveillance_alert_dismiss: an alert of surveillance is closed with its analysis (rationale); approve it where you come to the same end." if {
	lib.watched.surveillance_alert_dismiss_close
}

surveillance_alert_dismiss_many if lib.switched_on(surveillance_alert_dismiss_settings.bulk_fields)

surveillance_alert_dismiss_many if count(lib.values(surveillance_alert_dismiss_settings.alert_fields)) > 1

surveillance_alert_dismiss_many if {
	some value in lib.values(surveillance_alert_dismiss_settings.alert_fields)
	is_string(value)
	regex.match(`[,;\s]`, trim_space(value))
}
