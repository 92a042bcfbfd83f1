package gate.authz_test

import rego.v1

found(effect, form, path) := {"worst": effect, "more": false, "found": [{"effect": effect, "kind": "TEST", "form": form, "path": path}]}

test_a_plain_read_passes if {
	every tool in ["query_database", "read_query", "get_row"] {
		passes({"tool_type": tool, "sql": found("read", "statement", ["sql"])})
	}
}

test_destructive_statements_are_denied if {
	every form in ["statement", "phrase", "mention", "prose"] {
		denied({"tool_type": "query_database", "sql": found("destructive", form, ["q"])}, "SQL statement in the arguments: TEST.")
		denied({"tool_type": "get_row", "sql": found("destructive", form, ["filter", "Sql"])}, "SQL statement in the arguments: TEST.")
	}
	denied({"tool_type": "get_row", "sql": found("destructive", "statement", ["filter"])}, "SQL statement")
}

test_what_is_no_plain_read_waits if {
	every effect in ["change", "unreadable", "session"] {
		parked({"tool_type": "query_database", "sql": found(effect, "statement", ["anything"])}, "not one plain read: TEST.")
	}
	every effect in ["change", "unreadable"] {
		parked({"tool_type": "get_row", "sql": found(effect, "statement", ["filter"])}, "not one plain read")
	}
	parked({"tool_type": "get_row", "sql": found("destructive", "phrase", ["filter"])}, "not one plain read")
}

test_english_passes_where_no_statement_belongs if {
	passes({"tool_type": "get_row", "sql": found("session", "statement", ["action"])})
	passes({"tool_type": "get_row", "sql": found("destructive", "prose", ["action"])})
	passes({"tool_type": "get_row", "sql": found("unreadable", "mention", ["action"])})
}

test_text_on_its_way_to_a_reader_passes if {
	passes({"tool_type": "search_docs", "sql": found("destructive", "statement", ["query"])})
	denied({"tool_type": "search_docs", "sql": found("destructive", "statement", ["filter"])}, "SQL statement")
	denied({"tool_type": "search_query_docs", "sql": found("destructive", "statement", ["query"])}, "SQL statement")
	denied({"tool_type": "get_file", "sql": found("destructive", "statement", ["content"])}, "SQL statement")
}

test_what_nobody_can_read_waits_where_only_sql_belongs if {
	parked({"tool_type": "query_mysql", "sql": found("text", "statement", ["query"])}, "cannot be read")
	parked({"tool_type": "query_docs", "sql": found("text", "statement", ["sql"])}, "cannot be read")
	passes({"tool_type": "query_docs", "sql": found("text", "statement", ["query"])})
}

test_nobody_looked if {
	not verdict({"sql": null}).allow
	parked({"sql": {"worst": "read", "found": [], "more": true}}, "more SQL than is listed")
}
