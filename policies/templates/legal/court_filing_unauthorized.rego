# Template: court_filing_unauthorized
# Domain: legal
# Severity: critical
# Frameworks: FRCP, ABA-Model-Rules
# Tags: filings
# Tier: mixed
# Tool surface: file_document, submit_court_filing, efile_motion, serve_document
# Summary: Filings. None without the attorney of record who signs it and the matter it belongs to; every other one waits for that attorney.
# Purpose: FRCP 11 makes a signature of counsel a promise that the law was checked. Courts fined lawyers for filings with invented cases (Mata v. Avianca, 2023).
# Inputs: attorney_of_record, bar_number; case_number; citations_checked; at any depth.
# Edit: tools, harmless_tools, attorney_fields, matter_fields, check_fields.

package gate.authz

import rego.v1

import data.gate.lib

court_filing_unauthorized_defaults := {
	"tools": [
		"answer_file", "appeal_file", "brief_file", "brief_submit", "complaint_file", "court_file", "court_filing", "court_submit",
		"document_serve", "docket_file", "docket_submit", "ecf_file", "ecf_submit", "efile", "efiling_submit", "motion_file", "motion_submit",
		"petition_file", "pleading_file", "pleading_serve", "pleading_submit",
	],
	"harmless_tools": ["calendar", "comment", "draft", "reminder", "template"],
	"attorney_fields": [
		"attorney", "attorney_id", "attorney_of_record", "bar_id", "bar_number", "filing_attorney", "signed_by", "signing_attorney",
	],
	"matter_fields": ["case_id", "case_number", "docket_number", "matter", "matter_id", "matter_number"],
	"check_fields": ["citation_check", "citations_checked", "citations_verified", "cite_check", "cite_checked", "cites_checked"],
}

court_filing_unauthorized_settings := object.union(court_filing_unauthorized_defaults, given) if given := data.gate.court_filing_unauthorized

else := court_filing_unauthorized_defaults

watches contains "court_filing_unauthorized" if {
	lib.tool_changes(court_filing_unauthorized_settings.tools)
	not lib.tool_is(court_filing_unauthorized_settings.harmless_tools)
}

# METADATA
# title: Nobody signs
deny contains "Violation: court_filing_unauthorized: no attorney signs the filing (attorney_of_record, bar_number); prepare a draft, and let counsel file it." if {
	lib.watched.court_filing_unauthorized
	not lib.given(court_filing_unauthorized_settings.attorney_fields)
}

# METADATA
# title: No matter
deny contains "Violation: court_filing_unauthorized: no matter (case_number, matter_id) is named; name the case in which this is filed." if {
	lib.watched.court_filing_unauthorized
	not lib.given(court_filing_unauthorized_settings.matter_fields)
}

# METADATA
# title: Citations that nobody read
deny contains "Violation: court_filing_unauthorized: nothing affirms that citations were checked (citations_checked); read each in a reporter first." if {
	lib.watched.court_filing_unauthorized
	not lib.affirmed(court_filing_unauthorized_settings.check_fields)
}

# METADATA
# title: A filing
review contains "Review: court_filing_unauthorized: a filing cannot be taken back; approve it as the attorney who signs it (attorney_of_record)." if {
	lib.watched.court_filing_unauthorized
}
