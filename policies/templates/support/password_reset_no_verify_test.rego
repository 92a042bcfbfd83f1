package gate.templates.password_reset_no_verify_test

import rego.v1

import data.gate.templates.fixtures

name := "password_reset_no_verify"

test_a_password_is_refused_anywhere if {
	every arguments in [
		{"credentials": [{"NewPassword": "x"}], "verification_id": "v"},
		{"body": "{\"temp_password\": \"x\"}"},
	] {
		fixtures.denies(name, {"tool_type": "users.resetPassword", "arguments": arguments})
	}
}

test_addresses_need_proof if {
	every arguments in [
		{"to": "x@y.example"},
		{"to": "x@y.example", "verified": false},
		{"destination": "sms"},
	] {
		fixtures.denies(name, {"tool_type": "send_magic_link", "arguments": arguments})
	}
}

test_on_file_runs if {
	every arguments in [
		{},
		{"user_id": "u", "email": "on@file.example"},
		{"password": ""},
	] {
		fixtures.silent(name, {"tool_type": "passwordReset", "arguments": arguments})
	}
}

test_proven_changes_wait if fixtures.asks(name, {"tool_type": "change_phone_number", "arguments": {"phone": "1", "identity_verified": "yes"}})

test_what_proves_is_a_parameter if fixtures.asks(name, {"tool_type": "change_phone_number", "arguments": {"pin_check": "ok-1"}}) with data.gate.password_reset_no_verify as {"proof_fields": ["pin_check"]}
