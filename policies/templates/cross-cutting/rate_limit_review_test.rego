package gate.templates.rate_limit_review_test

import rego.v1

import data.gate.templates.fixtures

name := "rate_limit_review"

counted(number) := {"tool_type": "create_issue", "recent_request_count": number}

test_above_the_limit_it_asks if {
	fixtures.asks(name, counted(61))
	fixtures.asks(name, counted("x"))
	fixtures.silent(name, counted(60))
	fixtures.asks(name, counted(11)) with data.gate.rate_limit_review as {"review_above": 10}
}

test_reads_are_left_alone if {
	read := object.union(counted(61), {"names_say": {"create_issue": {"plainly_reads": true}}})
	fixtures.silent(name, read)
	fixtures.asks(name, read) with data.gate.rate_limit_review as {"also_reads": true}
}
