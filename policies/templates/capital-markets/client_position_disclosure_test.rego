package gate.templates.client_position_disclosure_test

import rego.v1

import data.gate.templates.fixtures

name := "client_position_disclosure"

test_data_is_found_anywhere if {
	every arguments in [
		{"channel": "#x", "blocks": [{"Holdings": ["AAPL"]}]},
		{"channel": "#x", "text": "{\"client-positions\": {\"AAPL\": 5}}"},
	] {
		fixtures.denies(name, {"tool_type": "slack.postMessage", "arguments": arguments})
	}
}

test_a_position_of_something_else_is_none if fixtures.silent(name, {"tool_type": "send_email", "arguments": {"to": "a@b.example", "position": "Developer"}})

test_texts_wait if fixtures.asks(name, {"tool_type": "send_email", "arguments": {"to": "a@b.example", "body": "the client's position in AAPL"}})

test_inside_it_may_go if {
	every arguments in [
		{"to": "risk@acme.example", "holdings": ["AAPL"]},
		{"to": ["risk@acme.example", "x@ops.acme.example"], "subject": "client positions"},
	] {
		fixtures.silent(name, {"tool_type": "send_email", "arguments": arguments}) with data.gate.client_position_disclosure as {"internal_domains": ["acme.example"]}
	}
}

test_one_outsider_is_enough if fixtures.denies(name, {"tool_type": "send_email", "arguments": {"to": "risk@acme.example", "cc": "x@y.example", "holdings": ["AAPL"]}}) with data.gate.client_position_disclosure as {"internal_domains": ["acme.example"]}
