package gate.templates.training_data_pii_egress_test

import rego.v1

import data.gate.templates.fixtures

name := "training_data_pii_egress"

test_personal_data_is_refused if {
	every arguments in [
		{"lines": ["my SSN is 078-05-1120"], "pii_scan_id": "S-1"},
		{"examples": [{"date_of_birth": "1984-03-02"}], "deidentified": true},
		{"text": "write to ada@example.org"},
	] {
		fixtures.denies(name, {"tool_type": "upload_training_file", "arguments": arguments})
	}
}

test_unchecked_it_waits if {
	every arguments in [
		{"training_file": "file-7"},
		{"file": "file-7", "deidentified": "partly"},
		{"pii_scan_id": "none"},
	] {
		fixtures.asks(name, {"tool_type": "create_fine_tuning_job", "arguments": arguments})
	}
}

test_checked_it_passes if {
	every arguments in [
		{"training_file": "file-7", "pii_scan_id": "S-1"},
		{"synthetic": true},
	] {
		fixtures.silent(name, {"tool_type": "create_fine_tuning_job", "arguments": arguments})
	}
}

test_reading_passes if {
	every arguments in [
		{},
	] {
		fixtures.silent(name, {"tool_type": "list_fine_tuning_jobs", "arguments": arguments})
	}
}

test_addresses_are_a_parameter if {
	every arguments in [
		{"text": "write to ada@example.org", "pii_scan_id": "S-1"},
	] {
		fixtures.silent(name, {"tool_type": "upload_training_file", "arguments": arguments}) with data.gate.training_data_pii_egress as {"addresses_at_most": 1}
	}
}

test_another_tool_is_let_through if {
	every arguments in [
		{"lines": ["my SSN is 078-05-1120"], "pii_scan_id": "S-1"},
		{"examples": [{"date_of_birth": "1984-03-02"}], "deidentified": true},
		{"text": "write to ada@example.org"},
		{"training_file": "file-7"},
		{"file": "file-7", "deidentified": "partly"},
		{"pii_scan_id": "none"},
	] {
		fixtures.silent(name, {"tool_type": "summarize_thread", "arguments": arguments})
	}
}
