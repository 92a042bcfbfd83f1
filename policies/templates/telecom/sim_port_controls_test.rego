package gate.templates.sim_port_controls_test

import rego.v1

import data.gate.templates.fixtures

name := "sim_port_controls"

test_weak_ways_are_none if {
	every arguments in [
		{},
		{"auth_method": ["pin", "sms"]},
		{"verified_by": "mother's maiden name"},
		{"customer_authenticated": true},
	] {
		fixtures.denies(name, {"tool_type": "simSwap", "arguments": arguments})
	}
}

test_locks_hold_whatever_is_said if fixtures.denies(name, {"tool_type": "reveal_port_pin", "arguments": {"auth_method": "pin", "port_freeze": true}})

test_secure_ways_wait if {
	every arguments in [
		{"auth_method": "Account PIN"},
		{"auth": {"Verification-Method": "passkey"}, "locked": false},
	] {
		fixtures.asks(name, {"tool_type": "number.portOut", "arguments": arguments})
	}
}

test_ways_are_a_parameter if fixtures.asks(name, {"tool_type": "sim_change", "arguments": {"auth_method": "eid"}}) with data.gate.sim_port_controls as {"secure_methods": ["eid"]}
