# Template: pii_egress
# Domain: cross-cutting
# Severity: high
# Frameworks: GDPR, CCPA, SOC2
# Tags: privacy, egress
# Tier: mixed
# Tool surface: send_email, http_post, upload_file, webhook_send, slack_post
# Summary: Personal data stays in. Identity and payment numbers are sent to no outsider; other personal data waits for a person.
# Purpose: One message with the wrong row in it is a breach that has to be notified. What leaves is looked at before it is gone.
# Inputs: arguments, at any depth; the recipient under to, url and their like.
# Edit: tools, deny_kinds, review_kinds, most_addresses, recipient_fields, internal_domains.

package gate.authz

import rego.v1

import data.gate.lib

pii_egress_defaults := {
	"tools": [
		"email_forward", "email_reply", "email_send", "file_share", "file_upload", "gist_create", "http_post", "http_put", "http_request", "mail_send",
		"message_send", "paste_create", "slack_post", "slack_send", "sms_send", "webhook_post", "webhook_send",
	],
	"deny_kinds": ["biometric", "card", "driver_license", "national_id", "passport", "ssn"],
	"review_kinds": ["bank_account", "birth_date", "health", "iban", "tax_id"],
	"most_addresses": 20,
	"recipient_fields": ["bcc", "cc", "endpoint", "host", "recipient", "to", "uri", "url"],
	"internal_domains": [],
}

pii_egress_settings := object.union(pii_egress_defaults, given) if given := data.gate.pii_egress

else := pii_egress_defaults

watches contains "pii_egress" if lib.tool_changes(pii_egress_settings.tools)

# METADATA
# title: Numbers that identify or pay
deny contains message if {
	pii_egress_leaves
	kinds := lib.personal & {kind | some kind in pii_egress_settings.deny_kinds}
	count(kinds) > 0
	message := concat("", [
		"Violation: pii_egress: the arguments hold personal data (", concat(", ", sort(kinds)),
		") on its way out; take it out, or send a reference that the recipient can look up.",
	])
}

# METADATA
# title: Other personal data
review contains message if {
	pii_egress_leaves
	kinds := lib.personal & {kind | some kind in pii_egress_settings.review_kinds}
	count(kinds) > 0
	message := concat("", [
		"Review: pii_egress: the arguments hold personal data (", concat(", ", sort(kinds)),
		") on its way out; approve it where the recipient may have it.",
	])
}

# METADATA
# title: A list of people
review contains "Review: pii_egress: the arguments hold more mail addresses than most_addresses; approve it where the recipient may have the list." if {
	pii_egress_leaves
	count(lib.mail_addresses) > pii_egress_settings.most_addresses
}

pii_egress_leaves if {
	lib.watched.pii_egress
	not lib.inside(pii_egress_settings.recipient_fields, pii_egress_settings.internal_domains)
}
