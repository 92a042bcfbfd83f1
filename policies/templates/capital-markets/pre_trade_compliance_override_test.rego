package gate.templates.pre_trade_compliance_override_test

import rego.v1

import data.gate.templates.fixtures

name := "pre_trade_compliance_override"

test_overrides_are_refused_in_any_spelling if {
	every arguments in [
		{},
		{"reason": "x"},
	] {
		fixtures.denies(name, {"tool_type": "preTradeCheck.bypass", "arguments": arguments})
	}
}

test_switches_count_unless_off if {
	every arguments in [
		{"skip_risk_check": "1"},
		{"options": [{"BypassCompliance": "please"}]},
	] {
		fixtures.denies(name, {"tool_type": "place_order", "arguments": arguments})
	}
}

test_off_is_off if {
	every arguments in [
		{"skip_compliance": false},
		{"skip_compliance": "no"},
		{},
	] {
		fixtures.silent(name, {"tool_type": "place_order", "arguments": arguments})
	}
}

test_limits_wait if fixtures.asks(name, {"tool_type": "set_trading_limits", "arguments": {}})

test_fields_are_a_parameter if fixtures.denies(name, {"tool_type": "place_order", "arguments": {"no_checks": true}}) with data.gate.pre_trade_compliance_override as {"skip_fields": ["no_checks"]}
