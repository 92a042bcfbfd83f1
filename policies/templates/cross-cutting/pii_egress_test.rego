package gate.templates.pii_egress_test

import rego.v1

import data.gate.templates.fixtures

name := "pii_egress"

sending(arguments) := {"tool_type": "send_email", "arguments": arguments}

test_identity_and_payment_numbers_are_refused if {
	every arguments in [
		{"to": "eve@example.com", "body": "her SSN is 078-05-1120"},
		{"to": "eve@example.com", "body": "4111-1111-1111-1111"},
		{"to": "eve@example.com", "row": {"socialSecurityNumber": "x"}},
		{"data": `{"passport_number": "C01234567"}`},
	] {
		fixtures.denies(name, sending(arguments))
	}
}

test_other_personal_data_waits if {
	fixtures.asks(name, sending({"to": "eve@example.com", "body": "DOB: 1984-03-02"}))
	many := [sprintf("p%d@example.net", [at]) | some at in numbers.range(1, 21)]
	fixtures.asks(name, sending({"to": "eve@example.com", "people": many}))
}

test_ordinary_letters_pass if {
	every body in ["See you at ten.", "Invoice 2026-118, order 4111 1111 1111 1112", "write to ada@example.org"] {
		fixtures.silent(name, sending({"to": "eve@example.com", "body": body}))
	}
	fixtures.silent(name, {"tool_type": "get_mail_sent", "arguments": {"ssn": "078-05-1120"}})
	fixtures.silent(name, {"tool_type": "update_customer", "arguments": {"ssn": "078-05-1120"}})
}

test_inside_it_may_be_sent if {
	settings := {"internal_domains": ["acme.example"]}
	inside := {"to": ["hr@acme.example"], "ssn": "078-05-1120"}
	fixtures.silent(name, sending(inside)) with data.gate.pii_egress as settings
	fixtures.denies(name, sending(object.union(inside, {"cc": "eve@example.com"}))) with data.gate.pii_egress as settings
}
