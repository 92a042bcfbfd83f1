package gate.templates.support_velocity_test

import rego.v1

import data.gate.templates.fixtures

name := "support_velocity"

test_the_first_passes if {
	every arguments in [
		{},
	] {
		fixtures.silent(name, {"tool_type": "unlock_account", "arguments": arguments})
	}
}

test_reading_passes if {
	every arguments in [
		{},
	] {
		fixtures.silent(name, {"tool_type": "get_password_reset_status", "arguments": arguments})
	}
}

doing(count_before, tool, age_ms) := {
	"tool_type": "reset_password",
	"current_time": "2026-11-18T10:00:00Z",
	"agent_history": {"last_tool": tool, "recent_sequence": [{"tool": tool, "ts_ms": 1794996000000 - age_ms} | some _ in numbers.range(1, count_before)]},
}

test_some_pass if fixtures.silent(name, doing(3, "unlock_account", 60000))

test_more_wait if {
	fixtures.asks(name, doing(4, "unlock_account", 60000))
	fixtures.asks(name, doing(9, "UnlockAccount", 600000))
	fixtures.asks(name, doing(4, "unlock_account", -5000))
}

test_many_are_refused if fixtures.denies(name, doing(10, "reset_password", 60000))

test_old_ones_and_other_work_do_not_count if {
	fixtures.silent(name, doing(10, "unlock_account", 600001))
	fixtures.silent(name, doing(10, "add_ticket_note", 60000))
}

test_another_tool_is_let_through if fixtures.silent(name, object.union(doing(10, "reset_password", 60000), {"tool_type": "summarize_thread", "current_time": "today"}))

test_without_a_time_nobody_knows if fixtures.asks(name, object.union(doing(1, "unlock_account", 0), {"current_time": "today"}))

test_how_many_is_a_parameter if fixtures.denies(name, doing(4, "unlock_account", 60000)) with data.gate.support_velocity as {"deny_from": 4}
