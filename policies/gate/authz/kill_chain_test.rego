package gate.authz_test

import rego.v1

sending_after(tool, age) := {
	"tool_type": "send_email",
	"agent_history": {
		"last_tool": tool,
		"recent_sequence": [{"tool": tool, "method": "call_tool", "ts_ms": now - age, "replica": "a"}],
	},
}

test_within_the_window_it_is_denied if {
	every age in [0, 1, 300000] {
		denied(sending_after("read_secret", age), "kill chain")
	}
}

test_outside_the_window_it_passes if {
	passes(sending_after("read_secret", 300001))
	passes(sending_after("read_secret", -1))
}

test_other_reads_and_other_tools_pass if {
	passes(sending_after("read_file", 0))
	passes(object.union(sending_after("read_secret", 0), {"tool_type": "write_file"}))
	passes(object.union(sending_after("read_secret", 0), {"tool_type": "list_slack_posts"}))
}

test_an_age_that_cannot_be_known_counts if {
	denied(object.union(sending_after("read_secret", 900000), {"current_time": null}), "kill chain")
	denied(
		object.union(sending_after("x", 0), {"agent_history": {
			"last_tool": "x",
			"recent_sequence": [{"tool": "read_secret"}],
		}}),
		"kill chain",
	)
}
