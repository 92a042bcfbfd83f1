# Template: contract_redline_external
# Domain: legal
# Severity: high
# Frameworks: privilege, ABA-Model-Rules, trade-secrets
# Tags: contracts, negotiation
# Tier: mixed
# Tool surface: send_contract, share_redline, send_for_signature, email_document
# Summary: Drafts of contracts. One with internal comments or tracked changes that nobody approved is not sent out; every other one waits.
# Purpose: The other side reads comments, hidden text and fall-back positions as happily as the clause; ABA rule 4.4(b) only asks it to say so.
# Inputs: to, counterparty_email; approved_by, approval_id; include_comments, playbook; at any depth.
# Edit: tools, recipient_fields, internal_domains, inside_fields, comment_fields, approval_fields.

package gate.authz

import rego.v1

import data.gate.lib

contract_redline_external_defaults := {
	"tools": [
		"agreement_send", "agreement_share", "contract_email", "contract_external", "contract_publish", "contract_send", "contract_share",
		"counterparty_send", "draft_send", "envelope_create", "envelope_send", "nda_send", "redline_publish", "redline_send", "redline_share",
		"signature_send",
	],
	"recipient_fields": ["bcc", "cc", "counterparty_email", "email", "recipient", "recipient_email", "signer_email", "to"],
	"internal_domains": [],
	"inside_fields": [
		"fallback", "fallback_position", "internal_comment", "internal_note", "negotiation_position", "playbook", "reserve_price", "walk_away",
	],
	"comment_fields": [
		"include_comment", "include_history", "include_internal", "include_metadata", "keep_metadata", "with_comment",
	],
	"approval_fields": ["approval_id", "approved_by", "attorney_approval", "reviewing_attorney", "signoff_id"],
}

contract_redline_external_settings := object.union(contract_redline_external_defaults, given) if given := data.gate.contract_redline_external

else := contract_redline_external_defaults

watches contains "contract_redline_external" if lib.tool_changes(contract_redline_external_settings.tools)

# METADATA
# title: Positions of one's own
deny contains "Violation: contract_redline_external: the draft carries what is internal (internal_notes, fallback, include_comments); send a clean copy without comments and metadata." if {
	lib.watched.contract_redline_external
	not contract_redline_external_inside
	contract_redline_external_internal
}

# METADATA
# title: Approved by nobody
deny contains "Violation: contract_redline_external: no lawyer approved the draft (approved_by, approval_id) that goes outside (to); have it reviewed, and name the approval." if {
	lib.watched.contract_redline_external
	not contract_redline_external_inside
	not lib.given(contract_redline_external_settings.approval_fields)
}

# METADATA
# title: An approved draft
review contains "Review: contract_redline_external: an approved draft goes to the other side (to); approve it where this is the version that was reviewed." if {
	lib.watched.contract_redline_external
	not contract_redline_external_inside
	lib.given(contract_redline_external_settings.approval_fields)
}

contract_redline_external_inside if lib.inside(contract_redline_external_settings.recipient_fields, contract_redline_external_settings.internal_domains)

contract_redline_external_internal if lib.given(contract_redline_external_settings.inside_fields)

contract_redline_external_internal if lib.switched_on(contract_redline_external_settings.comment_fields)
