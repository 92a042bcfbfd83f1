# Template: phi_egress
# Domain: healthcare
# Severity: critical
# Frameworks: HIPAA, HITECH, HITRUST
# Tags: privacy, egress
# Tier: mixed
# Tool surface: send_email, send_fax, upload_file, http_post, share_record
# Summary: Health data on its way out. Without a business associate or an authorization of the patient it is refused; with one it waits.
# Purpose: A disclosure is permitted for treatment, payment and operations, to an associate under contract, or by authorization (45 CFR 164.502). Else it is a breach.
# Inputs: health data anywhere in the arguments; to, url, fax_number; authorization_id, baa_id.
# Edit: tools, health_fields, fhir_types, basis_fields, recipient_fields, internal_domains.

package gate.authz

import rego.v1

import data.gate.lib

phi_egress_defaults := {
	"tools": [
		"document_share", "email_forward", "email_reply", "email_send", "fax_send", "file_share", "file_upload", "gist_create", "http_post",
		"http_put", "http_request", "letter_send", "link_share", "mail_send", "message_post", "message_send", "paste_create", "record_release",
		"record_send", "record_share", "slack_post", "slack_send", "sms_send", "webhook_post", "webhook_send",
	],
	"health_fields": [
		"allergies", "clinical_note", "discharge_summary", "icd_code", "immunization", "lab_report", "lab_result", "medical_history", "mrn",
		"patient_record", "phi", "progress_note", "radiology_report", "treatment_plan", "vital_sign",
	],
	"fhir_types": [
		"allergy_intolerance", "care_plan", "condition", "diagnostic_report", "document_reference", "encounter", "immunization",
		"medication_request", "observation", "patient", "procedure",
	],
	"basis_fields": [
		"authorization_id", "baa_id", "business_associate_id", "disclosure_id", "patient_authorization", "release_of_information_id", "roi_id",
	],
	"recipient_fields": ["bcc", "cc", "channel", "endpoint", "fax_number", "host", "phone", "recipient", "to", "uri", "url"],
	"internal_domains": [],
}

phi_egress_settings := object.union(phi_egress_defaults, given) if given := data.gate.phi_egress

else := phi_egress_defaults

watches contains "phi_egress" if lib.tool_changes(phi_egress_settings.tools)

# METADATA
# title: Without a basis
deny contains "Violation: phi_egress: health data leave for a recipient (to, url, fax_number) with no basis (authorization_id, baa_id); name it, or take the data out and send a link to the portal." if {
	phi_egress_leaves
	not lib.given(phi_egress_settings.basis_fields)
}

# METADATA
# title: With a basis
review contains "Review: phi_egress: health data leave under a basis (authorization_id, baa_id); approve it where that covers recipient and content." if {
	phi_egress_leaves
	lib.given(phi_egress_settings.basis_fields)
}

phi_egress_leaves if {
	lib.watched.phi_egress
	phi_egress_holds
	not lib.inside(phi_egress_settings.recipient_fields, phi_egress_settings.internal_domains)
}

phi_egress_holds if "health" in lib.personal

phi_egress_holds if lib.given(phi_egress_settings.health_fields)

phi_egress_holds if lib.mentions(["resource_type"], phi_egress_settings.fhir_types)
