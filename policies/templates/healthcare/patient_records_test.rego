package gate.templates.patient_records_test

import rego.v1

import data.gate.templates.fixtures

name := "patient_records"

test_changes_name_their_visit if {
	every arguments in [
		{},
		{"encounter_id": "n/a"},
		{"purpose": ""},
	] {
		fixtures.denies(name, {"tool_type": "chart.amend", "arguments": arguments})
	}
}

test_guarded_parts_wait if {
	every arguments in [
		{"resource_type": "MentalHealthObservation"},
		{"options": {"tags": "HIV"}},
	] {
		fixtures.asks(name, {"tool_type": "fhir_read", "arguments": arguments})
	}
}

test_many_wait if fixtures.asks(name, {"tool_type": "fhirBulkExport", "arguments": {}})

test_plain_reads_run if {
	every arguments in [
		{},
		{"section": "vitals"},
	] {
		fixtures.silent(name, {"tool_type": "get_patient_record", "arguments": arguments})
	}
}

test_parts_are_a_parameter if fixtures.asks(name, {"tool_type": "get_patient_record", "arguments": {"section": "vitals"}}) with data.gate.patient_records as {"sensitive_parts": ["vital"]}
