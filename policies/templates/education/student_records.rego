# Template: student_records
# Domain: education
# Severity: high
# Frameworks: FERPA, IDEA, state-education
# Tags: records, integrity
# Tier: review
# Tool surface: change_final_grade, edit_transcript, update_gpa, update_enrollment_status, get_student_record
# Summary: Records of students. What a transcript says, who is enrolled and what discipline says wait for the registrar; guarded parts of a file wait as well.
# Purpose: A changed grade is a forged diploma, and a look into a file of special education is a harm. 34 CFR 99.20 has a procedure to amend, and 99.31(a)(1) wants a legitimate interest.
# Inputs: the tool; grade_type, status; fields, include, section; at any depth.
# Edit: change_tools, grade_tools, state_fields, final_words, read_tools, part_fields, guarded_parts.

package gate.authz

import rego.v1

import data.gate.lib

student_records_defaults := {
	"change_tools": [
		"conduct_record_update", "degree_award", "degree_confer", "diploma_issue", "disciplinary_record_update", "discipline_record_update",
		"enrollment_status_change", "enrollment_status_update", "final_grade_change", "final_grade_set", "final_grade_update", "gpa_change",
		"gpa_set", "gpa_update", "grade_override", "iep_update", "residency_status_update", "student_expel", "student_suspend",
		"student_unenroll", "student_withdraw", "transcript_amend", "transcript_change", "transcript_edit", "transcript_update",
	],
	"grade_tools": ["grade_change", "grade_edit", "grade_modify", "grade_update"],
	"state_fields": ["grade_status", "grade_type", "kind", "status", "term_status", "type"],
	"final_words": ["certified", "final", "finalized", "official", "posted", "transcript"],
	"read_tools": [
		"student_fetch", "student_file", "student_get", "student_lookup", "student_profile", "student_read", "student_record",
		"student_search",
	],
	"part_fields": ["category", "column", "expand", "field", "include", "part", "section", "select"],
	"guarded_parts": [
		"counseling", "disability", "disciplinary", "discipline", "ethnicity", "free_lunch", "health", "iep", "immigration", "medical",
		"psychological", "religion", "section_five", "social_security", "special_education", "ssn",
	],
}

student_records_settings := object.union(student_records_defaults, given) if given := data.gate.student_records

else := student_records_defaults

watches contains "student_records_change" if lib.tool_changes(student_records_settings.change_tools)

watches contains "student_records_grade" if lib.tool_changes(student_records_settings.grade_tools)

watches contains "student_records_read" if lib.tool_is(student_records_settings.read_tools)

# METADATA
# title: What is official
review contains "Review: student_records: an official record (final grade, transcript, enrolment, discipline) would change; approve it as the registrar, under the form of amendment." if {
	student_records_official
}

# METADATA
# title: A guarded part
review contains "Review: student_records: a guarded part of the file (fields, include) is asked for; approve it where the task is a legitimate educational interest, else ask without." if {
	lib.watched.student_records_read
	lib.mentions(student_records_settings.part_fields, student_records_settings.guarded_parts)
}

student_records_official if lib.watched.student_records_change

student_records_official if {
	lib.watched.student_records_grade
	lib.mentions(student_records_settings.state_fields, student_records_settings.final_words)
}
