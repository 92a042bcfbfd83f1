package gate.templates.underwriting_phi_test

import rego.v1

import data.gate.templates.fixtures

name := "underwriting_phi"

test_genetic_data_are_refused_anywhere if {
	every arguments in [
		{"data": {"FamilyHistory": "x"}, "consent_id": "c"},
		{"body": "{\"include\": [\"BRCA1\"]}", "consent_id": "c"},
	] {
		fixtures.denies(name, {"tool_type": "underwriting.run", "arguments": arguments})
	}
}

test_authorizations_are_asked if {
	every arguments in [
		{},
		{"authorization_id": "n/a"},
	] {
		fixtures.denies(name, {"tool_type": "query_mib", "arguments": arguments})
	}
}

test_authorized_fetches_run if fixtures.silent(name, {"tool_type": "order_aps", "arguments": {"authorization_id": "HA-1"}})

test_decisions_without_health_run if {
	every arguments in [
		{"vehicle": "x"},
		{"diagnosis": ""},
	] {
		fixtures.silent(name, {"tool_type": "set_premium", "arguments": arguments})
	}
}

test_fields_are_parameters if fixtures.denies(name, {"tool_type": "set_premium", "arguments": {"steps_per_day": 100}}) with data.gate.underwriting_phi as {"health_fields": ["steps_per_day"]}
