# Template: payout_split_modify
# Domain: payments-fintech
# Severity: critical
# Frameworks: PCI-DSS, BSA, AML
# Tags: marketplace, payouts
# Tier: mixed
# Tool surface: update_split, update_payout_account, set_platform_fee, transfer_to_connected_account
# Summary: Who is paid of what. A new payout account without proof is refused, and so are shares beyond the whole; every other change of shares waits.
# Purpose: Whoever takes over a seller's access changes where the payout goes first. A share that moved by a few points is seen at the end of the quarter.
# Inputs: payout_account, external_account, destination; share, percentage, fee_percent; verification_id; at any depth.
# Edit: account_tools, split_tools, share_fields, most_share, proof_fields.

package gate.authz

import rego.v1

import data.gate.lib

payout_split_modify_defaults := {
	"account_tools": [
		"external_account_create", "external_account_update", "payout_account_add", "payout_account_change", "payout_account_set",
		"payout_account_update", "payout_destination_change", "payout_destination_set", "payout_destination_update", "payout_method_add",
		"payout_method_update", "settlement_account_change", "settlement_account_update",
	],
	"split_tools": [
		"application_fee_update", "commission_set", "commission_update", "fee_split_set", "payment_split_create", "payment_split_update",
		"payout_split", "platform_fee_set", "platform_fee_update", "revenue_share_set", "revenue_share_update", "revenue_split", "split_config",
		"split_rule", "split_update", "transfer_split",
	],
	"share_fields": ["commission_percent", "fee_percent", "percent", "percentage", "share", "share_percent", "split_percent"],
	"most_share": 95,
	"proof_fields": [
		"account_verification_id", "bank_verification_id", "callback_reference", "challenge_id", "step_up_id", "verification_id",
	],
}

payout_split_modify_settings := object.union(payout_split_modify_defaults, given) if given := data.gate.payout_split_modify

else := payout_split_modify_defaults

watches contains "payout_split_modify_account" if lib.tool_changes(payout_split_modify_settings.account_tools)

watches contains "payout_split_modify_split" if lib.tool_changes(payout_split_modify_settings.split_tools)

# METADATA
# title: A new account without proof
deny contains "Violation: payout_split_modify: the payout account changes without proof of its holder (verification_id); verify the account and step the seller up first." if {
	lib.watched.payout_split_modify_account
	not lib.given(payout_split_modify_settings.proof_fields)
}

# METADATA
# title: Nearly everything for one
deny contains "Violation: payout_split_modify: a share (percentage) is above most_share, or no plain number; a person of the finance team sets it." if {
	lib.watched.payout_split_modify_split
	payout_split_modify_share_said
	not lib.at_most(payout_split_modify_settings.share_fields, payout_split_modify_settings.most_share)
}

# METADATA
# title: A verified account
review contains "Review: payout_split_modify: the payout account changes; approve it where the seller asked for it on a channel that was known before." if {
	lib.watched.payout_split_modify_account
	lib.given(payout_split_modify_settings.proof_fields)
}

# METADATA
# title: Other shares
review contains "Review: payout_split_modify: shares of payouts change; approve it where the contract of the seller says these." if {
	lib.watched.payout_split_modify_split
}

payout_split_modify_share_said if count(lib.values(payout_split_modify_settings.share_fields)) > 0
