package gate.templates.ferpa_consent_test

import rego.v1

import data.gate.templates.fixtures

name := "ferpa_consent"

test_nothing_said_waits if {
	every arguments in [
		{},
		{"consent": "no"},
		{"exception": ["transfer", "research"]},
	] {
		fixtures.asks(name, {"tool_type": "transcripts.share", "arguments": arguments})
	}
}

test_opting_out_waits_whatever_is_said if fixtures.asks(name, {"tool_type": "release_grades", "arguments": {"consent_id": "C", "options": {"privacy-hold": "yes"}}})

test_consents_run if {
	every arguments in [
		{"signed_consent": true},
		{"form": {"FerpaRelease": "F-1"}, "opted_out": false},
	] {
		fixtures.silent(name, {"tool_type": "exportStudentRecords", "arguments": arguments})
	}
}

test_inside_the_school_it_moves if fixtures.silent(name, {"tool_type": "send_report_card", "arguments": {"to": "a@school.example"}}) with data.gate.ferpa_consent as {"internal_domains": ["school.example"]}
