# Template: pii_lookup_no_ticket
# Domain: support
# Severity: high
# Frameworks: SOC2, ATO, GDPR
# Tags: privacy, insider
# Tier: mixed
# Tool surface: get_customer, lookup_user, search_customers, view_identity_document
# Summary: Lookups. Numbers and documents that identify a person are shown for a ticket alone; lists of many people wait.
# Purpose: Staff who were paid to look customers up read one after another without a case (Coinbase 2025).
# Inputs: fields, include, ticket_id, limit and their like, at any depth.
# Edit: customer_tools, document_tools, shown_fields, sensitive, unmasked_fields, ticket_fields, count_fields, at_most.

package gate.authz

import rego.v1

import data.gate.lib

pii_lookup_no_ticket_defaults := {
	"customer_tools": [
		"account_get", "account_lookup", "contact_get", "contact_lookup", "contact_search", "customer_fetch", "customer_find",
		"customer_get", "customer_list", "customer_lookup", "customer_query", "customer_read", "customer_search", "customer_view",
		"profile_get", "profile_view", "user_get", "user_lookup", "user_search",
	],
	"document_tools": [
		"identity_document", "kyc_document", "passport_scan", "personal_data_get", "pii_fetch", "pii_get", "pii_lookup", "pii_read",
		"pii_reveal", "pii_view", "ssn_get", "ssn_lookup", "ssn_reveal",
	],
	"shown_fields": ["attribute", "column", "expand", "field", "include", "return_field", "select"],
	"sensitive": [
		"bank_account", "birth_date", "card_number", "date_birth", "dob", "driver_license", "iban", "national_id", "passport", "pii",
		"social_security", "ssn", "tax_id",
	],
	"unmasked_fields": ["decrypt", "full_pii", "include_pii", "reveal", "show_full", "unmask", "unmasked"],
	"ticket_fields": ["case_id", "case_number", "conversation_id", "ticket", "ticket_id", "ticket_number"],
	"count_fields": ["count", "first", "limit", "max_results", "page_size", "per_page", "top"],
	"at_most": 100,
}

pii_lookup_no_ticket_settings := object.union(pii_lookup_no_ticket_defaults, given) if given := data.gate.pii_lookup_no_ticket

else := pii_lookup_no_ticket_defaults

watches contains "pii_lookup_no_ticket" if lib.tool_is(pii_lookup_no_ticket_settings.customer_tools)

watches contains "pii_lookup_no_ticket_document" if lib.tool_is(pii_lookup_no_ticket_settings.document_tools)

# METADATA
# title: No ticket
deny contains "Violation: pii_lookup_no_ticket: what identifies a person (fields, include, unmask) is looked up without a ticket (ticket_id); name the customer's case, or leave these fields out." if {
	pii_lookup_no_ticket_identifies
	not lib.given(pii_lookup_no_ticket_settings.ticket_fields)
}

# METADATA
# title: Many people
review contains "Review: pii_lookup_no_ticket: a lookup of more people than at_most (limit); approve it where the case is about all of them." if {
	lib.watched.pii_lookup_no_ticket
	count(lib.values(pii_lookup_no_ticket_settings.count_fields)) > 0
	not lib.at_most(pii_lookup_no_ticket_settings.count_fields, pii_lookup_no_ticket_settings.at_most)
}

pii_lookup_no_ticket_identifies if lib.watched.pii_lookup_no_ticket_document

pii_lookup_no_ticket_identifies if {
	lib.watched.pii_lookup_no_ticket
	lib.mentions(pii_lookup_no_ticket_settings.shown_fields, pii_lookup_no_ticket_settings.sensitive)
}

pii_lookup_no_ticket_identifies if {
	lib.watched.pii_lookup_no_ticket
	lib.switched_on(pii_lookup_no_ticket_settings.unmasked_fields)
}
