# Template: underwriting_phi
# Domain: insurance
# Severity: high
# Frameworks: HIPAA, GINA, NAIC, state-insurance
# Tags: underwriting, privacy
# Tier: mixed
# Tool surface: get_medical_records, request_aps, underwrite_application, price_policy, order_prescription_history
# Summary: Health in underwriting. Genetic data are never asked for or used; other health data need the applicant's authorization, and a decision on them waits.
# Purpose: GINA title I forbids genetic underwriting of health cover; NAIC model 670 and HIPAA 164.508 want an authorization for each record that is fetched.
# Inputs: genetic and health fields; authorization_id; decision; at any depth.
# Edit: fetch_tools, decide_tools, genetic_fields, genetic_words, text_fields, health_fields, authorization_fields.

package gate.authz

import rego.v1

import data.gate.lib

underwriting_phi_defaults := {
	"fetch_tools": [
		"applicant_medical", "aps_order", "aps_request", "attending_physician_statement", "lab_result_order", "medical_exam_order",
		"medical_history_request", "medical_record_order", "medical_record_request", "mib_check", "mib_query", "mib_search", "paramedical_order",
		"prescription_history", "rx_history",
	],
	"decide_tools": [
		"application_decline", "application_rate", "application_underwrite", "coverage_decline", "policy_price", "policy_rate",
		"policy_underwrite", "premium_calculate", "premium_set", "quote_price", "risk_class_assign", "risk_class_set", "risk_score",
		"underwriting_decide", "underwriting_decision", "underwriting_run", "underwriting_submit",
	],
	"genetic_fields": [
		"brca", "dna", "family_history", "family_medical_history", "genetic", "genetic_data", "genetic_information", "genetic_result",
		"genetic_test", "genome", "genotype",
	],
	"genetic_words": ["brca", "dna_test", "genetic", "genome", "genomic", "hereditary"],
	"text_fields": [
		"category", "data_type", "factor", "field", "include", "note", "query", "reason", "record_type", "section", "test",
	],
	"health_fields": [
		"bmi", "diagnosis", "health_class", "health_question", "lab", "lab_result", "medical", "medical_history", "medical_record", "medication",
		"prescription", "tobacco",
	],
	"authorization_fields": [
		"applicant_consent_id", "authorization_form", "authorization_id", "consent_id", "hipaa_authorization", "hipaa_authorization_id",
		"signed_authorization",
	],
}

underwriting_phi_settings := object.union(underwriting_phi_defaults, given) if given := data.gate.underwriting_phi

else := underwriting_phi_defaults

watches contains "underwriting_phi_fetch" if lib.tool_is(underwriting_phi_settings.fetch_tools)

watches contains "underwriting_phi_decide" if lib.tool_is(underwriting_phi_settings.decide_tools)

# METADATA
# title: Genetic data
deny contains "Violation: underwriting_phi: genetic data or family history (genetic_test, family_history) are asked for or used; leave them out, the law forbids it." if {
	underwriting_phi_underwrites
	underwriting_phi_genetic
}

# METADATA
# title: No authorization
deny contains "Violation: underwriting_phi: no authorization of the applicant (authorization_id) covers the health data; have it signed, and name it." if {
	underwriting_phi_handles_health
	not lib.given(underwriting_phi_settings.authorization_fields)
}

# METADATA
# title: A decision on health
review contains "Review: underwriting_phi: the decision rests on health data under an authorization; approve it as underwriter, an adverse one owes a notice." if {
	lib.watched.underwriting_phi_decide
	underwriting_phi_handles_health
	lib.given(underwriting_phi_settings.authorization_fields)
}

underwriting_phi_underwrites if lib.watched.underwriting_phi_fetch

underwriting_phi_underwrites if lib.watched.underwriting_phi_decide

underwriting_phi_genetic if lib.given(underwriting_phi_settings.genetic_fields)

underwriting_phi_genetic if lib.mentions(underwriting_phi_settings.text_fields, underwriting_phi_settings.genetic_words)

underwriting_phi_handles_health if lib.watched.underwriting_phi_fetch

underwriting_phi_handles_health if {
	lib.watched.underwriting_phi_decide
	lib.given(underwriting_phi_settings.health_fields)
}
