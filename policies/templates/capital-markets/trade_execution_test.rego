package gate.templates.trade_execution_test

import rego.v1

import data.gate.templates.fixtures

name := "trade_execution"

test_what_is_not_said_is_refused if {
	every arguments in [
		{"symbol": "X"},
		{"symbol": "X", "quantity": "all", "limit_price": 1},
		{"symbol": "X", "limit_price": 1},
		{"legs": [{"optionSymbol": "X", "contracts": 5000}], "limit_price": 1},
		{"symbol": "X", "quantity": 1, "price": "market"},
	] {
		fixtures.denies(name, {"tool_type": "place_order", "arguments": arguments})
	}
}

test_notional_has_its_own_limit if fixtures.denies(name, {"tool_type": "trade_execute", "arguments": {"isin": "X", "quantity": 1, "notional": 50001, "limit_price": 1}})

test_orders_wait if {
	every arguments in [
		{"isin": "X", "quantity": 1000, "limit_price": 1},
		{"isin": "X", "notional": "USD 50,000", "limit_price": 1},
	] {
		fixtures.asks(name, {"tool_type": "executeTrade", "arguments": arguments})
	}
}

test_without_an_instrument_it_is_another_order if fixtures.silent(name, {"tool_type": "place_order", "arguments": {"sku": "x", "quantity": 5000}})

test_the_restricted_list_is_a_parameter if fixtures.denies(name, {"tool_type": "place_order", "arguments": {"symbol": "gme", "quantity": 1, "limit_price": 1}}) with data.gate.trade_execution as {"restricted": ["GME"]}
