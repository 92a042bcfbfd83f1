# Template: pii_lookup_no_ticket
# Domain: support
# Severity: high
# Frameworks: SOC2, GDPR, CCPA
# Tags: privacy, access
# Tier: mixed
# Tool surface: lookup_customer_pii, reveal_card, get_customer, search_customers, export_customer
# Summary: Looking people up. Unmasked data without a ticket are refused, with one they wait; an ordinary look at a customer runs.
# Purpose: Support tools are where insiders, bribed or prompted, look people up: Coinbase lost the data of 69,000 customers so (2025).
# Inputs: ticket_id; fields, include, unmask; at any depth.
# Edit: reveal_tools, look_tools, switch_fields, part_fields, guarded_parts, ticket_fields.

package gate.authz

import rego.v1

import data.gate.lib

pii_lookup_no_ticket_defaults := {
	"reveal_tools": [
		"card_reveal", "customer_full_profile", "customer_identity_get", "customer_pii", "customer_reveal", "customer_unmask",
		"identity_document_get", "identity_lookup", "personal_data_get", "personal_data_lookup", "pii_get", "pii_lookup", "pii_read",
		"pii_reveal", "pii_search", "sensitive_data_reveal", "ssn_get", "ssn_lookup", "ssn_reveal", "user_pii",
	],
	"look_tools": [
		"account_get", "account_lookup", "contact_get", "contact_search", "customer_fetch", "customer_find", "customer_get", "customer_lookup",
		"customer_search", "member_lookup", "subscriber_lookup", "user_get", "user_lookup", "user_search",
	],
	"switch_fields": [
		"full_record", "include_pii", "include_sensitive", "mask_off", "raw", "reveal", "show_pii", "unmask", "unmasked",
	],
	"part_fields": ["attribute", "column", "expand", "field", "include", "property", "select"],
	"guarded_parts": [
		"bank_account", "birth", "card_number", "dob", "driver_license", "government_id", "iban", "national_id", "passport", "pii",
		"social_security", "ssn", "tax_id",
	],
	"ticket_fields": [
		"case_id", "case_number", "chat_id", "conversation_id", "incident_id", "request_id", "ticket", "ticket_id", "ticket_number",
	],
}

pii_lookup_no_ticket_settings := object.union(pii_lookup_no_ticket_defaults, given) if given := data.gate.pii_lookup_no_ticket

else := pii_lookup_no_ticket_defaults

watches contains "pii_lookup_no_ticket_reveal" if lib.tool_is(pii_lookup_no_ticket_settings.reveal_tools)

watches contains "pii_lookup_no_ticket_look" if lib.tool_is(pii_lookup_no_ticket_settings.look_tools)

# METADATA
# title: For no ticket
deny contains "Violation: pii_lookup_no_ticket: personal data are unmasked (unmask, fields) and no ticket (ticket_id) says what for; open one, or ask for the masked record." if {
	pii_lookup_no_ticket_reveals
	not lib.given(pii_lookup_no_ticket_settings.ticket_fields)
}

# METADATA
# title: For a ticket
review contains "Review: pii_lookup_no_ticket: personal data are unmasked (unmask, fields) for a ticket (ticket_id); approve it where the ticket needs them." if {
	pii_lookup_no_ticket_reveals
	lib.given(pii_lookup_no_ticket_settings.ticket_fields)
}

pii_lookup_no_ticket_reveals if lib.watched.pii_lookup_no_ticket_reveal

pii_lookup_no_ticket_reveals if {
	lib.watched.pii_lookup_no_ticket_look
	lib.switched_on(pii_lookup_no_ticket_settings.switch_fields)
}

pii_lookup_no_ticket_reveals if {
	lib.watched.pii_lookup_no_ticket_look
	lib.mentions(pii_lookup_no_ticket_settings.part_fields, pii_lookup_no_ticket_settings.guarded_parts)
}
