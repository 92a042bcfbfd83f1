package gate.templates.siem_alert_mute_test

import rego.v1

import data.gate.templates.fixtures

name := "siem_alert_mute"

test_detection_is_not_switched_off if {
	every arguments in [
		{"rule": "r-1"},
		{},
	] {
		fixtures.denies(name, {"tool_type": "disable_detection_rule", "arguments": arguments})
	}
}

test_nor_by_an_update if {
	every arguments in [
		{"enabled": false},
		{"changes": [{"Enabled": "no"}]},
	] {
		fixtures.denies(name, {"tool_type": "update_detection_rule", "arguments": arguments})
	}
}

test_a_mute_has_an_end_and_a_scope if {
	every arguments in [
		{"alert_id": "a"},
		{"alert_id": "a", "duration_minutes": 10000},
		{"duration_minutes": 30},
		{"matchers": ".*", "duration_minutes": 30, "ticket": "T-1"},
		{"alert_id": "a", "duration_minutes": "60m"},
	] {
		fixtures.denies(name, {"tool_type": "mute_alert", "arguments": arguments})
	}
}

test_grave_ones_wait if {
	every arguments in [
		{"alert_id": "a", "duration_minutes": 30},
		{"alert_id": "a", "duration_minutes": 30, "ticket": "T-1", "severity": "critical"},
	] {
		fixtures.asks(name, {"tool_type": "mute_alert", "arguments": arguments})
	}
}

test_a_bounded_mute_passes if {
	every arguments in [
		{"alert_id": "a", "duration_minutes": "30", "ticket": "T-1"},
	] {
		fixtures.silent(name, {"tool_type": "mute_alert", "arguments": arguments})
	}
}

test_other_updates_pass if {
	every arguments in [
		{"threshold": 5},
		{"enabled": true},
	] {
		fixtures.silent(name, {"tool_type": "update_detection_rule", "arguments": arguments})
	}
}

test_minutes_are_a_parameter if {
	every arguments in [
		{"alert_id": "a", "duration_minutes": 600, "ticket": "T-1"},
	] {
		fixtures.silent(name, {"tool_type": "mute_alert", "arguments": arguments}) with data.gate.siem_alert_mute as {"at_most_minutes": 600}
	}
}

test_another_tool_is_let_through if {
	every arguments in [
		{"rule": "r-1"},
		{},
		{"enabled": false},
		{"changes": [{"Enabled": "no"}]},
		{"alert_id": "a"},
		{"alert_id": "a", "duration_minutes": 10000},
		{"duration_minutes": 30},
		{"matchers": ".*", "duration_minutes": 30, "ticket": "T-1"},
		{"alert_id": "a", "duration_minutes": "60m"},
		{"alert_id": "a", "duration_minutes": 30},
		{"alert_id": "a", "duration_minutes": 30, "ticket": "T-1", "severity": "critical"},
	] {
		fixtures.silent(name, {"tool_type": "summarize_thread", "arguments": arguments})
	}
}
