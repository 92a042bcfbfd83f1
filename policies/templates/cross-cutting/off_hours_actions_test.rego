package gate.templates.off_hours_actions_test

import rego.v1

import data.gate.templates.fixtures

name := "off_hours_actions"

at(time, tool) := {"tool_type": tool, "current_time": time}

test_outside_the_hours_it_asks if {
	every time in ["2026-11-18T17:00:00Z", "2026-11-18T08:59:59Z", "2026-11-21T12:00:00Z", "", null] {
		fixtures.asks(name, at(time, "restart_service"))
	}
}

test_in_the_hours_it_is_silent if fixtures.silent(name, at("2026-11-18T09:00:00Z", "restart_service"))

test_reads_and_small_things_pass_at_night if {
	every tool in ["list_deployments", "get_release", "restart_timer", "update_ticket", "ping"] {
		fixtures.silent(name, at("2026-11-18T23:00:00Z", tool))
	}
}

test_the_clock_is_the_operators if {
	tokyo := {"hours": {"utc_offset_minutes": 540}}
	fixtures.silent(name, at("2026-11-18T00:30:00Z", "terraform.apply")) with data.gate.off_hours_actions as tokyo
	fixtures.asks(name, at("2026-11-18T08:30:00Z", "terraform.apply")) with data.gate.off_hours_actions as tokyo
}
