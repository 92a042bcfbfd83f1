package gate.templates.attorney_communication_log_delete_test

import rego.v1

import data.gate.templates.fixtures

name := "attorney_communication_log_delete"

test_destruction_is_refused_in_any_spelling if {
	every arguments in [
		{},
		{"dry_run": false},
		{"dry_run": "maybe"},
	] {
		fixtures.denies(name, {"tool_type": "communicationLog.purgeAll", "arguments": arguments})
	}
}

test_a_rehearsal_runs if fixtures.silent(name, {"tool_type": "clear_communication_log", "arguments": {"dry_run": true}})

test_hiding_waits if {
	every arguments in [
		{},
		{"matter_id": "M-1"},
	] {
		fixtures.asks(name, {"tool_type": "redact_correspondence", "arguments": arguments})
	}
}

test_tools_are_a_parameter if fixtures.denies(name, {"tool_type": "zap_letters", "arguments": {}}) with data.gate.attorney_communication_log_delete as {"destroy_tools": ["letter_zap"]}
