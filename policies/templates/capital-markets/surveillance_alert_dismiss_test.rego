package gate.templates.surveillance_alert_dismiss_test

import rego.v1

import data.gate.templates.fixtures

name := "surveillance_alert_dismiss"

test_many_in_any_shape if {
	every arguments in [
		{"alert_id": ["a", "b"], "reason": "x"},
		{"all": true, "reason": "x"},
		{"items": [{"alertId": "a"}, {"alertId": "b"}], "reason": "x"},
		{"alert_ids": "a,b", "reason": "x"},
	] {
		fixtures.denies(name, {"tool_type": "surveillanceAlert.close", "arguments": arguments})
	}
}

test_reasons_are_asked if {
	every arguments in [
		{"alert_id": "a", "reason": "n/a"},
		{},
	] {
		fixtures.denies(name, {"tool_type": "close_surveillance_alert", "arguments": arguments})
	}
}

test_one_waits if {
	every arguments in [
		{"alert_id": "a", "analysis": "x"},
		{"alert_ids": ["a"], "analysis": "x", "bulk": false},
	] {
		fixtures.asks(name, {"tool_type": "resolve_surveillance_alert", "arguments": arguments})
	}
}

test_reads_run if fixtures.silent(name, {"tool_type": "list_surveillance_alerts_closed", "arguments": {}})
