# Template: patient_records
# Domain: healthcare
# Severity: high
# Frameworks: HIPAA, HITRUST
# Tags: access, minimum-necessary
# Tier: mixed
# Tool surface: get_patient_record, search_patients, export_chart, break_glass, update_patient_record
# Summary: Charts. Breaking the glass and lists of patients wait; a change says who treats the patient, and a sensitive part is not read in passing.
# Purpose: HIPAA 164.502(b) allows the minimum necessary. Most breaches in hospitals are somebody who looked, and 42 CFR 2 guards some charts more.
# Inputs: purpose, encounter_id; sections, resource_type; limit; at any depth.
# Edit: read_tools, bulk_tools, glass_tools, change_tools, purpose_fields, part_fields, sensitive_parts.

package gate.authz

import rego.v1

import data.gate.lib

patient_records_defaults := {
	"read_tools": [
		"chart_get", "chart_read", "ehr_read", "ehr_search", "fhir_get", "fhir_read", "fhir_search", "medical_record_fetch",
		"medical_record_get", "medical_record_read", "patient_chart", "patient_history_get", "patient_record_fetch", "patient_record_get",
		"patient_record_open", "patient_record_read", "patient_record_view",
	],
	"bulk_tools": [
		"cohort_export", "fhir_bulk", "patient_bulk", "patient_chart_export", "patient_data_export", "patient_export", "patient_list_export",
		"patient_record_export", "population_export",
	],
	"glass_tools": ["break_glass", "confidential_chart_open", "emergency_access", "restricted_chart_open", "vip_chart_open"],
	"change_tools": [
		"chart_amend", "chart_update", "medical_record_amend", "medical_record_update", "patient_chart_merge", "patient_merge",
		"patient_record_amend", "patient_record_edit", "patient_record_merge", "patient_record_update", "problem_list_update",
	],
	"purpose_fields": [
		"appointment_id", "care_team_id", "claim_id", "encounter_id", "purpose", "purpose_of_use", "reason_for_access", "referral_id",
		"visit_id",
	],
	"part_fields": ["category", "document_type", "field", "include", "note_type", "resource_type", "section", "tag"],
	"sensitive_parts": ["abuse", "genetic", "hiv", "mental_health", "psychiatric", "psychotherapy", "reproductive", "substance"],
}

patient_records_settings := object.union(patient_records_defaults, given) if given := data.gate.patient_records

else := patient_records_defaults

watches contains "patient_records_read" if lib.tool_is(patient_records_settings.read_tools)

watches contains "patient_records_bulk" if lib.tool_is(patient_records_settings.bulk_tools)

watches contains "patient_records_glass" if lib.tool_changes(patient_records_settings.glass_tools)

watches contains "patient_records_change" if lib.tool_changes(patient_records_settings.change_tools)

# METADATA
# title: A change for no visit
deny contains "Violation: patient_records: the chart changes without its visit or purpose (encounter_id, purpose); name what this belongs to." if {
	lib.watched.patient_records_change
	not lib.given(patient_records_settings.purpose_fields)
}

# METADATA
# title: A guarded part
review contains "Review: patient_records: a guarded part of the chart (sections, note_type) is asked for; approve it where the patient's authorization covers it." if {
	lib.watched.patient_records_read
	lib.mentions(patient_records_settings.part_fields, patient_records_settings.sensitive_parts)
}

# METADATA
# title: Many charts
review contains "Review: patient_records: charts of many patients are handed out; approve it where the purpose needs each of them, else take a limited data set." if {
	lib.watched.patient_records_bulk
}

# METADATA
# title: Broken glass
review contains "Review: patient_records: the protection of a chart is passed over; approve it in an emergency, and have privacy look at it afterwards." if {
	lib.watched.patient_records_glass
}
