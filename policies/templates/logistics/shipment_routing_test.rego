package gate.templates.shipment_routing_test

import rego.v1

import data.gate.templates.fixtures

name := "shipment_routing"

test_no_word_no_change if {
	every arguments in [
		{},
		{"shipper_authorization": "tbd"},
	] {
		fixtures.denies(name, {"tool_type": "package-redirect", "arguments": arguments})
	}
}

test_codes_are_found if fixtures.denies(name, {"tool_type": "divertCargo", "arguments": {"release_order": "R", "legs": [{"Country-Code": "cu"}]}})

test_a_word_waits if {
	every arguments in [
		{"release_order": "R"},
		{"meta": {"ShipperApproval": "ok 7"}, "hazmat": false},
	] {
		fixtures.asks(name, {"tool_type": "divertCargo", "arguments": arguments})
	}
}

test_countries_are_a_parameter if fixtures.denies(name, {"tool_type": "divertCargo", "arguments": {"release_order": "R", "country": "Atlantis"}}) with data.gate.shipment_routing as {"embargoed": ["atlantis"]}
