# Template: card_data_storage
# Domain: payments-fintech
# Severity: critical
# Frameworks: PCI-DSS
# Tags: cards, storage
# Tier: deny
# Tool surface: add_note, create_ticket, update_customer, insert_row, write_file, write_log
# Summary: Card data at rest. Security codes, track data and PINs are never stored; a full card number is stored by the vault alone.
# Purpose: PCI DSS 3.3.1 forbids keeping sensitive authentication data after authorization, even encrypted; 3.5 wants the number unreadable wherever it is kept.
# Inputs: every text of the arguments; cvv, track2, pin_block, card_number and their like, at any depth.
# Edit: tools, vault_tools, code_fields, number_fields.

package gate.authz

import rego.v1

import data.gate.lib

card_data_storage_defaults := {
	"tools": [
		"blob_put", "cache_set", "comment_add", "comment_create", "contact_create", "contact_update", "customer_create", "customer_update",
		"document_create", "document_update", "event_log", "event_track", "file_append", "file_create", "file_write", "issue_create",
		"issue_update", "log_append", "log_write", "memory_add", "memory_store", "note_add", "note_create", "note_update", "object_put",
		"page_create", "page_update", "record_create", "record_insert", "record_update", "row_append", "row_insert", "sheet_update",
		"ticket_create", "ticket_update",
	],
	"vault_tools": ["tokenize", "vault"],
	"code_fields": [
		"card_code", "card_verification_value", "cav2", "cid2", "cvc", "cvc2", "cvv", "cvv2", "magstripe", "pin_block", "security_code",
		"track1", "track2", "track_data",
	],
	"number_fields": ["card_no", "card_number", "cc_number", "credit_card", "credit_card_number", "pan", "primary_account_number"],
}

card_data_storage_settings := object.union(card_data_storage_defaults, given) if given := data.gate.card_data_storage

else := card_data_storage_defaults

watches contains "card_data_storage" if lib.tool_changes(card_data_storage_settings.tools)

# METADATA
# title: What is never kept
deny contains "Violation: card_data_storage: sensitive authentication data (cvv, track2, pin_block) would be stored; drop it, it is for authorization alone." if {
	lib.watched.card_data_storage
	some value in lib.values(card_data_storage_settings.code_fields)
	card_data_storage_digits(value) >= 3
}

# METADATA
# title: A number in clear
deny contains "Violation: card_data_storage: a full card number (card_number) would be stored in clear; store the token of the vault, or the last four digits." if {
	lib.watched.card_data_storage
	not lib.tool_is(card_data_storage_settings.vault_tools)
	card_data_storage_has_number
}

card_data_storage_has_number if count(lib.card_numbers) > 0

card_data_storage_has_number if {
	some value in lib.values(card_data_storage_settings.number_fields)
	card_data_storage_digits(value) >= 13
}

card_data_storage_digits(value) := count(regex.find_all_string_submatch_n(`[0-9]`, lib.as_text(value), 20))
