package gate.templates.dns_apex_record_modify_test

import rego.v1

import data.gate.templates.fixtures

name := "dns_apex_record_modify"

test_the_apex_needs_a_change if {
	every arguments in [
		{"name": "@", "type": "A"},
		{"name": "example.com."},
		{"zone": "example.co.uk", "name": "Example.co.uk"},
		{"type": "A"},
		{"changes": [{"name": "www.example.com"}, {"name": "@"}]},
		{"name": "dev.example.com", "type": "NS"},
		{"name": 7},
	] {
		fixtures.denies(name, {"tool_type": "update_dns_record", "arguments": arguments})
	}
}

test_with_one_it_waits if {
	every arguments in [
		{"name": "@", "change_ticket": "CHG-1"},
	] {
		fixtures.asks(name, {"tool_type": "update_dns_record", "arguments": arguments})
	}
}

test_names_below_pass if {
	every arguments in [
		{"name": "www"},
		{"name": "api.example.com", "type": "CNAME"},
		{"zone": "example.com", "name": "_acme-challenge.example.com", "type": "TXT"},
	] {
		fixtures.silent(name, {"tool_type": "update_dns_record", "arguments": arguments})
	}
}

test_nameservers_are_never_below if {
	every arguments in [
		{"domain": "example.com"},
		{"name": "www"},
	] {
		fixtures.denies(name, {"tool_type": "update_nameservers", "arguments": arguments})
	}
}

test_longer_apexes_are_a_parameter if {
	every arguments in [
		{"name": "shop.example.org"},
	] {
		fixtures.denies(name, {"tool_type": "create_dns_record", "arguments": arguments}) with data.gate.dns_apex_record_modify as {"apex_names": ["shop.example.org"]}
	}
}

test_another_tool_is_let_through if {
	every arguments in [
		{"name": "@", "type": "A"},
		{"name": "example.com."},
		{"zone": "example.co.uk", "name": "Example.co.uk"},
		{"type": "A"},
		{"changes": [{"name": "www.example.com"}, {"name": "@"}]},
		{"name": "dev.example.com", "type": "NS"},
		{"name": 7},
		{"name": "@", "change_ticket": "CHG-1"},
		{"domain": "example.com"},
		{"name": "www"},
	] {
		fixtures.silent(name, {"tool_type": "summarize_thread", "arguments": arguments})
	}
}
