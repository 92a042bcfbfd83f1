package gate.templates.forensic_evidence_delete_test

import rego.v1

import data.gate.templates.fixtures

name := "forensic_evidence_delete"

test_evidence_stays if {
	every arguments in [
		{},
		{"evidence_id": "E-1"},
	] {
		fixtures.denies(name, {"tool_type": "update_evidence", "arguments": arguments})
	}
}

test_logs_stay if {
	every arguments in [
		{"channel": "Security"},
	] {
		fixtures.denies(name, {"tool_type": "clear_event_log", "arguments": arguments})
	}
}

test_a_host_is_copied_first if {
	every arguments in [
		{"host": "ws-4"},
		{"host": "ws-4", "evidence_id": "none"},
	] {
		fixtures.denies(name, {"tool_type": "reimage_host", "arguments": arguments})
	}
}

test_a_copied_host_waits if {
	every arguments in [
		{"host": "ws-4", "evidence_id": "E-1"},
	] {
		fixtures.asks(name, {"tool_type": "reimage_host", "arguments": arguments})
	}
}

test_retention_has_a_floor if {
	every arguments in [
		{"retentionInDays": 7},
		{},
		{"retention_days": "7"},
		{"retention_days": [400, 30]},
	] {
		fixtures.denies(name, {"tool_type": "put_retention_policy", "arguments": arguments})
	}
}

test_longer_passes if {
	every arguments in [
		{"retentionInDays": 365},
		{"retention_days": "400"},
	] {
		fixtures.silent(name, {"tool_type": "put_retention_policy", "arguments": arguments})
	}
}

test_the_floor_is_a_parameter if {
	every arguments in [
		{"retentionInDays": 90},
	] {
		fixtures.silent(name, {"tool_type": "put_retention_policy", "arguments": arguments}) with data.gate.forensic_evidence_delete as {"retention_at_least_days": 90}
	}
}

test_reading_passes if {
	every arguments in [
		{},
	] {
		fixtures.silent(name, {"tool_type": "list_evidence", "arguments": arguments})
	}
}

test_another_tool_is_let_through if {
	every arguments in [
		{},
		{"evidence_id": "E-1"},
		{"channel": "Security"},
		{"host": "ws-4"},
		{"host": "ws-4", "evidence_id": "none"},
		{"host": "ws-4", "evidence_id": "E-1"},
		{"retentionInDays": 7},
		{"retention_days": "7"},
		{"retention_days": [400, 30]},
	] {
		fixtures.silent(name, {"tool_type": "summarize_thread", "arguments": arguments})
	}
}
