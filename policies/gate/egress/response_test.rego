package gate.egress_test

import rego.v1

import data.gate.egress

asked(question, responses) := answer if {
	answer := {"actions": egress.actions, "default_action": egress.default_action} with input as question
		with data.gate.responses as responses
}

responses := {
	"default_action": "deny",
	"entity_actions": {"EMAIL": "allow", "SSN": "sanitize"},
	"tool_actions": {"read_mail": {"SSN": "allow"}},
}

test_each_class_has_its_action if {
	asked({"entities": ["EMAIL", "SSN"], "tool_type": "x"}, responses).actions == {"EMAIL": "allow", "SSN": "sanitize"}
}

test_a_tool_may_have_its_own if {
	asked({"entities": ["SSN"], "tool_type": "read_mail"}, responses).actions == {"SSN": "allow"}
	asked({"entities": ["EMAIL"], "tool_type": "read_mail"}, responses).actions == {"EMAIL": "allow"}
}

test_what_nobody_named_is_denied if {
	asked({"entities": ["NEW"], "tool_type": "x"}, responses).actions == {"NEW": "deny"}
	asked({"entities": ["NEW"]}, {}) == {"actions": {"NEW": "deny"}, "default_action": "deny"}
}

test_a_word_that_is_no_action_is_a_deny if {
	wrong := {"default_action": "perhaps", "entity_actions": {"SSN": "pend"}, "tool_actions": {"x": {"EMAIL": 7}}}
	asked({"entities": ["SSN", "EMAIL", "NEW"], "tool_type": "x"}, wrong) == {
		"actions": {"SSN": "deny", "EMAIL": "deny", "NEW": "deny"},
		"default_action": "deny",
	}
}

test_no_classes_no_actions if {
	asked({"entities": []}, responses).actions == {}
}
