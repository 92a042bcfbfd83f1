package gate.templates.treasury_large_movement_test

import rego.v1

import data.gate.templates.fixtures

name := "treasury_large_movement"

test_large_and_late_is_refused if {
	every arguments in [
		{"amount": 250001, "to_account": "a"},
		{"amount": "1m", "to_account": "a"},
	] {
		fixtures.denies(name, object.union({"tool_type": "treasury.transferFunds", "arguments": arguments}, {"current_time": "2026-11-22T10:00:00Z"}))
	}
}

test_large_waits if {
	every arguments in [
		{"amount": 250001, "to_account": "a"},
		{"legs": [{"notional": "900,000", "counterparty": "Bank A"}]},
	] {
		fixtures.asks(name, {"tool_type": "treasury_transfer", "arguments": arguments})
	}
}

test_large_names_its_destination if {
	every arguments in [
		{"amount": 250001},
		{"amount": 250001, "to_account": "tbd"},
		{},
	] {
		fixtures.denies(name, {"tool_type": "treasury_transfer", "arguments": arguments})
	}
}

test_small_runs if {
	every arguments in [
		{"amount": 250000},
		{"amount": "100.00"},
	] {
		fixtures.silent(name, {"tool_type": "treasury_transfer", "arguments": arguments})
	}
}

test_destinations_are_a_list if {
	every arguments in [
		{"amount": 5, "to_account": "acct-9"},
		{"amount": 5},
	] {
		fixtures.denies(name, {"tool_type": "treasury_transfer", "arguments": arguments}) with data.gate.treasury_large_movement as {"known_destinations": ["concentration-1"]}
	}
}

test_a_known_destination_runs if fixtures.silent(name, {"tool_type": "treasury_transfer", "arguments": {"amount": 5, "to_account": "concentration-1"}}) with data.gate.treasury_large_movement as {"known_destinations": ["concentration-1"]}
