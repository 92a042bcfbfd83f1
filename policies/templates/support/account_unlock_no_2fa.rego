# Template: account_unlock_no_2fa
# Domain: support
# Severity: high
# Frameworks: SOC2, ATO
# Tags: account-takeover, identity
# Tier: mixed
# Tool surface: unlock_account, unlock_user, reset_mfa, remove_second_factor
# Summary: Locked accounts. Unlocking one takes a check of the second factor; resetting that factor takes a check of the identity, and then a person.
# Purpose: The help desk is the way in: a friendly voice has an account unlocked and the factor reset (MGM Resorts 2023).
# Inputs: mfa_verified, verification_id and their like, at any depth.
# Edit: unlock_tools, factor_tools, passed_fields, reference_fields.

package gate.authz

import rego.v1

import data.gate.lib

account_unlock_no_2fa_defaults := {
	"unlock_tools": [
		"account_reactivate", "account_unblock", "account_unlock", "lockout_clear", "lockout_reset", "login_unblock", "user_unblock",
		"user_unlock",
	],
	"factor_tools": [
		"authenticator_remove", "authenticator_reset", "factor_remove", "factor_reset", "mfa_clear", "mfa_remove", "mfa_reset",
		"otp_reset", "passkey_reset", "security_key_remove", "two_factor_disable", "two_factor_remove", "two_factor_reset",
	],
	"passed_fields": [
		"caller_verified", "customer_verified", "identity_confirmed", "identity_verified", "mfa_passed", "mfa_verified", "otp_verified",
		"passed_2fa", "two_factor_passed", "two_factor_verified",
	],
	"reference_fields": [
		"identity_check_id", "identity_verification_id", "verification_case", "verification_id", "verification_reference",
		"verification_session",
	],
}

account_unlock_no_2fa_settings := object.union(account_unlock_no_2fa_defaults, given) if given := data.gate.account_unlock_no_2fa

else := account_unlock_no_2fa_defaults

watches contains "account_unlock_no_2fa" if lib.tool_changes(account_unlock_no_2fa_settings.unlock_tools)

watches contains "account_unlock_no_2fa_factor" if lib.tool_changes(account_unlock_no_2fa_settings.factor_tools)

# METADATA
# title: Unlocked without a check
deny contains "Violation: account_unlock_no_2fa: an account is unlocked without a passed check (mfa_verified, verification_id); have the customer confirm on a registered device first." if {
	lib.watched.account_unlock_no_2fa
	not account_unlock_no_2fa_factor_passed
	not account_unlock_no_2fa_identity_checked
}

# METADATA
# title: A factor without a check
deny contains "Violation: account_unlock_no_2fa: a second factor is reset without a check of the identity (verification_id); verify it by a way other than the one that is lost." if {
	lib.watched.account_unlock_no_2fa_factor
	not account_unlock_no_2fa_identity_checked
}

# METADATA
# title: A factor after a check
review contains "Review: account_unlock_no_2fa: a second factor is reset after a check (verification_id); approve it where the check is on record and the customer was told at the old address." if {
	lib.watched.account_unlock_no_2fa_factor
	account_unlock_no_2fa_identity_checked
}

account_unlock_no_2fa_factor_passed if lib.affirmed(account_unlock_no_2fa_settings.passed_fields)

# A check that is said to have failed is none.
account_unlock_no_2fa_identity_checked if {
	lib.given(account_unlock_no_2fa_settings.reference_fields)
	not account_unlock_no_2fa_failed
}

account_unlock_no_2fa_failed if {
	some value in lib.values(account_unlock_no_2fa_settings.passed_fields)
	not lib.is_yes(value)
}
