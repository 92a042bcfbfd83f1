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
