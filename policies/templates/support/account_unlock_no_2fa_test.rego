package gate.templates.account_unlock_no_2fa_test

import rego.v1

import data.gate.templates.fixtures

name := "account_unlock_no_2fa"

test_unlocking_takes_a_check if {
	every arguments in [
		{"user_id": 1},
		{"mfa_verified": false},
		{"mfa_verified": "pending"},
		{"verification_id": "none"},
		{"verification_id": "V-1", "identity_verified": false},
	] {
		fixtures.denies(name, {"tool_type": "unlock_account", "arguments": arguments})
	}
}

test_a_passed_check_unlocks if {
	every arguments in [
		{"mfa_verified": true},
		{"checks": [{"otpVerified": "yes"}]},
		{"verification_id": "V-1"},
	] {
		fixtures.silent(name, {"tool_type": "unlock_account", "arguments": arguments})
	}
}

test_a_factor_takes_more if {
	every arguments in [
		{},
		{"mfa_verified": true},
	] {
		fixtures.denies(name, {"tool_type": "reset_mfa", "arguments": arguments})
	}
}

test_a_factor_waits if {
	every arguments in [
		{"verification_id": "V-1"},
	] {
		fixtures.asks(name, {"tool_type": "reset_mfa", "arguments": arguments})
	}
}

test_reading_passes if {
	every arguments in [
		{},
	] {
		fixtures.silent(name, {"tool_type": "get_mfa_reset_status", "arguments": arguments})
	}
}

test_what_proves_is_a_parameter if {
	every arguments in [
		{"branch_visit": "B-4"},
	] {
		fixtures.silent(name, {"tool_type": "unlock_account", "arguments": arguments}) with data.gate.account_unlock_no_2fa as {"reference_fields": ["branch_visit"]}
	}
}

test_another_tool_is_let_through if {
	every arguments in [
		{"user_id": 1},
		{"mfa_verified": false},
		{"mfa_verified": "pending"},
		{"verification_id": "none"},
		{"verification_id": "V-1", "identity_verified": false},
		{},
		{"mfa_verified": true},
		{"verification_id": "V-1"},
	] {
		fixtures.silent(name, {"tool_type": "summarize_thread", "arguments": arguments})
	}
}
