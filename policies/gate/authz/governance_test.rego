package gate.authz_test

import rego.v1

import data.gate.authz

test_an_ordinary_call_passes if passes({})

test_an_empty_input_is_denied if {
	not authz.allow with input as {}
	count(authz.deny) > 0 with input as {}
}

test_each_required_field_is_required if {
	every field in ["tool_type", "agent_history", "intent_score"] {
		partial := object.remove(ordinary, [field])
		not authz.allow with input as partial
		some reason in authz.deny with input as partial
		contains(reason, "incomplete")
	}
}

test_a_field_of_the_wrong_type_is_denied if {
	denied({"tool_type": 7}, "incomplete")
	denied({"tool_type": ""}, "incomplete")
	denied({"intent_score": "0.1"}, "incomplete")
	denied({"agent_history": {"last_tool": null, "recent_sequence": {}}}, "incomplete")
}

test_a_missing_list_closes_the_gate if {
	some reason in authz.deny with input as ordinary with data.gate.money as {}
	contains(reason, "data is incomplete")
}

test_a_missing_number_closes_the_gate if {
	some reason in authz.deny with input as ordinary with data.gate.intent as {}
	contains(reason, "data is incomplete")
}

test_retention_is_longer_for_what_did_not_pass if {
	authz.retention_class == "standard" with input as ordinary
	authz.retention_class == "extended" with input as object.union(ordinary, {"tool_type": "delete_file"})
	authz.retention_class == "extended" with input as object.union(ordinary, {"tool_type": "wire_transfer"})
}

test_approval_tiers if {
	authz.approval_tier == "standard" with input as ordinary
	authz.approval_tier == "strict" with input as object.union(ordinary, {"tool_type": "prod_release"})
	authz.approval_tier == "standard" with input as object.union(ordinary, {"tool_type": "payment_test_replay"})
}

replayed(class, more) := object.union(
	object.union(ordinary, {"tool_type": "test_replay", "tool_classes": {"test_replay": {"class": class}}}),
	more,
)

test_a_rule_decides_what_the_data_leaves_to_it if {
	authz.approval_tier == "auto" with input as replayed("change", {})
	authz.approval_tier == "auto" with input as replayed("change", {"agent_kind": "mcp"})
}

test_a_rule_decides_nothing_that_something_else_speaks_against if {
	authz.approval_tier == "standard" with input as replayed("review", {})
	authz.approval_tier == "strict" with input as replayed("strict", {})
	authz.approval_tier == "standard" with input as object.union(ordinary, {"tool_type": "test_replay"})
	authz.approval_tier == "standard" with input as replayed("change", {"injection_suspicions": ["instruction_override"]})
}

test_a_rule_decides_nothing_about_a_name_that_only_looks_like_it if {
	every name in ["testReplay", "test-Replay", "TEST_REPLAY", "test_replay2"] {
		authz.approval_tier == "standard" with input as object.union(ordinary, {"tool_type": name, "tool_classes": {name: {"class": "change"}}})
	}
}

test_without_a_list_of_reasons_no_reason_is_left_to_a_rule if {
	authz.approval_tier == "standard" with input as object.union(ordinary, {"tool_type": "test_replay"})
		with data.gate.approval as {"strict_tools": [], "auto_tools": ["test_replay"]}
}
