package gate.templates.meter_data_export_test

import rego.v1

import data.gate.templates.fixtures

name := "meter_data_export"

test_what_is_missing_is_no_aggregate if {
	every arguments in [
		{},
		{"aggregated": true},
		{"aggregated": true, "customer_count": 100},
		{"aggregated": "no", "customer_count": 100, "largest_share": 1},
	] {
		fixtures.denies(name, {"tool_type": "usage.data.export", "arguments": arguments})
	}
}

test_authorizations_wait if {
	every arguments in [
		{"authorization_id": "A-1"},
		{"meta": {"ConsentId": "c"}},
	] {
		fixtures.asks(name, {"tool_type": "download_interval_data", "arguments": arguments})
	}
}

test_inside_it_moves if fixtures.silent(name, {"tool_type": "export_meter_data", "arguments": {"url": "https://lake.utility.example/in"}}) with data.gate.meter_data_export as {"internal_domains": ["utility.example"]}

test_limits_are_parameters if fixtures.silent(name, {"tool_type": "export_meter_data", "arguments": {"aggregated": "yes", "customer_count": 4, "largest_share": 70}}) with data.gate.meter_data_export as {"fewest_customers": 4, "largest_percent": 80}
