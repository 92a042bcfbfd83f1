package gate.templates.marketing_pii_egress_test

import rego.v1

import data.gate.templates.fixtures

name := "marketing_pii_egress"

test_both_are_needed if {
	every arguments in [
		{},
		{"hashed": true},
		{"consent": "opt-in"},
		{"hashed": ["yes", "no"], "consent": "x"},
	] {
		fixtures.asks(name, {"tool_type": "customerMatchUpload", "arguments": arguments})
	}
}

test_campaigns_without_a_way_out_wait if {
	every arguments in [
		{},
		{"unsubscribe": false},
		{"is_test": "no"},
	] {
		fixtures.asks(name, {"tool_type": "send_email_blast", "arguments": arguments})
	}
}

test_what_is_inside_stays if fixtures.silent(name, {"tool_type": "leads_export", "arguments": {"url": "https://dwh.acme.example/in"}}) with data.gate.marketing_pii_egress as {"internal_domains": ["acme.example"]}

test_with_both_it_runs if fixtures.silent(name, {"tool_type": "push_audience", "arguments": {"rows": {"isHashed": "true"}, "meta": {"LawfulBasis": "consent"}}})
