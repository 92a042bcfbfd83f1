package gate.templates.account_freeze_lift_test

import rego.v1

import data.gate.templates.fixtures

name := "account_freeze_lift"

test_freezes_by_law_stay if {
	every arguments in [
		{"case_id": "C-1", "freeze_reason": "court order"},
		{"case_id": "C-1", "options": {"RestrictionCode": "AML-REVIEW"}},
	] {
		fixtures.denies(name, {"tool_type": "lift_freeze", "arguments": arguments})
	}
}

test_no_case_no_release if {
	every arguments in [
		{},
		{"case_id": "-"},
		{"case_id": "", "freeze_reason": "dormant"},
	] {
		fixtures.denies(name, {"tool_type": "removeAccountHold", "arguments": arguments})
	}
}

test_others_wait if {
	every arguments in [
		{"case_id": "C-1"},
		{"case_id": "C-1", "freeze_reason": "dormant"},
	] {
		fixtures.asks(name, {"tool_type": "unfreezeAccount", "arguments": arguments})
	}
}

test_freezes_of_code_are_not_meant if fixtures.silent(name, {"tool_type": "lift_code_freeze", "arguments": {"freeze_reason": "court order"}})

test_words_are_a_parameter if fixtures.denies(name, {"tool_type": "unfreeze_account", "arguments": {"case_id": "C-1", "freeze_reason": "dormant"}}) with data.gate.account_freeze_lift as {"never": ["dormant"]}
