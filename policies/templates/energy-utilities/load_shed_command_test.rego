package gate.templates.load_shed_command_test

import rego.v1

import data.gate.templates.fixtures

name := "load_shed_command"

test_no_directive_no_shed if {
	every arguments in [
		{},
		{"directive": "tbd"},
		{"mode": "drill", "environment": "prod"},
	] {
		fixtures.denies(name, {"tool_type": "curtailLoad", "arguments": arguments})
	}
}

test_critical_load_stays_on if {
	every arguments in [
		{"directive": "D", "options": {"LoadClass": "water treatment"}},
		{"directive": "D", "critical": 1},
	] {
		fixtures.denies(name, {"tool_type": "open_feeder", "arguments": arguments})
	}
}

test_directives_wait if {
	every arguments in [
		{"directive": "D"},
		{"eea_level": 2, "critical_load": false},
	] {
		fixtures.asks(name, {"tool_type": "feeders.disconnect", "arguments": arguments})
	}
}

test_plans_run if fixtures.silent(name, {"tool_type": "simulate_load_shed", "arguments": {"feeder": "hospital"}})

test_words_are_a_parameter if fixtures.denies(name, {"tool_type": "load_drop", "arguments": {"directive": "D", "serves": "airport"}}) with data.gate.load_shed_command as {"critical_words": ["airport"]}
