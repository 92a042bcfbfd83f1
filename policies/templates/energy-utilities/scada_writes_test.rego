package gate.templates.scada_writes_test

import rego.v1

import data.gate.templates.fixtures

name := "scada_writes"

test_no_order_no_command if {
	every arguments in [
		{},
		{"switching_order": "-"},
		{"point": "X", "work_order": false},
	] {
		fixtures.denies(name, {"tool_type": "dnp3.operate", "arguments": arguments})
	}
}

test_orders_wait if {
	every arguments in [
		{"work_order": "W-1"},
		{"context": {"switchingOrderId": 7}},
	] {
		fixtures.asks(name, {"tool_type": "breakerClose", "arguments": arguments})
	}
}

test_a_mode_that_is_not_only_harmless_is_real if {
	every arguments in [
		{"mode": "simulator", "environment": "prod"},
		{"mode": ""},
	] {
		fixtures.denies(name, {"tool_type": "scada_write", "arguments": arguments})
	}
}

test_simulators_run if fixtures.silent(name, {"tool_type": "scada_write", "arguments": {"mode": "SIM"}})

test_protection_words_are_a_parameter if fixtures.denies(name, {"tool_type": "scada_write", "arguments": {"tag": "governor", "work_order": "W-1"}}) with data.gate.scada_writes as {"protection_words": ["governor"]}
