package gate.templates.account_unlock_no_2fa_test

import rego.v1

import data.gate.templates.fixtures

name := "account_unlock_no_2fa"

test_proof_is_asked_in_any_shape if {
	every arguments in [
		{},
		{"mfa_verified": false},
		{"otp_verified": [true, false]},
		{"verification_id": "n/a"},
	] {
		fixtures.denies(name, {"tool_type": "users.unlock", "arguments": arguments})
	}
}

test_proven_unlocks_run if {
	every arguments in [
		{"checks": {"MfaVerified": "true"}},
		{"challenge_id": "ch_1", "role": "member"},
	] {
		fixtures.silent(name, {"tool_type": "enableUser", "arguments": arguments})
	}
}

test_guarded_accounts_wait if fixtures.asks(name, {"tool_type": "clear_lockout", "arguments": {"challenge_id": "ch_1", "lock_reason": "account takeover suspected"}})

test_words_are_a_parameter if fixtures.asks(name, {"tool_type": "clear_lockout", "arguments": {"challenge_id": "ch_1", "plan": "gold"}}) with data.gate.account_unlock_no_2fa as {"guarded": ["gold"]}
