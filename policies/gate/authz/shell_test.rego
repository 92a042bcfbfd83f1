package gate.authz_test

import rego.v1

commanded(effect, path) := {"worst": effect, "found": [{"effect": effect, "kind": "TEST", "form": "command", "path": path}], "more": false}

told(effect, path) := {"worst": effect, "found": [{"effect": effect, "kind": "TEST", "form": "prose", "path": path}], "more": false}

test_a_command_waits if {
	every effect in ["changes", "takes_over"] {
		parked({"tool_type": "get_row", "shell": commanded(effect, ["filter"])}, "a shell command in the arguments: TEST.")
		parked({"tool_type": "search_docs", "shell": commanded(effect, ["filter"])}, "a shell command")
	}
}

test_the_removal_of_a_root_is_denied if denied({"tool_type": "get_row", "shell": commanded("removes_root", ["filter"])}, "TEST")

test_a_command_on_its_way_to_a_reader if {
	passes({"tool_type": "write_file", "shell": commanded("takes_over", ["content"])})
	passes({"tool_type": "search_docs", "shell": commanded("changes", ["query"])})
	parked({"tool_type": "search_docs", "shell": commanded("takes_over", ["query"])}, "a shell command")
	parked({"tool_type": "search_docs", "shell": commanded("removes_root", ["query"])}, "a shell command")
}

test_a_sentence_hides_a_command_from_nobody_but_a_search if {
	denied({"tool_type": "get_row", "shell": told("removes_root", ["filter"])}, "TEST")
	every effect in ["changes", "takes_over"] {
		parked({"tool_type": "get_row", "shell": told(effect, ["filter"])}, "a shell command")
		parked({"tool_type": "search_docs", "shell": told(effect, ["filter"])}, "a shell command")
	}
	every effect in ["changes", "takes_over", "removes_root"] {
		passes({"tool_type": "search_docs", "shell": told(effect, ["query"])})
	}
}

test_more_commands_than_are_listed if parked({"shell": {"worst": "changes", "found": [], "more": true}}, "more shell commands than are listed")

test_nobody_looked_for_commands if {
	not verdict({"shell": null}).allow
	parked({"shell": null}, "not read for shell commands")
}
