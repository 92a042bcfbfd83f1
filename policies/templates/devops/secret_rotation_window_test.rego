package gate.templates.secret_rotation_window_test

import rego.v1

import data.gate.templates.fixtures

name := "secret_rotation_window"

test_within_the_window_it_passes if {
	every arguments in [
		{"secret_id": "db"},
		{},
	] {
		fixtures.silent(name, {"tool_type": "rotate_secret", "arguments": arguments})
	}
}

test_stopping_is_refused if {
	every arguments in [
		{},
	] {
		fixtures.denies(name, {"tool_type": "cancel_rotate_secret", "arguments": arguments})
	}
}

test_switching_it_off_is_refused if {
	every arguments in [
		{"rotation_enabled": "false"},
		{"options": {"AutoRotate": false}},
	] {
		fixtures.denies(name, {"tool_type": "update_secret", "arguments": arguments})
	}
}

test_outside_it_is_refused if {
	every arguments in [
		{"secret_id": "db"},
		{"env": "prod"},
		{"incident_id": "none"},
	] {
		fixtures.denies(name, {"tool_type": "rotate_secret", "arguments": arguments}) with data.gate.secret_rotation_window as {"window": {"weekdays": ["Sunday"], "from_hour": 1, "to_hour": 2}}
	}
}

test_an_incident_waits if {
	every arguments in [
		{"incident_id": "INC-9"},
	] {
		fixtures.asks(name, {"tool_type": "rotate_secret", "arguments": arguments}) with data.gate.secret_rotation_window as {"window": {"weekdays": ["Sunday"], "from_hour": 1, "to_hour": 2}}
	}
}

test_other_environments_have_no_window if {
	every arguments in [
		{"env": "dev"},
	] {
		fixtures.silent(name, {"tool_type": "rotate_secret", "arguments": arguments}) with data.gate.secret_rotation_window as {"window": {"weekdays": ["Sunday"], "from_hour": 1, "to_hour": 2}}
	}
}

test_another_tool_is_let_through if {
	every arguments in [
		{},
		{"rotation_enabled": "false"},
		{"options": {"AutoRotate": false}},
	] {
		fixtures.silent(name, {"tool_type": "summarize_thread", "arguments": arguments})
	}
}
