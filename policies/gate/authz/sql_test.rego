package gate.authz_test

import rego.v1

import data.gate.authz

found(effect, form, path) := {"worst": effect, "more": false, "found": [{"effect": effect, "kind": "TEST", "form": form, "path": path}], "other": []}

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
	parked({"sql": {"worst": "read", "found": [], "more": true, "other": []}}, "more SQL than is listed")
}

asked(name, path, plain) := object.union(unclassed(name), {
	"sql": {"worst": "none", "found": [], "more": false, "other": [{"path": path, "plain": plain, "role": "text"}]},
})

test_what_a_tool_that_queries_is_asked_in_another_language_waits if {
	every call in [
		asked("query", ["q"], true), asked("query", ["anything"], false), asked("redis_query", ["cmd"], true),
		asked("query_graph", ["query"], false), asked("read_neo_cypher", ["query"], false), asked("get_data", ["cypher"], false),
	] {
		not authz.allow with input as call
		some reason in authz.review with input as call
		contains(reason, "not proven")
	}
}

test_words_beside_a_query_and_words_of_a_search_run if {
	every call in [
		asked("query", ["table"], true), asked("search_docs", ["query"], false), asked("find_database", ["query"], false),
		asked("list_queries", ["name"], false), asked("list_issues", ["query"], false),
	] {
		authz.allow with input as call
	}
}

beside(name, role) := object.union(unclassed(name), {
	"sql": {"worst": "read", "found": [], "more": false, "other": [{"path": ["x"], "plain": false, "role": role}]},
})

test_values_of_a_read_and_prose_about_it_run if {
	every role in ["value", "prose"] {
		authz.allow with input as beside("query", role)
	}
	authz.allow with input as beside("redis_query", "prose")
	not authz.allow with input as beside("redis_query", "value")
	not authz.allow with input as beside("query", "text")
	not authz.allow with input as beside("query", "anything else")
}

test_the_operator_may_class_a_tool_that_queries if {
	call := object.union(asked("query", ["q"], false), {"tool_classes": {"query": {"class": "read"}}})
	authz.allow with input as call
}
