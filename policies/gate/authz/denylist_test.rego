package gate.authz_test

import rego.v1

test_raw_sql_is_denied if {
	denied({"tool_type": "sql_execute"}, "SQL")
	denied({"tool_type": "executeSql"}, "SQL")
}

test_shells_are_denied if {
	denied({"tool_type": "shell_exec"}, "shell")
	denied({"tool_type": "bash"}, "shell")
}

test_near_misses_pass if {
	passes({"tool_type": "execute_workflow"})
	passes({"tool_type": "sql_lint"})
}
