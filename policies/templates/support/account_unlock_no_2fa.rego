# Template: account_unlock_no_2fa
# Domain: support
# Severity: high
# Frameworks: SOC2, ATO, NIST-800-63B
# Tags: account-takeover
# Tier: mixed
# Tool surface: unlock_account, reactivate_user, reset_mfa, remove_authenticator, disable_2fa
# Summary: Locked accounts. Unlocking without a second factor is refused, and so is taking the second factor off; a proven unlock of a guarded account waits.
# Purpose: The help desk is the way around every login: MGM and others fell to one call that had a factor reset (2023).
# Inputs: mfa_verified, verification_id; lock_reason, account_type; at any depth.
# Edit: unlock_tools, factor_tools, proof_fields, verified_fields, guard_fields, guarded.

package gate.authz

import rego.v1

import data.gate.lib

account_unlock_no_2fa_defaults := {
	"unlock_tools": [
		"account_enable", "account_reactivate", "account_restore", "account_unlock", "account_unsuspend", "customer_unlock", "lockout_clear",
		"lockout_reset", "login_unlock", "user_enable", "user_reactivate", "user_unlock", "user_unsuspend",
	],
	"factor_tools": [
		"authenticator_remove", "authenticator_reset", "factor_disable", "factor_remove", "factor_reset", "mfa_bypass", "mfa_disable",
		"mfa_remove", "mfa_reset", "otp_disable", "passkey_remove", "totp_disable", "totp_reset", "two_factor_disable", "two_factor_remove",
		"two_factor_reset",
	],
	"proof_fields": [
		"callback_id", "challenge_id", "identity_check_id", "mfa_challenge_id", "otp_id", "step_up_id", "verification_id",
		"verification_session",
	],
	"verified_fields": [
		"factor_verified", "mfa_passed", "mfa_verified", "otp_verified", "second_factor_verified", "two_factor_verified", "verified_2fa",
	],
	"guard_fields": ["account_type", "lock_reason", "locked_reason", "plan", "role", "segment", "user_role"],
	"guarded": [
		"admin", "compromise", "employee", "enterprise", "executive", "fraud", "owner", "privileged", "takeover", "vip",
	],
}

account_unlock_no_2fa_settings := object.union(account_unlock_no_2fa_defaults, given) if given := data.gate.account_unlock_no_2fa

else := account_unlock_no_2fa_defaults

watches contains "account_unlock_no_2fa_unlock" if lib.tool_changes(account_unlock_no_2fa_settings.unlock_tools)

watches contains "account_unlock_no_2fa_factor" if {
	lib.tool_is(account_unlock_no_2fa_settings.factor_tools)
	not lib.tool_action[0] in data.gate.verbs.read
}

# METADATA
# title: No second factor
deny contains "Violation: account_unlock_no_2fa: no second factor was checked (mfa_verified, verification_id); send the challenge, and name it." if {
	lib.watched.account_unlock_no_2fa_unlock
	not account_unlock_no_2fa_proven
}

# METADATA
# title: The factor itself
deny contains "Violation: account_unlock_no_2fa: a second factor would be taken off without proof of identity (verification_id); use recovery codes, or a check with a document." if {
	lib.watched.account_unlock_no_2fa_factor
	not lib.given(account_unlock_no_2fa_settings.proof_fields)
}

# METADATA
# title: A guarded account
review contains "Review: account_unlock_no_2fa: the account is guarded (role, lock_reason); approve it after a call to the number on file." if {
	lib.watched.account_unlock_no_2fa_unlock
	account_unlock_no_2fa_proven
	lib.mentions(account_unlock_no_2fa_settings.guard_fields, account_unlock_no_2fa_settings.guarded)
}

# METADATA
# title: A factor of a person who is known
review contains "Review: account_unlock_no_2fa: a second factor is taken off after proof (verification_id); approve it where the check is on record." if {
	lib.watched.account_unlock_no_2fa_factor
	lib.given(account_unlock_no_2fa_settings.proof_fields)
}

account_unlock_no_2fa_proven if lib.affirmed(account_unlock_no_2fa_settings.verified_fields)

account_unlock_no_2fa_proven if lib.given(account_unlock_no_2fa_settings.proof_fields)
