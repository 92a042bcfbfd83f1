# Template: password_reset_no_verify
# Domain: support
# Severity: high
# Frameworks: SOC2, ATO, NIST-800-63B
# Tags: account-takeover
# Tier: mixed
# Tool surface: reset_password, set_password, send_reset_link, change_login_email
# Summary: Passwords. An agent sets none, and sends a link only to the address on file or after a check of identity.
# Purpose: A reset that goes where the caller says is an account that belongs to the caller. Such frauds begin with "my mail has changed".
# Inputs: new_password; email, phone; verification_id; at any depth.
# Edit: reset_tools, contact_tools, secret_fields, address_fields, proof_fields, verified_fields.

package gate.authz

import rego.v1

import data.gate.lib

password_reset_no_verify_defaults := {
	"reset_tools": [
		"credential_reset", "login_link_send", "magic_link_send", "passcode_reset", "password_change", "password_recover", "password_recovery",
		"password_reset", "password_set", "password_update", "pin_reset", "recovery_link_send", "reset_link_send", "temporary_password",
	],
	"contact_tools": [
		"email_address_change", "email_address_update", "login_email_change", "login_email_update", "phone_number_change",
		"primary_email_change", "primary_email_update", "recovery_email_set", "recovery_email_update", "recovery_phone_set",
		"recovery_phone_update", "user_email_change", "user_email_update",
	],
	"secret_fields": ["new_password", "passcode", "password", "plain_password", "temp_password", "temporary_password"],
	"address_fields": [
		"alternate_email", "delivery_email", "destination", "new_email", "new_phone", "override_email", "recipient", "send_to", "to",
	],
	"proof_fields": [
		"callback_id", "challenge_id", "identity_check_id", "mfa_challenge_id", "otp_id", "step_up_id", "verification_id",
		"verification_session",
	],
	"verified_fields": ["caller_verified", "customer_verified", "identity_verified", "verified"],
}

password_reset_no_verify_settings := object.union(password_reset_no_verify_defaults, given) if given := data.gate.password_reset_no_verify

else := password_reset_no_verify_defaults

watches contains "password_reset_no_verify_reset" if lib.tool_changes(password_reset_no_verify_settings.reset_tools)

watches contains "password_reset_no_verify_contact" if lib.tool_changes(password_reset_no_verify_settings.contact_tools)

# METADATA
# title: A password that is set
deny contains "Violation: password_reset_no_verify: a password (password, new_password) would be set by the agent; send a link, so that the owner sets it." if {
	lib.watched.password_reset_no_verify_reset
	lib.given(password_reset_no_verify_settings.secret_fields)
}

# METADATA
# title: Where somebody says
deny contains "Violation: password_reset_no_verify: the link goes to an address that the call names (to, new_email) without a check of identity (verification_id); send it to the address on file." if {
	lib.watched.password_reset_no_verify_reset
	count(lib.values(password_reset_no_verify_settings.address_fields)) > 0
	not password_reset_no_verify_proven
}

# METADATA
# title: Another address
deny contains "Violation: password_reset_no_verify: the address for resets (email, phone) changes without a check of identity (verification_id); verify the owner, and name the check." if {
	lib.watched.password_reset_no_verify_contact
	not password_reset_no_verify_proven
}

# METADATA
# title: After a check
review contains "Review: password_reset_no_verify: the address of a reset (to, email) is another one after a check of identity; approve it where the old address was told." if {
	password_reset_no_verify_elsewhere
	password_reset_no_verify_proven
}

password_reset_no_verify_elsewhere if lib.watched.password_reset_no_verify_contact

password_reset_no_verify_elsewhere if {
	lib.watched.password_reset_no_verify_reset
	count(lib.values(password_reset_no_verify_settings.address_fields)) > 0
}

password_reset_no_verify_proven if lib.affirmed(password_reset_no_verify_settings.verified_fields)

password_reset_no_verify_proven if lib.given(password_reset_no_verify_settings.proof_fields)
