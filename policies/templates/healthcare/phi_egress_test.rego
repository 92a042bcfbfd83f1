package gate.templates.phi_egress_test

import rego.v1

import data.gate.templates.fixtures

name := "phi_egress"

test_health_data_are_found_anywhere if {
	every arguments in [
		{"fax_number": "1", "pages": [{"ClinicalNote": "x"}]},
		{"body": "{\"lab_results\": {\"hb\": 9}}"},
		{"entry": [{"resource": {"resourceType": "Patient"}}]},
	] {
		fixtures.denies(name, {"tool_type": "fax.send", "arguments": arguments})
	}
}

test_a_basis_waits if fixtures.asks(name, {"tool_type": "send_fax", "arguments": {"mrn": "1", "baa_id": "BAA-7"}})

test_a_blank_basis_is_none if fixtures.denies(name, {"tool_type": "send_fax", "arguments": {"mrn": "1", "baa_id": "none"}})

test_inside_it_may_be_sent if fixtures.silent(name, {"tool_type": "send_email", "arguments": {"to": "x@ward.acme.example", "mrn": "1"}}) with data.gate.phi_egress as {"internal_domains": ["acme.example"]}

test_other_resources_are_none if fixtures.silent(name, {"tool_type": "http_post", "arguments": {"resourceType": "Organization"}})
