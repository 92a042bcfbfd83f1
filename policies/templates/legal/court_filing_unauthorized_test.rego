package gate.templates.court_filing_unauthorized_test

import rego.v1

import data.gate.templates.fixtures

name := "court_filing_unauthorized"

test_all_three_are_asked if {
	every arguments in [
		{},
		{"attorney": "Ada", "case_id": "C-1", "cite_check": false},
		{"attorney": "n/a", "case_id": "C-1", "cite_check": true},
		{"attorney": "Ada", "case_id": "", "cite_check": "done by agent?"},
	] {
		fixtures.denies(name, {"tool_type": "ecf.submitDocument", "arguments": arguments})
	}
}

test_a_whole_filing_waits if fixtures.asks(name, {"tool_type": "submitPleading", "arguments": {"filing": {"AttorneyOfRecord": "Ada", "caseNumber": "C-1"}, "cite_checked": "yes"}})

test_reads_run if fixtures.silent(name, {"tool_type": "list_court_filings", "arguments": {}})

test_fields_are_parameters if fixtures.asks(name, {"tool_type": "file_motion", "arguments": {"attorney": "Ada", "case_id": "C-1", "geprueft": true}}) with data.gate.court_filing_unauthorized as {"check_fields": ["geprueft"]}
