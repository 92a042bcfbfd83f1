# Template: password_reset_no_verify
# Domain: support
# Severity: high
# Frameworks: SOC2, ATO
# Tags: account-takeover, identity
# Tier: mixed
# Tool surface: reset_password, set_password, send_reset_link, update_recovery_email
# Summary: Passwords. A reset goes to the address on file; a chosen password is refused, another address or a change of where resets go takes a check.
# Purpose: Who moves the reset to an address of their own has the account.
# Inputs: new_password, send_to, email, recovery_email, verification_id and their like, at any depth.
# Edit: tools, recovery_tools, password_fields, address_fields, reference_fields.

package gate.authz

import rego.v1

import data.gate.lib

password_reset_no_verify_defaults := {
	"tools": [
		"credential_reset", "password_change", "password_reset", "password_set", "recovery_link_send", "reset_link_send",
	],
	"recovery_tools": [
		"login_email_change", "login_email_update", "recovery_email_add", "recovery_email_set", "recovery_email_update",
		"recovery_phone_set", "recovery_phone_update",
	],
	"password_fields": ["new_password", "password", "password_plain", "temp_password", "temporary_password"],
	"address_fields": [
		"alternate_email", "deliver_to", "delivery_address", "new_email", "new_phone", "recipient_email", "send_to", "to",
	],
	"reference_fields": [
		"identity_check_id", "identity_verification_id", "verification_case", "verification_id", "verification_reference",
		"verification_session",
	],
}

password_reset_no_verify_settings := object.union(password_reset_no_verify_defaults, given) if given := data.gate.password_reset_no_verify

else := password_reset_no_verify_defaults

watches contains "password_reset_no_verify" if lib.tool_changes(password_reset_no_verify_settings.tools)

watches contains "password_reset_no_verify_recovery" if lib.tool_changes(password_reset_no_verify_settings.recovery_tools)

# METADATA
# title: A chosen password
deny contains "Violation: password_reset_no_verify: a password is set by whoever asks (new_password); send a reset to the address on file." if {
	lib.watched.password_reset_no_verify
	lib.given(password_reset_no_verify_settings.password_fields)
}

# METADATA
# title: Somewhere else, unchecked
deny contains "Violation: password_reset_no_verify: a reset goes to another address (send_to, recovery_email) without a check of the identity (verification_id); use the address on file, or verify first." if {
	password_reset_no_verify_elsewhere
	not lib.given(password_reset_no_verify_settings.reference_fields)
}

# METADATA
# title: Somewhere else, checked
review contains "Review: password_reset_no_verify: a reset goes to another address (send_to, recovery_email) after a check (verification_id); approve it where the old address was told." if {
	password_reset_no_verify_elsewhere
	lib.given(password_reset_no_verify_settings.reference_fields)
}

password_reset_no_verify_elsewhere if {
	lib.watched.password_reset_no_verify
	lib.given(password_reset_no_verify_settings.address_fields)
}

password_reset_no_verify_elsewhere if lib.watched.password_reset_no_verify_recovery
