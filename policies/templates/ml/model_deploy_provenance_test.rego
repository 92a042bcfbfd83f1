package gate.templates.model_deploy_provenance_test

import rego.v1

import data.gate.templates.fixtures

name := "model_deploy_provenance"

test_code_is_refused if {
	every arguments in [
		{"env": "dev", "model_uri": "s3://m/a.PKL"},
		{"env": "dev", "weights": ["a.safetensors", "b.pt?v=1"]},
		{"env": "dev", "options": {"trustRemoteCode": "true"}},
	] {
		fixtures.denies(name, {"tool_type": "deploy_model", "arguments": arguments})
	}
}

test_production_needs_a_digest if {
	every arguments in [
		{"model": "m"},
		{"env": "production"},
		{"env": ["dev", "prod"]},
		{"env": "prod", "sha256": "none"},
	] {
		fixtures.denies(name, {"tool_type": "deploy_model", "arguments": arguments})
	}
}

test_with_one_it_waits if {
	every arguments in [
		{"env": "prod", "sha256": "9f2a"},
		{"signature": "x"},
	] {
		fixtures.asks(name, {"tool_type": "deploy_model", "arguments": arguments})
	}
}

test_other_environments_pass if {
	every arguments in [
		{"env": "staging", "model_uri": "s3://m/a.safetensors", "trust_remote_code": false},
	] {
		fixtures.silent(name, {"tool_type": "deploy_model", "arguments": arguments})
	}
}

test_formats_are_a_parameter if {
	every arguments in [
		{"env": "dev", "model_file": "a.pt"},
	] {
		fixtures.silent(name, {"tool_type": "deploy_model", "arguments": arguments}) with data.gate.model_deploy_provenance as {"code_suffixes": [".pkl"]}
	}
}

test_another_tool_is_let_through if {
	every arguments in [
		{"env": "dev", "model_uri": "s3://m/a.PKL"},
		{"env": "dev", "weights": ["a.safetensors", "b.pt?v=1"]},
		{"env": "dev", "options": {"trustRemoteCode": "true"}},
		{"model": "m"},
		{"env": "production"},
		{"env": ["dev", "prod"]},
		{"env": "prod", "sha256": "none"},
		{"env": "prod", "sha256": "9f2a"},
		{"signature": "x"},
	] {
		fixtures.silent(name, {"tool_type": "summarize_thread", "arguments": arguments})
	}
}
