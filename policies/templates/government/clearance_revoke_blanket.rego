# Template: clearance_revoke_blanket
# Domain: government
# Severity: critical
# Frameworks: EO-12968, SEAD-4, NIST-800-53
# Tags: clearance, due-process
# Tier: mixed
# Tool surface: revoke_clearance, suspend_clearance, bulk_revoke_clearances, deactivate_badges
# Summary: Revoked clearances. A revocation names each person and its cause, for a few at once, and waits; one of a whole group is refused.
# Purpose: EO 12968 gives each person a written reason and an appeal. A revocation by filter empties an operations floor in one call.
# Inputs: person_id, employee_ids and their like; department, filter, scope; reason_code, incident_id; at any depth.
# Edit: tools, person_fields, group_fields, everybody, most_people, cause_fields.

package gate.authz

import rego.v1

import data.gate.lib

clearance_revoke_blanket_defaults := {
	"tools": [
		"badge_deactivate", "badge_disable", "badge_revoke", "clearance_deactivate", "clearance_downgrade", "clearance_revoke",
		"clearance_suspend", "clearance_terminate", "clearance_withdraw", "eligibility_revoke", "eligibility_suspend",
		"facility_access_revoke", "site_access_revoke",
	],
	"person_fields": [
		"badge_id", "badge_number", "edipi", "employee_id", "holder_id", "person", "person_id", "personnel_id", "subject_id", "user_id",
	],
	"group_fields": [
		"agency", "all", "clearance_level", "company", "contract", "country", "criteria", "department", "filter", "group", "level",
		"nationality", "organization", "query", "scope", "unit",
	],
	"everybody": ["all", "any", "everybody", "everyone"],
	"most_people": 5,
	"cause_fields": [
		"adjudication_id", "case_id", "case_number", "cause", "incident_id", "reason", "reason_code", "separation_date",
	],
}

clearance_revoke_blanket_settings := object.union(clearance_revoke_blanket_defaults, given) if given := data.gate.clearance_revoke_blanket

else := clearance_revoke_blanket_defaults

watches contains "clearance_revoke_blanket" if lib.tool_changes(clearance_revoke_blanket_settings.tools)

# METADATA
# title: A whole group
deny contains "Violation: clearance_revoke_blanket: it names a group (filter, department, all) or more than most_people, or nobody; name each person (person_id), a few at once." if {
	lib.watched.clearance_revoke_blanket
	not clearance_revoke_blanket_few
}

# METADATA
# title: No cause
deny contains "Violation: clearance_revoke_blanket: no cause (reason_code, incident_id) is said; each person is owed it in writing." if {
	lib.watched.clearance_revoke_blanket
	not lib.given(clearance_revoke_blanket_settings.cause_fields)
}

# METADATA
# title: Named, for a cause
review contains "Review: clearance_revoke_blanket: a named person (person_id) loses access for a cause (reason_code); approve it as the adjudicator, and serve the notice." if {
	lib.watched.clearance_revoke_blanket
	clearance_revoke_blanket_few
	lib.given(clearance_revoke_blanket_settings.cause_fields)
}

clearance_revoke_blanket_few if {
	lib.given(clearance_revoke_blanket_settings.person_fields)
	not lib.mentions(clearance_revoke_blanket_settings.person_fields, clearance_revoke_blanket_settings.everybody)
	count(lib.values(clearance_revoke_blanket_settings.person_fields)) <= clearance_revoke_blanket_settings.most_people
	not lib.switched_on(clearance_revoke_blanket_settings.group_fields)
}
