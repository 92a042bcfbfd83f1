package gate.templates.inference_endpoint_no_auth_test

import rego.v1

import data.gate.templates.fixtures

name := "inference_endpoint_no_auth"

test_open_ones_are_refused if {
	every arguments in [
		{"auth": "none"},
		{"type": 1, "endpoint_type": "public"},
		{"allow_unauthenticated": true},
		{"security": {"auth": false}},
		{"require_auth": "no", "auth": "key"},
		{"authentication": null},
	] {
		fixtures.denies(name, {"tool_type": "create_inference_endpoint", "arguments": arguments})
	}
}

test_unsaid_it_waits if {
	every arguments in [
		{"model": "m"},
		{"auth": "my own"},
	] {
		fixtures.asks(name, {"tool_type": "create_inference_endpoint", "arguments": arguments})
	}
}

test_known_callers_pass if {
	every arguments in [
		{"auth_mode": "AML_Token"},
		{"require_auth": true},
		{"auth": "iam", "allow_unauthenticated": false},
	] {
		fixtures.silent(name, {"tool_type": "create_inference_endpoint", "arguments": arguments})
	}
}

test_reading_passes if {
	every arguments in [
		{"auth": "none"},
	] {
		fixtures.silent(name, {"tool_type": "get_inference_endpoint", "arguments": arguments})
	}
}

test_ways_are_a_parameter if {
	every arguments in [
		{"auth": "kerberos"},
	] {
		fixtures.silent(name, {"tool_type": "serve_model", "arguments": arguments}) with data.gate.inference_endpoint_no_auth as {"known": ["kerberos"]}
	}
}

test_another_tool_is_let_through if {
	every arguments in [
		{"auth": "none"},
		{"type": 1, "endpoint_type": "public"},
		{"allow_unauthenticated": true},
		{"security": {"auth": false}},
		{"require_auth": "no", "auth": "key"},
		{"authentication": null},
		{"model": "m"},
		{"auth": "my own"},
	] {
		fixtures.silent(name, {"tool_type": "summarize_thread", "arguments": arguments})
	}
}
