package gate.templates.foia_release_test

import rego.v1

import data.gate.templates.fixtures

name := "foia_release"

test_no_review_no_release if {
	every arguments in [
		{},
		{"exemption_review": "none"},
	] {
		fixtures.denies(name, {"tool_type": "recordsRequest.fulfill", "arguments": arguments})
	}
}

test_reviews_do_not_cure_numbers if fixtures.denies(name, {"tool_type": "foia_publish", "arguments": {"redaction_log": "R", "rows": [{"DateOfBirth": "1980-01-01"}]}})

test_reviewed_waits if {
	every arguments in [
		{"review": {"vaughn-index": "V"}},
		{"redaction_log": "R", "email": "clerk@agency.gov"},
	] {
		fixtures.asks(name, {"tool_type": "publishFoia", "arguments": arguments})
	}
}

test_kinds_are_a_parameter if fixtures.asks(name, {"tool_type": "foia_release", "arguments": {"redaction_log": "R", "dob": "1980-01-01"}}) with data.gate.foia_release as {"deny_kinds": ["ssn"]}
