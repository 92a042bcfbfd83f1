package gate.lib_test

import rego.v1

import data.gate.lib

test_what_the_engine_found_out_counts if {
	lib.watched == {"a": true} with input as {"watched_by": {"a": true}}
	lib.watched == {} with input as {"watched_by": {}}
	lib.watched == {"b": true} with input as {} with data.gate.authz.watches as {"b"}
}

test_a_read_changes_nothing if {
	lib.tool_is(["issue_refund"]) with input as {"tool_type": "get_issue_refund"}
	not lib.tool_changes(["issue_refund"]) with input as {"tool_type": "get_issue_refund"}
	lib.tool_changes(["issue_refund"]) with input as {"tool_type": "issueRefunds"}
}

test_hours if {
	hours := {"from_hour": 9, "to_hour": 17, "weekdays": ["Wednesday"], "utc_offset_minutes": -300}
	lib.between(hours) with input as {"current_time": "2026-11-18T14:00:00Z"}
	not lib.between(hours) with input as {"current_time": "2026-11-18T13:59:59Z"}
	not lib.between(hours) with input as {"current_time": "2026-11-19T14:00:00Z"}
	not lib.between(hours) with input as {"current_time": "x"}
}
