package gate.templates.red_team_target_prod_test

import rego.v1

import data.gate.templates.fixtures

name := "red_team_target_prod"

test_other_hosts_are_out_of_scope if {
	every arguments in [
		{"target": "www.example.com"},
		{},
		{"target": ["a.lab.internal", "www.example.com"]},
		{"target": "a.lab.internal,b.example"},
		{"target": "10.0.0.0/8"},
		{"target": "https://a.lab.internal@evil.example/"},
		{"target": "notlab.internal"},
	] {
		fixtures.denies(name, {"tool_type": "nmap_scan", "arguments": arguments})
	}
}

test_scans_in_scope_pass if {
	every arguments in [
		{"target": "a.lab.internal"},
		{"target": "127.0.0.1"},
		{"target": "https://web.test/login"},
	] {
		fixtures.silent(name, {"tool_type": "nmap_scan", "arguments": arguments})
	}
}

test_attacks_in_scope_wait if {
	every arguments in [
		{"rhosts": "a.lab.internal", "engagement_id": "RT-7"},
	] {
		fixtures.asks(name, {"tool_type": "exploit_run", "arguments": arguments})
	}
}

test_attacks_need_an_engagement if {
	every arguments in [
		{"rhosts": "a.lab.internal"},
	] {
		fixtures.denies(name, {"tool_type": "exploit_run", "arguments": arguments})
	}
}

test_networks_are_a_parameter if {
	every arguments in [
		{"target": "10.9.3.4"},
		{"target": "10.9.3.0/24"},
	] {
		fixtures.silent(name, {"tool_type": "port_scan", "arguments": arguments}) with data.gate.red_team_target_prod as {"scope_networks": ["10.9.0.0/16"]}
	}
}

test_another_tool_is_let_through if {
	every arguments in [
		{"target": "www.example.com"},
		{},
		{"target": ["a.lab.internal", "www.example.com"]},
		{"target": "a.lab.internal,b.example"},
		{"target": "10.0.0.0/8"},
		{"target": "https://a.lab.internal@evil.example/"},
		{"target": "notlab.internal"},
		{"rhosts": "a.lab.internal", "engagement_id": "RT-7"},
		{"rhosts": "a.lab.internal"},
	] {
		fixtures.silent(name, {"tool_type": "summarize_thread", "arguments": arguments})
	}
}
