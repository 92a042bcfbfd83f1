package gate.templates.phi_breach_notification_test

import rego.v1

import data.gate.templates.fixtures

name := "phi_breach_notification"

test_assessment_and_count_are_asked if {
	every arguments in [
		{},
		{"risk_assessment": "tbd", "affected": 5},
		{"risk_assessment": "ra-1"},
		{"risk_assessment": "ra-1", "affected": 0},
	] {
		fixtures.denies(name, {"tool_type": "breach.notifyIndividuals", "arguments": arguments})
	}
}

test_whole_notices_wait if fixtures.asks(name, {"tool_type": "notify_breach", "arguments": {"case": {"riskAssessmentId": "ra-1", "individualsAffected": 501}}})

test_reads_run if fixtures.silent(name, {"tool_type": "list_breach_notifications", "arguments": {}})
