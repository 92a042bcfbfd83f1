package gate.templates.litigation_hold_release_test

import rego.v1

import data.gate.templates.fixtures

name := "litigation_hold_release"

test_both_are_asked if {
	every arguments in [
		{},
		{"release_order": "O-1"},
		{"matter_status": "closed", "release_order": "none"},
		{"release_order": "O-1", "matter_status": "nearly closed"},
	] {
		fixtures.denies(name, {"tool_type": "legalHold.end", "arguments": arguments})
	}
}

test_an_ordered_release_waits if fixtures.asks(name, {"tool_type": "suspend_litigation_hold", "arguments": {"release_memo": "m.pdf", "case_status": "Dismissed"}})

test_statuses_are_a_parameter if fixtures.asks(name, {"tool_type": "release_legal_hold", "arguments": {"release_order": "O-1", "matter_status": "erledigt"}}) with data.gate.litigation_hold_release as {"closed_statuses": ["erledigt"]}
