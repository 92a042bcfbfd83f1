package gate.forensic_test

import rego.v1

import data.gate.forensic

test_the_event_names_the_tool_and_every_reason if {
	event := forensic.event with input as {
		"tool_type": "delete_file",
		"agent_history": {"last_tool": null, "recent_sequence": []},
		"intent_score": 0.1,
		"arguments": {"path": "secret"},
		"force_hil": true,
		"sql": {"worst": "read", "found": [{"effect": "read", "kind": "SELECT", "form": "statement", "path": ["path"]}], "more": false, "other": []},
		"shell": {"worst": "changes", "found": []},
		"money": {"amounts": [], "payees": []},
	}
	event.tool_type == "delete_file"
	count(event.reasons) == 1
	count(event.review_reasons) == 1
	event.sql == "read"
	event.shell == "changes"
	object.keys(event) == {"tool_type", "reasons", "review_reasons", "sql", "shell"}
}

test_an_empty_input_has_an_event_too if {
	event := forensic.event with input as {}
	event.tool_type == null
	count(event.reasons) > 0
}
