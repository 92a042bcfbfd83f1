# An ordinary call of a tool that the operator classed, and what the rules say about one that differs from it. Shared by the tests of this folder.
package gate.authz_test

import rego.v1

import data.gate.authz

now := 1794996000000

ordinary := {
	"tool_type": "list_files",
	"agent_history": {"last_tool": null, "recent_sequence": []},
	"intent_score": 0.1,
	"agent_id": "acme/files-bot",
	"current_time": "2026-11-18T10:00:00Z",
	"recent_request_count": 1,
	"arguments": {},
	"sql": {"worst": "none", "found": [], "more": false, "other": []},
	"shell": {"worst": "none", "found": [], "more": false},
	"environments": [],
	"money": {"amounts": [], "payees": [], "more": false},
}

# The operator classed the tool as an ordinary change, so that only the other rules are heard.
classed_change(change) := object.union(ordinary, {"tool_classes": {name: {"class": "change"}}}) if {
	name := object.get(change, "tool_type", ordinary.tool_type)
}

verdict(change) := result if {
	call := object.union(classed_change(change), change)
	result := {"deny": authz.deny, "review": authz.review, "allow": authz.allow} with input as call
}

passes(change) if verdict(change).allow

denied(change, text) if {
	not verdict(change).allow
	some reason in verdict(change).deny
	contains(reason, text)
	startswith(reason, "Violation: ")
}

parked(change, text) if {
	not verdict(change).allow
	count(verdict(change).deny) == 0
	some reason in verdict(change).review
	contains(reason, text)
	startswith(reason, "Review: ")
}
