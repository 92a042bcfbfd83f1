package gate.templates.prompt_injection_test

import rego.v1

import data.gate.templates.fixtures

name := "prompt_injection"

test_a_high_score_is_refused_on_any_tool if {
	every tool in ["list_files", "send_email", "ping"] {
		fixtures.denies(name, {"tool_type": tool, "intent_score": 0.15})
		fixtures.denies(name, {"tool_type": tool, "intent_score": null})
		fixtures.silent(name, {"tool_type": tool, "intent_score": 0.149})
	}
	fixtures.silent(name, {"intent_score": 0.18}) with data.gate.prompt_injection as {"intent_from": 0.19}
}

test_a_suspicion_is_refused_where_the_tool_acts if {
	suspected := {"tool_type": "create_issue", "injection_suspicions": ["override"]}
	fixtures.denies(name, suspected)
	fixtures.silent(name, suspected) with data.gate.prompt_injection as {"deny_suspicions": false}
	fixtures.silent(name, object.union(suspected, {"names_say": {"create_issue": {"plainly_reads": true}}}))
	fixtures.silent(name, object.union(suspected, {"injection_suspicions": []}))
	fixtures.denies(name, object.union(suspected, {"injection_suspicions": "x"}))
}
