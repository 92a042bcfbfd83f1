package gate.templates.contract_redline_external_test

import rego.v1

import data.gate.templates.fixtures

name := "contract_redline_external"

test_unapproved_is_refused if {
	every arguments in [
		{"signers": [{"email": "a@b.example"}]},
		{"approved_by": "tbd", "to": "a@b.example"},
		{},
	] {
		fixtures.denies(name, {"tool_type": "contracts.sendForSignature", "arguments": arguments})
	}
}

test_approved_waits if fixtures.asks(name, {"tool_type": "send_envelope", "arguments": {"to": "a@b.example", "approved_by": "Ada", "include_comments": "no"}})

test_inside_it_may_be_sent if fixtures.silent(name, {"tool_type": "send_contract", "arguments": {"to": "ada@acme.example", "playbook": "x"}}) with data.gate.contract_redline_external as {"internal_domains": ["acme.example"]}

test_a_copy_outside_is_outside if fixtures.denies(name, {"tool_type": "send_contract", "arguments": {"to": "ada@acme.example", "cc": "a@b.example", "playbook": "x"}}) with data.gate.contract_redline_external as {"internal_domains": ["acme.example"]}
