package gate.templates.price_changes_test

import rego.v1

import data.gate.templates.fixtures

name := "price_changes"

test_prices_are_numbers_above_the_floor if {
	every arguments in [
		{},
		{"price": 0},
		{"price": -5},
		{"rows": [{"newPrice": 10}, {"newPrice": "0,5"}]},
	] {
		fixtures.denies(name, {"tool_type": "prices.set", "arguments": arguments})
	}
}

test_products_without_a_price_run if {
	every arguments in [
		{},
		{"title": "x"},
	] {
		fixtures.silent(name, {"tool_type": "edit_product", "arguments": arguments})
	}
}

test_discounts_are_bounded if {
	every arguments in [
		{"percentage": 51},
		{"percent": "most"},
	] {
		fixtures.denies(name, {"tool_type": "create_coupon", "arguments": arguments})
	}
}

test_many_wait if fixtures.asks(name, {"tool_type": "set_price", "arguments": {"price": 5, "options": {"StoreWide": true}}})

test_limits_are_parameters if fixtures.denies(name, {"tool_type": "set_price", "arguments": {"price": 9}}) with data.gate.price_changes as {"lowest": 10}
