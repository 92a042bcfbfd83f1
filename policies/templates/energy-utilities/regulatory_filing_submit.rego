# Template: regulatory_filing_submit
# Domain: energy-utilities
# Severity: high
# Frameworks: FERC, NERC, state-PUC
# Tags: filings, accuracy
# Tier: mixed
# Tool surface: submit_ferc_filing, file_eqr, submit_nerc_self_report, submit_puc_filing, submit_oe417
# Summary: Filings with a regulator. Each names the officer who attests it and waits for them; infrastructure information is filed as non-public.
# Purpose: A false or late filing is a violation by itself (18 CFR 35.41(b)), and CEII on a public docket (18 CFR 388.113) cannot be taken back.
# Inputs: attested_by, certifying_officer; description, title, document_type; security_level, access; draft; at any depth.
# Edit: tools, harmless_tools, draft_fields, attest_fields, content_fields, guarded_words, access_fields, closed_access.

package gate.authz

import rego.v1

import data.gate.lib

regulatory_filing_submit_defaults := {
	"tools": [
		"docket_file", "efiling_submit", "eqr_file", "eqr_submit", "ferc_file", "ferc_filing", "ferc_submit", "form_file_ferc",
		"nerc_report_submit", "nerc_self_report", "oe_submit", "puc_file", "puc_filing_submit", "puc_submit", "rate_case_file",
		"rate_case_submit", "regulator_submit", "regulatory_filing_submit", "regulatory_report_submit", "tariff_file",
		"tariff_filing_submit",
	],
	"harmless_tools": ["attach", "draft", "reminder", "template"],
	"draft_fields": ["draft", "dry_run", "test_filing", "validate_only"],
	"attest_fields": [
		"attestation", "attestation_id", "attested_by", "certification", "certified_by", "certifying_officer", "signatory", "signed_by",
		"verification_officer",
	],
	"content_fields": [
		"attachment", "category", "content", "description", "document", "document_type", "file_name", "subject", "title", "type",
	],
	"guarded_words": [
		"bcsi", "ceii", "critical_energy_infrastructure", "network_diagram", "one_line_diagram", "substation_drawing",
		"vulnerability_assessment",
	],
	"access_fields": ["access", "access_level", "confidentiality", "security_level", "visibility"],
	"closed_access": ["ceii", "confidential", "non_public", "nonpublic", "privileged", "protected", "under_seal"],
}

regulatory_filing_submit_settings := object.union(regulatory_filing_submit_defaults, given) if given := data.gate.regulatory_filing_submit

else := regulatory_filing_submit_defaults

watches contains "regulatory_filing_submit" if {
	lib.tool_changes(regulatory_filing_submit_settings.tools)
	not lib.tool_is(regulatory_filing_submit_settings.harmless_tools)
}

# METADATA
# title: Infrastructure on a public docket
deny contains "Violation: regulatory_filing_submit: the filing (title, document_type) holds infrastructure information and its security_level is not closed; file that part as CEII or privileged." if {
	regulatory_filing_submit_files
	lib.mentions(regulatory_filing_submit_settings.content_fields, regulatory_filing_submit_settings.guarded_words)
	not lib.among(regulatory_filing_submit_settings.access_fields, regulatory_filing_submit_settings.closed_access)
}

# METADATA
# title: Nobody attests
deny contains "Violation: regulatory_filing_submit: nobody attests the filing (attested_by, certifying_officer); have the responsible officer read and sign it first." if {
	regulatory_filing_submit_files
	not lib.given(regulatory_filing_submit_settings.attest_fields)
}

# METADATA
# title: Attested
review contains "Review: regulatory_filing_submit: a filing goes to the regulator in the name of an officer (attested_by); approve it as that officer." if {
	regulatory_filing_submit_files
	lib.given(regulatory_filing_submit_settings.attest_fields)
}

regulatory_filing_submit_files if {
	lib.watched.regulatory_filing_submit
	not lib.affirmed(regulatory_filing_submit_settings.draft_fields)
}
