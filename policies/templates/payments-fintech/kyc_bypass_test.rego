package gate.templates.kyc_bypass_test

import rego.v1

import data.gate.templates.fixtures

name := "kyc_bypass"

test_switches_count_unless_off if {
	every arguments in [
		{"skip_kyc": "yes"},
		{"flags": [{"bypass-aml": 1}]},
		{"force_approve": "sure"},
	] {
		fixtures.denies(name, {"tool_type": "createAccount", "arguments": arguments})
	}
}

test_passed_is_whatever_is_not_open if {
	every arguments in [
		{"kyc_status": "PASSED"},
		{"kyc_verified": true},
		{"result": {"kycLevel": 2}},
		{"kyc_status": "approved", "check_id": "n/a"},
	] {
		fixtures.denies(name, {"tool_type": "kyc.update", "arguments": arguments})
	}
}

test_open_states_and_reports_run if {
	every arguments in [
		{"kyc_status": "Pending"},
		{"kyc_verified": false},
		{"kyc_status": "clear", "report_id": "r1"},
		{"skip_kyc": false},
		{},
	] {
		fixtures.silent(name, {"tool_type": "kyc_update", "arguments": arguments})
	}
}

test_reads_run if fixtures.silent(name, {"tool_type": "list_kyc_overrides", "arguments": {}})

test_approving_by_tool_needs_the_report_too if fixtures.denies(name, {"tool_type": "approve_kyc", "arguments": {"kyc_status": "approved"}})
