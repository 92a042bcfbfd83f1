package gate.templates.consent_form_modify_post_signed_test

import rego.v1

import data.gate.templates.fixtures

name := "consent_form_modify_post_signed"

test_only_unsigned_is_editable if {
	every arguments in [
		{},
		{"status": "draft", "signed_by": "Ada"},
		{"status": "executed"},
		{"status": ["draft", "signed"]},
		{"status": 5},
	] {
		fixtures.denies(name, {"tool_type": "consents.patch", "arguments": arguments})
	}
}

test_unsigned_is_editable if {
	every arguments in [
		{"status": "Pending-Signature"},
		{"form": {"consentStatus": "Draft"}},
		{"status": "draft", "signed_at": null},
	] {
		fixtures.silent(name, {"tool_type": "consent_form_update", "arguments": arguments})
	}
}

test_withdrawals_wait if fixtures.asks(name, {"tool_type": "withdrawConsent", "arguments": {}})

test_states_are_a_parameter if fixtures.silent(name, {"tool_type": "edit_consent", "arguments": {"status": "entwurf"}}) with data.gate.consent_form_modify_post_signed as {"unsigned": ["entwurf"]}
