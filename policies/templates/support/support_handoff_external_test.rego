package gate.templates.support_handoff_external_test

import rego.v1

import data.gate.templates.fixtures

name := "support_handoff_external"

test_secrets_stay if {
	every arguments in [
		{"url": "https://x.example", "notes": [{"API-Key": "k"}]},
		{"email": "a@b.example", "fullHistory": "all"},
	] {
		fixtures.denies(name, {"tool_type": "tickets.share", "arguments": arguments})
	}
}

test_outside_waits if {
	every arguments in [
		{"third_party": "x"},
		{"to": "a@b.example", "include_history": false},
	] {
		fixtures.asks(name, {"tool_type": "handoffToAgent", "arguments": arguments})
	}
}

test_known_desks_are_inside if {
	every arguments in [
		{"to": "a@desk.example", "include_history": true},
		{"partner": "Desk AG", "password": "x"},
	] {
		fixtures.silent(name, {"tool_type": "share_ticket", "arguments": arguments}) with data.gate.support_handoff_external as {"known_domains": ["desk.example"], "known_partners": ["desk_ag"]}
	}
}

test_one_outsider_is_enough if fixtures.denies(name, {"tool_type": "share_ticket", "arguments": {"to": ["a@desk.example", "b@x.example"], "include_history": true}}) with data.gate.support_handoff_external as {"known_domains": ["desk.example"]}
