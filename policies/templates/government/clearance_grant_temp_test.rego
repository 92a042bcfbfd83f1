package gate.templates.clearance_grant_temp_test

import rego.v1

import data.gate.templates.fixtures

name := "clearance_grant_temp"

test_nothing_said_nothing_granted if {
	every arguments in [
		{},
		{"investigation_id": "I"},
		{"investigation_id": "I", "valid_days": "many", "expires_at": "2027-01-01"},
		{"end_date": "2027-01-01", "case_number": "-"},
	] {
		fixtures.denies(name, {"tool_type": "clearance_upgrade", "arguments": arguments})
	}
}

test_with_both_it_waits if {
	every arguments in [
		{"adjudication": "A", "ends_at": "2027-01-01"},
		{"case": {"CaseNumber": "1", "validDays": 30}},
	] {
		fixtures.asks(name, {"tool_type": "grantClearance", "arguments": arguments})
	}
}

test_other_clearances_are_not_meant if fixtures.silent(name, {"tool_type": "grant_flight_clearance", "arguments": {}})

test_days_are_a_parameter if fixtures.denies(name, {"tool_type": "grant_clearance", "arguments": {"adjudication": "A", "valid_days": 60}}) with data.gate.clearance_grant_temp as {"most_days": 30}
