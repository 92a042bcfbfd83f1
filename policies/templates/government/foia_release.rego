# Template: foia_release
# Domain: government
# Severity: high
# Frameworks: FOIA, Privacy-Act
# Tags: foia, disclosure
# Tier: mixed
# Tool surface: release_foia_records, send_foia_response, publish_foia_documents, fulfill_records_request
# Summary: Releases under FOIA. Nothing goes out before the exemptions were reviewed, or with numbers of people in it; the rest waits for the FOIA officer.
# Purpose: A release cannot be recalled, and every requester may publish it. 5 USC 552(b) has nine exemptions that somebody has to apply line by line.
# Inputs: exemption_review_id, redaction_log and their like; personal data in any text; at any depth.
# Edit: tools, harmless_tools, review_fields, deny_kinds.

package gate.authz

import rego.v1

import data.gate.lib

foia_release_defaults := {
	"tools": [
		"foia_deliver", "foia_disclose", "foia_document_send", "foia_fulfill", "foia_publish", "foia_release", "foia_response_send",
		"information_request_release", "public_record_release", "reading_room_publish", "record_request_close", "record_request_fulfill",
		"record_request_release",
	],
	"harmless_tools": ["acknowledgement", "acknowledgment", "extension", "fee", "reminder", "status"],
	"review_fields": [
		"exemption_log", "exemption_review", "exemption_review_id", "exemptions_applied", "redaction_log", "redaction_review_id",
		"vaughn_index",
	],
	"deny_kinds": [
		"bank_account", "biometric", "birth_date", "card", "driver_license", "health", "iban", "national_id", "passport", "ssn", "tax_id",
	],
}

foia_release_settings := object.union(foia_release_defaults, given) if given := data.gate.foia_release

else := foia_release_defaults

watches contains "foia_release" if {
	lib.tool_changes(foia_release_settings.tools)
	not lib.tool_is(foia_release_settings.harmless_tools)
}

# METADATA
# title: Not reviewed
deny contains "Violation: foia_release: no review of exemptions (exemption_review_id, redaction_log) is named; review and redact first." if {
	lib.watched.foia_release
	not lib.given(foia_release_settings.review_fields)
}

# METADATA
# title: Personal data
deny contains message if {
	lib.watched.foia_release
	kinds := lib.personal & {kind | some kind in foia_release_settings.deny_kinds}
	count(kinds) > 0
	message := concat("", [
		"Violation: foia_release: the release holds personal data (", concat(", ", sort(kinds)),
		"); redact it under exemption 6 or 7(C).",
	])
}

# METADATA
# title: Reviewed
review contains "Review: foia_release: records go to the public under a review (exemption_review_id); approve it as the FOIA officer." if {
	lib.watched.foia_release
	lib.given(foia_release_settings.review_fields)
}
