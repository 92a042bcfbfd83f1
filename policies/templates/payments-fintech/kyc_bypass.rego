# Template: kyc_bypass
# Domain: payments-fintech
# Severity: critical
# Frameworks: BSA, AML, KYC, FATF
# Tags: onboarding, screening
# Tier: mixed
# Tool surface: override_kyc, update_kyc_status, approve_verification, clear_sanctions_hit, open_account
# Summary: Knowing the customer. Skipping a check is refused, and so is a passed check that no provider reported; clearing a hit waits.
# Purpose: 31 CFR 1020.220 wants identity verified before an account works. A status that was set by hand is what a regulator calls a failed program.
# Inputs: kyc_status, verification_status; skip_kyc, bypass; verification_id, provider_reference; at any depth.
# Edit: bypass_tools, status_tools, hit_tools, skip_fields, status_fields, open_statuses, proof_fields.

package gate.authz

import rego.v1

import data.gate.lib

kyc_bypass_defaults := {
	"bypass_tools": [
		"aml_bypass", "aml_skip", "kyb_bypass", "kyc_bypass", "kyc_disable", "kyc_override", "kyc_skip", "kyc_waive", "screening_bypass",
		"screening_disable", "screening_skip", "verification_bypass", "verification_skip",
	],
	"status_tools": [
		"account_activate", "account_create", "account_holder_update", "account_open", "applicant_update", "customer_activate",
		"customer_onboard", "customer_update", "identity_verification_update", "kyb_update", "kyc_approve", "kyc_set", "kyc_submit",
		"kyc_update", "verification_approve", "verification_update", "wallet_create",
	],
	"hit_tools": [
		"aml_alert_clear", "aml_alert_close", "pep_match_clear", "sanction_hit_clear", "sanction_match_clear", "sanction_match_dismiss",
		"screening_hit_clear", "screening_match_dismiss", "watchlist_hit_clear", "watchlist_match_dismiss",
	],
	"skip_fields": [
		"bypass_aml", "bypass_kyc", "bypass_verification", "force_approve", "override_kyc", "skip_aml", "skip_identity_check", "skip_kyc",
		"skip_sanctions", "skip_screening", "skip_verification", "waive_kyc",
	],
	"status_fields": [
		"aml_status", "cip_status", "identity_status", "kyb_status", "kyc_level", "kyc_result", "kyc_status", "kyc_verified",
		"verification_status",
	],
	"open_statuses": [
		"declined", "failed", "false", "in progress", "needs review", "none", "not started", "pending", "rejected", "review", "unverified",
	],
	"proof_fields": [
		"check_id", "inquiry_id", "kyc_reference", "provider_reference", "report_id", "screening_id", "verification_id", "verification_report",
	],
}

kyc_bypass_settings := object.union(kyc_bypass_defaults, given) if given := data.gate.kyc_bypass

else := kyc_bypass_defaults

watches contains "kyc_bypass_skip" if {
	lib.tool_is(kyc_bypass_settings.bypass_tools)
	not lib.tool_action[0] in data.gate.verbs.read
}

watches contains "kyc_bypass_status" if lib.tool_changes(kyc_bypass_settings.status_tools)

watches contains "kyc_bypass_hit" if lib.tool_changes(kyc_bypass_settings.hit_tools)

# METADATA
# title: A tool that skips
deny contains "Violation: kyc_bypass: the tool skips a check of the customer; run the check, and leave exceptions to the compliance officer." if {
	lib.watched.kyc_bypass_skip
}

# METADATA
# title: A switch that skips
deny contains "Violation: kyc_bypass: a check is switched off (skip_kyc, bypass_verification); leave the switch out, and wait for the result." if {
	lib.watched.kyc_bypass_status
	lib.switched_on(kyc_bypass_settings.skip_fields)
}

# METADATA
# title: Passed, and nobody checked
deny contains "Violation: kyc_bypass: a check is set to passed (kyc_status) without its report (verification_id); name the report of the provider." if {
	lib.watched.kyc_bypass_status
	kyc_bypass_passed
	not lib.given(kyc_bypass_settings.proof_fields)
}

# METADATA
# title: A hit that is none
review contains "Review: kyc_bypass: a hit of the screening is cleared; approve it where the alert says why it is somebody else." if {
	lib.watched.kyc_bypass_hit
}

kyc_bypass_passed if {
	some value in lib.values(kyc_bypass_settings.status_fields)
	not kyc_bypass_open(value)
}

kyc_bypass_open(value) if {
	some one in kyc_bypass_settings.open_statuses
	lib.plain(lib.as_text(value)) == lib.plain(one)
}

kyc_bypass_open(value) if lib.is_no(value)
