package gate.authz_test

import rego.v1

granted(scope, yellow) := {"grant": {"act_sub": "user:ada", "idp": "corp", "scope": scope, "yellow_scope": yellow}}

test_a_tool_of_the_scope_is_judged_by_the_other_rules if {
	passes(object.union({"tool_type": "list_files"}, granted(["tool:list_files"], [])))
	passes(object.union({"tool_type": "List_Files"}, granted(["tool:list_files"], ["yellow:list_files"])))
}

test_a_tool_of_the_yellow_scope_waits if {
	parked(object.union({"tool_type": "list_files"}, granted([], ["yellow:list_files"])), "yellow_scope")
	parked(object.union({"tool_type": "list_files"}, granted(["tool:list_file", "list_files"], [])), "yellow_scope")
}

test_a_grant_that_cannot_be_read_waits if {
	parked({"tool_type": "list_files", "grant": {}}, "yellow_scope")
	parked({"tool_type": "list_files", "grant": "tool:list_files"}, "yellow_scope")
	parked({"tool_type": "list_files", "grant": {"scope": "tool:list_files"}}, "yellow_scope")
}

test_without_a_grant_nothing_is_said if {
	passes({"tool_type": "list_files"})
	passes({"tool_type": "list_files", "grant": null})
}
