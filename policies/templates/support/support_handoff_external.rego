# Template: support_handoff_external
# Domain: support
# Severity: high
# Frameworks: SOC2, GDPR, ATO
# Tags: privacy, hand-off
# Tier: mixed
# Tool surface: escalate_ticket, transfer_conversation, forward_ticket, share_transcript, export_tickets
# Summary: Conversations that are handed on. To whom nobody listed they are not given with their transcript or with secrets in them; anything else outside waits.
# Purpose: A ticket holds what customers type when they are desperate: passwords, keys, scans. The next desk may be another company, or an impostor.
# Inputs: to, partner, vendor; include_transcript, password, api_key; at any depth.
# Edit: tools, recipient_fields, partner_fields, known_domains, known_partners, whole_fields, secret_fields.

package gate.authz

import rego.v1

import data.gate.lib

support_handoff_external_defaults := {
	"tools": [
		"case_escalate", "case_forward", "case_transfer", "chat_transfer", "conversation_export", "conversation_forward", "conversation_share",
		"conversation_transfer", "handoff", "ticket_assign_external", "ticket_escalate", "ticket_export", "ticket_forward", "ticket_share",
		"ticket_transfer", "transcript_email", "transcript_export", "transcript_send", "transcript_share",
	],
	"recipient_fields": [
		"bcc", "cc", "destination_email", "destination_url", "email", "endpoint", "external_email", "forward_to", "recipient", "to", "url",
		"webhook_url",
	],
	"partner_fields": [
		"external_org", "external_organization", "external_team", "outsourcer", "partner", "partner_id", "third_party", "vendor", "vendor_id",
	],
	"known_domains": [],
	"known_partners": [],
	"whole_fields": [
		"full_history", "include_attachment", "include_history", "include_transcript", "with_attachment", "with_history",
	],
	"secret_fields": [
		"access_token", "api_key", "one_time_code", "otp", "password", "pin", "recovery_code", "secret", "session_token",
	],
}

support_handoff_external_settings := object.union(support_handoff_external_defaults, given) if given := data.gate.support_handoff_external

else := support_handoff_external_defaults

watches contains "support_handoff_external" if lib.tool_changes(support_handoff_external_settings.tools)

# METADATA
# title: The whole conversation
deny contains "Violation: support_handoff_external: the conversation with its history (include_transcript) or a secret (password, api_key) goes outside (to, partner); hand on a summary without them." if {
	lib.watched.support_handoff_external
	support_handoff_external_outside
	support_handoff_external_whole
}

# METADATA
# title: A hand-off
review contains "Review: support_handoff_external: the conversation goes outside (to, partner) to nobody of known_domains or known_partners; approve it where a contract covers them." if {
	lib.watched.support_handoff_external
	support_handoff_external_outside
}

support_handoff_external_outside if {
	lib.given(support_handoff_external_settings.recipient_fields)
	not lib.inside(support_handoff_external_settings.recipient_fields, support_handoff_external_settings.known_domains)
}

support_handoff_external_outside if {
	lib.given(support_handoff_external_settings.partner_fields)
	not lib.among(support_handoff_external_settings.partner_fields, support_handoff_external_settings.known_partners)
}

support_handoff_external_whole if lib.switched_on(support_handoff_external_settings.whole_fields)

support_handoff_external_whole if lib.given(support_handoff_external_settings.secret_fields)
