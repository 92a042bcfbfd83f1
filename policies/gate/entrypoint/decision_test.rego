package gate.entrypoint_test

import rego.v1

import data.gate.entrypoint

parts := {"allow", "deny", "review", "retention_class", "approval_tier", "unknown_tool", "budget_exceeded", "event"}

test_the_decision_is_whole_for_any_object if {
	every document in [{}, {"tool_type": 7}, {"tool_type": "list_files", "intent_score": "x"}] {
		decision := entrypoint.decision with input as document
		object.keys(decision) == parts
		not decision.allow
		count(decision.deny) > 0
	}
}

# No decision at all is a deny for the engine.
test_what_is_no_object_gets_no_decision if {
	every document in [[], "text", null] {
		not entrypoint.decision with input as document
	}
}
