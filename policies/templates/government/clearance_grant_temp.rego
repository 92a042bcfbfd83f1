# Template: clearance_grant_temp
# Domain: government
# Severity: critical
# Frameworks: SEAD-4, SEAD-8, NIST-800-53
# Tags: clearance, personnel-security
# Tier: mixed
# Tool surface: grant_clearance, grant_interim_clearance, grant_temporary_access, upgrade_clearance, extend_interim_clearance
# Summary: Temporary clearances. Each stands on an investigation and has an end within the limit; compartments are never temporary; the rest waits for the adjudicator.
# Purpose: An interim clearance that nobody ends becomes a permanent one that nobody adjudicated. SEAD 8 lets it stand for a time, on a favourable review.
# Inputs: investigation_id, adjudication_id; expires_at, duration_days; level, access, compartment; at any depth.
# Edit: tools, harmless_tools, basis_fields, end_fields, endless_words, duration_fields, most_days, level_fields, never_words.

package gate.authz

import rego.v1

import data.gate.lib

clearance_grant_temp_defaults := {
	"tools": [
		"clearance_approve", "clearance_elevate", "clearance_extend", "clearance_grant", "clearance_issue", "clearance_renew",
		"clearance_upgrade", "eligibility_grant", "interim_access_grant", "interim_clearance", "temporary_access_grant",
		"temporary_clearance",
	],
	"harmless_tools": ["air", "airspace", "customs", "flight", "inventory", "medical", "notification", "reminder", "stock"],
	"basis_fields": [
		"adjudication", "adjudication_id", "background_check_id", "case_number", "dcsa_case", "disss_case", "eqip_case", "investigation_id",
	],
	"end_fields": [
		"duration", "duration_day", "end_date", "ends_at", "expiration", "expiration_date", "expires", "expires_at", "expires_on", "expiry",
		"valid_day", "valid_until",
	],
	"endless_words": ["forever", "indefinite", "never", "open_ended", "permanent", "unlimited"],
	"duration_fields": ["day", "duration_day", "valid_day", "validity_day"],
	"most_days": 365,
	"level_fields": [
		"access", "access_level", "caveat", "clearance", "clearance_level", "compartment", "eligibility", "level", "program", "read_in",
	],
	"never_words": ["cosmic", "crypto", "gamma", "hcs", "sap", "sci", "talent_keyhole", "yankee_white"],
}

clearance_grant_temp_settings := object.union(clearance_grant_temp_defaults, given) if given := data.gate.clearance_grant_temp

else := clearance_grant_temp_defaults

watches contains "clearance_grant_temp" if {
	lib.tool_changes(clearance_grant_temp_settings.tools)
	not lib.tool_is(clearance_grant_temp_settings.harmless_tools)
}

# METADATA
# title: A compartment
deny contains "Violation: clearance_grant_temp: what would be granted (level, compartment) is a compartment or special access; its control officer reads people in." if {
	lib.watched.clearance_grant_temp
	lib.mentions(clearance_grant_temp_settings.level_fields, clearance_grant_temp_settings.never_words)
}

# METADATA
# title: No investigation
deny contains "Violation: clearance_grant_temp: no investigation (investigation_id, adjudication_id) supports it; open the case first and name it." if {
	lib.watched.clearance_grant_temp
	not lib.given(clearance_grant_temp_settings.basis_fields)
}

# METADATA
# title: No end
deny contains "Violation: clearance_grant_temp: it has no end within most_days (expires_at, duration_days); give a date, and renew on review." if {
	lib.watched.clearance_grant_temp
	not clearance_grant_temp_ends
}

# METADATA
# title: An interim clearance
review contains "Review: clearance_grant_temp: a clearance would be granted for a time (expires_at) on an investigation; approve it as the adjudicator." if {
	lib.watched.clearance_grant_temp
	clearance_grant_temp_ends
	lib.given(clearance_grant_temp_settings.basis_fields)
}

clearance_grant_temp_ends if {
	lib.given(clearance_grant_temp_settings.end_fields)
	not lib.mentions(clearance_grant_temp_settings.end_fields, clearance_grant_temp_settings.endless_words)
	not clearance_grant_temp_too_long
}

clearance_grant_temp_too_long if {
	count(lib.values(clearance_grant_temp_settings.duration_fields)) > 0
	not lib.at_most(clearance_grant_temp_settings.duration_fields, clearance_grant_temp_settings.most_days)
}
