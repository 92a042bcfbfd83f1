package gate.templates.dataset_egress_test

import rego.v1

import data.gate.templates.fixtures

name := "dataset_egress"

test_public_is_refused if {
	every arguments in [
		{"repo": "acme/x", "private": false},
		{"visibility": "PUBLIC"},
		{"acl": "public-read"},
		{"options": {"isPublic": "yes"}},
	] {
		fixtures.denies(name, {"tool_type": "push_dataset", "arguments": arguments})
	}
}

test_personal_data_does_not_leave if {
	every arguments in [
		{"destination": "https://x.example/in", "rows": [{"ssn": "078-05-1120"}]},
	] {
		fixtures.denies(name, {"tool_type": "upload_dataset", "arguments": arguments})
	}
}

test_other_places_wait if {
	every arguments in [
		{"destination": "s3://partner/x"},
		{"options": {"Url": "https://x.example/in"}},
	] {
		fixtures.asks(name, {"tool_type": "upload_dataset", "arguments": arguments})
	}
}

test_places_of_the_company_pass if {
	every arguments in [
		{"destination": "s3://acme-ml/x", "private": true},
		{"url": "https://data.acme.example/in"},
	] {
		fixtures.silent(name, {"tool_type": "upload_dataset", "arguments": arguments}) with data.gate.dataset_egress as {"internal_domains": ["acme.example"], "internal_buckets": ["acme-ml"]}
	}
}

test_a_lookalike_waits if {
	every arguments in [
		{"destination": "s3://acme-ml-copy/x"},
		{"url": "https://notacme.example/in"},
	] {
		fixtures.asks(name, {"tool_type": "upload_dataset", "arguments": arguments}) with data.gate.dataset_egress as {"internal_domains": ["acme.example"], "internal_buckets": ["acme-ml"]}
	}
}

test_paths_pass if {
	every arguments in [
		{"repo": "acme/x", "private": true},
		{"destination": "/mnt/data/x"},
		{},
	] {
		fixtures.silent(name, {"tool_type": "push_dataset", "arguments": arguments})
	}
}

test_another_tool_is_let_through if {
	every arguments in [
		{"repo": "acme/x", "private": false},
		{"visibility": "PUBLIC"},
		{"acl": "public-read"},
		{"options": {"isPublic": "yes"}},
		{"destination": "https://x.example/in", "rows": [{"ssn": "078-05-1120"}]},
		{"destination": "s3://partner/x"},
		{"options": {"Url": "https://x.example/in"}},
	] {
		fixtures.silent(name, {"tool_type": "summarize_thread", "arguments": arguments})
	}
}
