# Template: ferpa_consent
# Domain: education
# Severity: high
# Frameworks: FERPA, COPPA, state-student-privacy
# Tags: privacy, consent
# Tier: review
# Tool surface: send_transcript, share_student_record, release_grades, export_student_data, release_directory_information
# Summary: Education records that leave the school. Without a consent or an exception of the law a person looks first, and always where the family opted out.
# Purpose: A parent on the phone is not always a parent with rights. 34 CFR 99.30 wants a signed consent that says which records, why and to whom; 99.31 lists what goes without.
# Inputs: consent_id, signed_consent; exception, legal_basis; directory_opt_out, ferpa_block; to, recipient; at any depth.
# Edit: tools, consent_fields, exception_fields, exceptions, opt_out_fields, recipient_fields, internal_domains.

package gate.authz

import rego.v1

import data.gate.lib

ferpa_consent_defaults := {
	"tools": [
		"directory_information_release", "directory_information_share", "education_record_release", "education_record_share",
		"grade_release", "grade_report_send", "grade_send", "grade_share", "gradebook_export", "report_card_send", "student_data_export",
		"student_data_send", "student_data_share", "student_disclose", "student_export", "student_profile_share", "student_record_export",
		"student_record_release", "student_record_send", "student_record_share", "transcript_email", "transcript_release",
		"transcript_send", "transcript_share",
	],
	"consent_fields": [
		"consent", "consent_date", "consent_form", "consent_form_id", "consent_id", "ferpa_release", "ferpa_waiver", "parent_consent",
		"release_form_id", "signed_consent", "student_consent",
	],
	"exception_fields": ["disclosure_basis", "exception", "exemption", "ferpa_exception", "legal_basis"],
	"exceptions": [
		"accreditation", "audit_or_evaluation", "court_order", "financial_aid", "health_or_safety_emergency", "judicial_order",
		"school_official", "subpoena", "transfer",
	],
	"opt_out_fields": [
		"confidential_flag", "directory_hold", "directory_opt_out", "ferpa_block", "ferpa_hold", "opted_out", "privacy_hold",
	],
	"recipient_fields": ["destination", "email", "endpoint", "recipient", "to", "uri", "url"],
	"internal_domains": [],
}

ferpa_consent_settings := object.union(ferpa_consent_defaults, given) if given := data.gate.ferpa_consent

else := ferpa_consent_defaults

watches contains "ferpa_consent" if lib.tool_changes(ferpa_consent_settings.tools)

# METADATA
# title: Opted out
review contains "Review: ferpa_consent: the family opted out (directory_opt_out, ferpa_block); approve it only under a consent that is newer." if {
	lib.watched.ferpa_consent
	lib.switched_on(ferpa_consent_settings.opt_out_fields)
}

# METADATA
# title: Nobody agreed
review contains "Review: ferpa_consent: no consent (consent_id) and no exception of the law (ferpa_exception) is named; approve it where the registrar has one on file." if {
	lib.watched.ferpa_consent
	not lib.inside(ferpa_consent_settings.recipient_fields, ferpa_consent_settings.internal_domains)
	not ferpa_consent_permitted
}

ferpa_consent_permitted if lib.given(ferpa_consent_settings.consent_fields)

ferpa_consent_permitted if lib.among(ferpa_consent_settings.exception_fields, ferpa_consent_settings.exceptions)
