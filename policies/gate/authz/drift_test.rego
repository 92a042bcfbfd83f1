package gate.authz_test

import rego.v1

test_the_edge_band_is_for_a_human if {
	passes({"persona_drift_score": 0.4499})
	parked({"persona_drift_score": 0.45}, "persona drift")
	parked({"persona_drift_score": 0.6}, "persona drift")
}

test_the_reason_names_the_persona_and_what_to_do if {
	parked({"persona_drift_score": 0.5, "agent_id": "support-bot"}, "in the persona of support-bot. Its operator can add")
	parked({"persona_drift_score": 0.5, "agent_id": null}, "in the persona of this agent")
	denied({"persona_drift_score": 0.9, "agent_id": "support-bot"}, "an agent without a persona")
}

test_over_the_threshold_denies if {
	denied({"persona_drift_score": 0.6001}, "persona drift")
	denied({"persona_drift_score": "0"}, "persona drift")
	denied({"persona_drift_score": null}, "persona drift")
}

test_what_is_unlike_before_is_for_a_human if {
	far := {"available": true, "score": 0.45, "reasons": ["amount 400 times the median", "first time to this destination"]}
	parked({"drift": far}, "before: amount 400 times the median; first time to this destination.")
	passes({"drift": {"available": true, "score": 0.25, "reasons": ["first time to this destination"]}})
	passes({"drift": {"available": false, "score": 0, "reasons": []}})
	passes({})
}

test_what_is_unlike_before_never_denies if {
	parked({"drift": {"score": 2, "reasons": ["x"]}}, "Review: drift:")
}

test_history_that_cannot_be_read_is_for_a_human if {
	parked({"drift": {"score": "0", "reasons": []}}, "how much cannot be read")
	parked({"drift": null}, "how much cannot be read")
	parked({"drift": {"score": 1, "reasons": [7]}}, "how much cannot be read")
}
