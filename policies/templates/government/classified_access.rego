# Template: classified_access
# Domain: government
# Severity: critical
# Frameworks: EO-13526, NIST-800-53, NISPOM
# Tags: classified, spillage
# Tier: mixed
# Tool surface: get_document, search_documents, read_record, send_email, upload_file, create_issue
# Summary: Classified information. It is opened for a stated need to know and after a person agreed; text with its markings goes into no tool that sends or publishes.
# Purpose: A clearance alone opens nothing: EO 13526 wants a need to know. A marked paragraph in a ticket is a spill, and every disk it touched is quarantined.
# Inputs: classification, marking and their like; need_to_know, tasking_id; banner markings in any text; at any depth.
# Edit: read_tools, marking_fields, classified_words, need_fields, send_tools, banners.

package gate.authz

import rego.v1

import data.gate.lib

classified_access_defaults := {
	"read_tools": [
		"cable_get", "cable_read", "cable_search", "document_download", "document_fetch", "document_get", "document_open", "document_query",
		"document_read", "document_search", "file_download", "file_get", "file_open", "file_read", "intel_report_get",
		"intel_report_search", "record_fetch", "record_get", "record_read", "record_search", "report_get", "report_read",
	],
	"marking_fields": [
		"caveat", "classification", "classification_level", "compartment", "handling", "marking", "max_classification",
		"security_classification", "security_level", "security_marking",
	],
	"classified_words": [
		"confidential_noforn", "gamma", "hcs", "nato_secret", "noforn", "orcon", "sap", "sci", "secret", "talent_keyhole", "top_secret",
		"ts",
	],
	"need_fields": ["access_authorization", "need_to_know", "need_to_know_justification", "ntk", "tasking", "tasking_id"],
	"send_tools": [
		"comment_add", "comment_create", "email_reply", "email_send", "file_share", "file_upload", "gist_create", "http_post",
		"issue_create", "message_post", "message_send", "page_create", "page_publish", "paste_create", "slack_post", "slack_send",
		"ticket_create", "webhook_send",
	],
	"banners": ["//NOFORN", "//ORCON", "CONFIDENTIAL//REL", "NATO SECRET", "SECRET//", "TOP SECRET"],
}

classified_access_settings := object.union(classified_access_defaults, given) if given := data.gate.classified_access

else := classified_access_defaults

watches contains "classified_access_read" if lib.tool_is(classified_access_settings.read_tools)

watches contains "classified_access_send" if lib.tool_changes(classified_access_settings.send_tools)

# METADATA
# title: No need to know
deny contains "Violation: classified_access: what is asked for is classified (classification, marking) and no need to know is said (need_to_know, tasking_id); name the tasking." if {
	classified_access_opens
	not lib.given(classified_access_settings.need_fields)
}

# METADATA
# title: A need to know
review contains "Review: classified_access: classified material (classification, marking) would be opened under a tasking (need_to_know); approve it as its custodian." if {
	classified_access_opens
	lib.given(classified_access_settings.need_fields)
}

# METADATA
# title: A spill
deny contains "Violation: classified_access: a text holds a classification banner and the tool sends or publishes it; stop, call the security officer, and use the system of that level." if {
	lib.watched.classified_access_send
	some text in lib.texts
	some banner in classified_access_settings.banners
	contains(upper(text), banner)
}

classified_access_opens if {
	lib.watched.classified_access_read
	lib.mentions(classified_access_settings.marking_fields, classified_access_settings.classified_words)
}
