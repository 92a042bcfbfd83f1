# What the tests of templates share: an ordinary call in the middle of a working day, and what one template says of a call that differs from it.
package gate.templates.fixtures

import rego.v1

import data.gate.authz

ordinary := {
	"tool_type": "list_files",
	"agent_history": {"last_tool": null, "recent_sequence": []},
	"intent_score": 0.1,
	"agent_id": "acme/files-bot",
	"agent_kind": "mcp",
	"method": "call_tool",
	"current_time": "2026-11-18T10:00:00.000Z",
	"recent_request_count": 1,
	"arguments": {},
}

said(template, change) := result if {
	call := object.union(ordinary, change)
	result := {
		"deny": of(template, "Violation: ", denials),
		"review": of(template, "Review: ", reviews),
	} with input as object.union(call, {"watched_by": watched_by(call.tool_type)})
}

# As the engine does it: the name is the only input, and hundreds of policies are asked once for all calls of a test.
watched_by(tool) := {name: true | some name in watches} if watches := authz.watches with input as {"tool_type": tool}

denials := authz.deny

reviews := authz.review

of(template, kind, reasons) := {reason |
	some reason in reasons
	startswith(reason, concat("", [kind, template, ": "]))
}

# The template refuses the call, and may ask about it too.
denies(template, change) if count(said(template, change).deny) > 0

# It asks a person, and refuses nothing.
asks(template, change) if {
	count(said(template, change).deny) == 0
	count(said(template, change).review) > 0
}

silent(template, change) if said(template, change) == {"deny": set(), "review": set()}
