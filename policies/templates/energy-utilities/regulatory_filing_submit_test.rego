package gate.templates.regulatory_filing_submit_test

import rego.v1

import data.gate.templates.fixtures

name := "regulatory_filing_submit"

test_unsigned_is_refused if {
	every arguments in [
		{},
		{"attested_by": "TBD"},
		{"draft": "no"},
	] {
		fixtures.denies(name, {"tool_type": "regulatory.filing.submit", "arguments": arguments})
	}
}

test_guarded_parts_are_closed if {
	every arguments in [
		{"signed_by": "a", "docs": [{"file_name": "CEII_map.pdf"}]},
		{"signed_by": "a", "description": "bcsi", "access": ["privileged", "public"]},
	] {
		fixtures.denies(name, {"tool_type": "puc_file", "arguments": arguments})
	}
}

test_signed_waits if {
	every arguments in [
		{"signatory": "a"},
		{"payload": {"AttestedBy": "b"}},
	] {
		fixtures.asks(name, {"tool_type": "submitTariffFiling", "arguments": arguments})
	}
}

test_drafts_run if fixtures.silent(name, {"tool_type": "rate_case_submit", "arguments": {"dry_run": "true"}})

test_words_are_a_parameter if fixtures.denies(name, {"tool_type": "ferc_submit", "arguments": {"signed_by": "a", "title": "site plan"}}) with data.gate.regulatory_filing_submit as {"guarded_words": ["site_plan"]}
