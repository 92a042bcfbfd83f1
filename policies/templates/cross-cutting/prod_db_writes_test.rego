package gate.templates.prod_db_writes_test

import rego.v1

import data.gate.templates.fixtures

name := "prod_db_writes"

writing(arguments) := {"tool_type": "db_update", "arguments": arguments}

test_without_a_reference_it_is_refused if {
	every arguments in [
		{"target_env": "prod"},
		{"options": {"environment": "Production"}},
		{"env": "eu-live-1"},
		{"env": ["staging", "prod"]},
		{"env": "prod", "change_ticket": "none"},
		{"env": "prod", "change_ticket": "approved"},
	] {
		fixtures.denies(name, writing(arguments))
	}
}

test_with_one_it_waits if {
	fixtures.asks(name, writing({"target_env": "prod", "change_ticket": "CHG-118"}))
	fixtures.denies(name, writing({"target_env": "prod", "ticket": "118"})) with data.gate.prod_db_writes as {"ticket_pattern": "^CHG-[0-9]+$"}
}

test_a_schema_keeps_to_its_window if {
	change := {"tool_type": "run_migration", "arguments": {"env": "prod", "ticket": "CHG-118"}}
	fixtures.asks(name, change)
	fixtures.denies(name, object.union(change, {"current_time": "2026-11-20T10:00:00Z"}))
	fixtures.denies(name, object.union(change, {"current_time": ""}))
}

test_other_work_passes if {
	every arguments in [{"env": "staging"}, {"env": "Dev"}, {}] {
		fixtures.silent(name, writing(arguments))
	}
	fixtures.silent(name, {"tool_type": "query_db", "arguments": {"env": "prod"}})
	fixtures.silent(name, {"tool_type": "get_db_update", "arguments": {"env": "prod"}})
}
