# Template: privileged_documents
# Domain: legal
# Severity: high
# Frameworks: privilege, FRE-502, ABA-Model-Rules
# Tags: privilege, egress
# Tier: mixed
# Tool surface: send_email, share_document, upload_file, produce_documents, change_privilege_tag
# Summary: Privileged documents. They go to nobody outside; taking the mark of privilege off waits.
# Purpose: Privilege that was waived once is gone for the subject matter (FRE 502(a)). An attachment with the stamp on it is how that happens.
# Inputs: privileged, classification, and texts that carry the stamp; to, url; at any depth.
# Edit: send_tools, mark_tools, mark_fields, stamps, text_fields, recipient_fields, internal_domains.

package gate.authz

import rego.v1

import data.gate.lib

privileged_documents_defaults := {
	"send_tools": [
		"document_publish", "document_send", "document_share", "email_forward", "email_reply", "email_send", "file_share", "file_upload",
		"http_post", "link_share", "mail_send", "message_post", "message_send", "share_link", "slack_post", "slack_send", "webhook_send",
	],
	"mark_tools": [
		"privilege_clear", "privilege_designation_change", "privilege_designation_update", "privilege_downgrade", "privilege_flag_update",
		"privilege_remove", "privilege_status_update", "privilege_tag_change", "privilege_tag_remove", "privilege_tag_update",
		"privilege_unmark", "privilege_waive", "document_unmark",
	],
	"mark_fields": ["attorney_client", "attorney_client_privilege", "is_privileged", "privileged", "work_product"],
	"stamps": [
		"attorney_client_communication", "attorney_client_privileged", "attorney_work_product", "privileged_confidential",
		"solicitor_client_privilege",
	],
	"text_fields": [
		"attachment", "body", "classification", "content", "document", "file", "filename", "label", "message", "path", "subject", "tag", "text",
		"title",
	],
	"recipient_fields": ["bcc", "cc", "channel", "destination", "email", "endpoint", "recipient", "to", "uri", "url"],
	"internal_domains": [],
}

privileged_documents_settings := object.union(privileged_documents_defaults, given) if given := data.gate.privileged_documents

else := privileged_documents_defaults

watches contains "privileged_documents_send" if lib.tool_changes(privileged_documents_settings.send_tools)

watches contains "privileged_documents_mark" if {
	lib.tool_is(privileged_documents_settings.mark_tools)
	not lib.tool_action[0] in data.gate.verbs.read
}

# METADATA
# title: Marked, and on its way
deny contains "Violation: privileged_documents: the document is marked as privileged (privileged, or a stamp in its text) and goes to a recipient (to, url) that is not of internal_domains; take it out, or have counsel send it." if {
	lib.watched.privileged_documents_send
	privileged_documents_privileged
	not lib.inside(privileged_documents_settings.recipient_fields, privileged_documents_settings.internal_domains)
}

# METADATA
# title: The mark itself
review contains "Review: privileged_documents: the mark of privilege changes; approve it as the attorney who reviewed the document." if {
	lib.watched.privileged_documents_mark
}

privileged_documents_privileged if lib.switched_on(privileged_documents_settings.mark_fields)

privileged_documents_privileged if lib.mentions(privileged_documents_settings.text_fields, privileged_documents_settings.stamps)
