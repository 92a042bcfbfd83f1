package gate.templates.ot_change_window_test

import rego.v1

import data.gate.templates.fixtures

name := "ot_change_window"

test_no_change_no_write if {
	every arguments in [
		{},
		{"change_id": "none"},
		{"environment": "twin", "mode": "run"},
	] {
		fixtures.denies(name, {"tool_type": "modbus_write_coils", "arguments": arguments, "current_time": "2026-11-21T10:00:00Z"})
	}
}

test_an_unread_time_is_outside if fixtures.denies(name, {"tool_type": "plcWrite", "arguments": {"change_id": "C-1"}, "current_time": "soon"})

test_both_and_it_runs if {
	every arguments in [
		{"change_id": "C-1"},
		{"job": {"workOrderId": 12}},
	] {
		fixtures.silent(name, {"tool_type": "plcWrite", "arguments": arguments, "current_time": "2026-11-22T17:59:00Z"})
	}
}

test_reads_run if fixtures.silent(name, {"tool_type": "plc_read", "arguments": {}})

test_the_window_is_a_parameter if fixtures.silent(name, {"tool_type": "plc_write", "arguments": {"moc": "M-1"}}) with data.gate.ot_change_window as {"window": {"weekdays": ["Wednesday"], "from_hour": 9, "to_hour": 11}}
