package gate.templates.ot_safety_interlocks_test

import rego.v1

import data.gate.templates.fixtures

name := "ot_safety_interlocks"

test_functions_stay if {
	every arguments in [
		{},
		{"approved": true},
	] {
		fixtures.denies(name, {"tool_type": "lightCurtain.mute", "arguments": arguments})
	}
}

test_points_of_safety_stay if {
	every arguments in [
		{"point": "E-Stop relay"},
		{"writes": [{"Address": "Guard_Lock_2"}]},
		{"device": "safety PLC 1"},
	] {
		fixtures.denies(name, {"tool_type": "modbus_write", "arguments": arguments})
	}
}

test_others_run if {
	every arguments in [
		{"point": "silo level"},
		{"point": "safetystock"},
		{},
	] {
		fixtures.silent(name, {"tool_type": "modbus_write", "arguments": arguments})
	}
}

test_the_twin_may_be_tried if fixtures.silent(name, {"tool_type": "bypass_interlock", "arguments": {"environment": "simulator"}})

test_words_are_a_parameter if fixtures.denies(name, {"tool_type": "plc_write", "arguments": {"tag": "Furnace.Purge"}}) with data.gate.ot_safety_interlocks as {"safety_words": ["purge"]}
