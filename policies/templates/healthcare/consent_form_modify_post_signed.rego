# Template: consent_form_modify_post_signed
# Domain: healthcare
# Severity: high
# Frameworks: HIPAA, Common-Rule, 21-CFR-11
# Tags: consent, records
# Tier: mixed
# Tool surface: update_consent_form, amend_consent, replace_signed_form, edit_signed_document
# Summary: Consent that was signed. It is not edited: a new version is made and signed again; withdrawing consent waits.
# Purpose: A form that changed after the signature is no consent (45 CFR 46.117), and 21 CFR 11 wants the signed record as it was.
# Inputs: status, signed_at, signature; new_version; at any depth.
# Edit: edit_tools, cookie_tools, revoke_tools, unsigned_fields, unsigned, signed_fields.

package gate.authz

import rego.v1

import data.gate.lib

consent_form_modify_post_signed_defaults := {
	"edit_tools": [
		"authorization_form_edit", "authorization_form_update", "consent_amend", "consent_backdate", "consent_change",
		"consent_document_replace", "consent_edit", "consent_form_replace", "consent_modify", "consent_overwrite", "consent_patch",
		"consent_update", "econsent_edit", "econsent_update", "signed_document_edit", "signed_form_edit", "signed_form_replace",
	],
	"cookie_tools": ["cookie", "marketing", "oauth", "scope", "tracking"],
	"revoke_tools": ["consent_invalidate", "consent_revoke", "consent_withdraw"],
	"unsigned_fields": ["consent_status", "document_status", "form_status", "status"],
	"unsigned": ["draft", "in preparation", "not signed", "pending", "pending signature", "template", "unsent", "unsigned"],
	"signed_fields": [
		"date_signed", "effective_date", "signature", "signature_date", "signed_at", "signed_by", "signed_date", "signed_on",
	],
}

consent_form_modify_post_signed_settings := object.union(consent_form_modify_post_signed_defaults, given) if given := data.gate.consent_form_modify_post_signed

else := consent_form_modify_post_signed_defaults

watches contains "consent_form_modify_post_signed_edit" if {
	lib.tool_changes(consent_form_modify_post_signed_settings.edit_tools)
	not lib.tool_is(consent_form_modify_post_signed_settings.cookie_tools)
}

watches contains "consent_form_modify_post_signed_revoke" if {
	lib.tool_changes(consent_form_modify_post_signed_settings.revoke_tools)
	not lib.tool_is(consent_form_modify_post_signed_settings.cookie_tools)
}

# METADATA
# title: Signed, or may be
deny contains "Violation: consent_form_modify_post_signed: the form is not said to be unsigned (status), or has a signature (signed_at); make a new version, and have it signed again." if {
	lib.watched.consent_form_modify_post_signed_edit
	not consent_form_modify_post_signed_unsigned
}

# METADATA
# title: Withdrawn
review contains "Review: consent_form_modify_post_signed: consent is withdrawn; approve it where the patient asked for it, and tell who relies on it." if {
	lib.watched.consent_form_modify_post_signed_revoke
}

consent_form_modify_post_signed_unsigned if {
	lib.among(consent_form_modify_post_signed_settings.unsigned_fields, consent_form_modify_post_signed_settings.unsigned)
	not lib.given(consent_form_modify_post_signed_settings.signed_fields)
}
