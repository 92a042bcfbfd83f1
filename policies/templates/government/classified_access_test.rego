package gate.templates.classified_access_test

import rego.v1

import data.gate.templates.fixtures

name := "classified_access"

test_no_need_no_access if {
	every arguments in [
		{"marking": ["U", "Secret"]},
		{"caveat": "NOFORN"},
		{"compartment": "SAP-x", "tasking": ""},
	] {
		fixtures.denies(name, {"tool_type": "documents.read", "arguments": arguments})
	}
}

test_needs_wait if fixtures.asks(name, {"tool_type": "readDocument", "arguments": {"classification": "top secret", "ntk": "J2 request 7"}})

test_banners_are_stopped_anywhere if {
	every arguments in [
		{"blocks": [{"text": "Top Secret//SI"}]},
		{"text": "{\"a\": \"x//noforn\"}"},
	] {
		fixtures.denies(name, {"tool_type": "slack_post", "arguments": arguments})
	}
}

test_banners_are_a_parameter if fixtures.denies(name, {"tool_type": "send_email", "arguments": {"body": "VS-NfD x"}}) with data.gate.classified_access as {"banners": ["VS-NFD"]}
