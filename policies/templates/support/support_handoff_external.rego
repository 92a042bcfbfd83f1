# Template: support_handoff_external
# Domain: support
# Severity: high
# Frameworks: SOC2, GDPR
# Tags: privacy, egress
# Tier: mixed
# Tool surface: forward_ticket, forward_conversation, share_ticket, escalate_ticket
# Summary: Handing a case on. To an address outside the company it waits; with numbers of the customer in it, it is refused.
# Purpose: What a customer wrote to support leaves the company with one forward, to a vendor or to who pretended to be one.
# Inputs: to, email, assignee, url, and what identifies a person anywhere in the arguments.
# Edit: tools, recipient_fields, internal_domains, kinds.

package gate.authz

import rego.v1

import data.gate.lib

support_handoff_external_defaults := {
	"tools": [
		"case_escalate", "case_forward", "case_share", "case_transfer", "conversation_forward", "conversation_share",
		"conversation_transfer", "thread_forward", "ticket_escalate", "ticket_export", "ticket_forward", "ticket_handoff",
		"ticket_share", "ticket_transfer", "transcript_send",
	],
	"recipient_fields": [
		"assignee", "bcc", "cc", "destination", "email", "forward_to", "recipient", "recipient_email", "share_with", "to", "url",
		"webhook_url",
	],
	"internal_domains": [],
	"kinds": [
		"bank_account", "biometric", "birth_date", "card", "driver_license", "health", "iban", "national_id", "passport", "ssn",
		"tax_id",
	],
}

support_handoff_external_settings := object.union(support_handoff_external_defaults, given) if given := data.gate.support_handoff_external

else := support_handoff_external_defaults

watches contains "support_handoff_external" if lib.tool_changes(support_handoff_external_settings.tools)

# METADATA
# title: With numbers of the customer
deny contains "Violation: support_handoff_external: a case with what identifies the customer (card, ssn, passport and their like) goes to an address outside internal_domains (to, email); take it out and hand over the rest." if {
	support_handoff_external_leaves
	some kind in support_handoff_external_settings.kinds
	kind in lib.personal
}

# METADATA
# title: Outside
review contains "Review: support_handoff_external: a case goes to an address outside internal_domains (to, email); approve it where the vendor has a contract and needs the whole case." if support_handoff_external_leaves

# A queue or a colleague's name is no address; several in one text are all outside.
support_handoff_external_leaves if {
	lib.watched.support_handoff_external
	some value in lib.values(support_handoff_external_settings.recipient_fields)
	is_string(value)
	support_handoff_external_is_address(value)
	not support_handoff_external_inside(value)
}

support_handoff_external_is_address(value) if contains(value, "@")

support_handoff_external_is_address(value) if contains(value, "://")

support_handoff_external_inside(value) if {
	host := lib.host_of(value)
	some domain in support_handoff_external_settings.internal_domains
	endswith(concat("", [".", host]), concat("", [".", lower(domain)]))
}
