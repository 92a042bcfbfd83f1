package gate.authz_test

import rego.v1

test_the_threshold_itself_denies if {
	passes({"intent_score": 0.1999})
	denied({"intent_score": 0.2}, "Intent score")
	denied({"intent_score": 0.5}, "Intent score")
}

test_a_score_that_is_no_number_denies if {
	denied({"intent_score": null}, "Intent score")
	denied({"intent_score": "0.1"}, "Intent score")
}

test_a_suspected_intent_is_for_a_human if {
	passes({"intent_suspicions": []})
	parked({"intent_suspicions": ["drop_database"]}, "drop_database")
	parked({"intent_suspicions": [7]}, "destructive deed")
	parked({"intent_suspicions": null}, "unreadable")
	denied({"intent_suspicions": ["drop_database"], "intent_score": 0.5}, "Intent score")
}

test_injection_denies if {
	passes({"injection_detected": false})
	denied({"injection_detected": true}, "injection")
	denied({"injection_detected": "false"}, "injection")
	denied({"injection_detected": null}, "injection")
}

test_a_suspicion_is_for_a_human if {
	passes({"injection_suspicions": []})
	parked({"injection_suspicions": ["override_instructions"]}, "override_instructions")
	parked({"injection_suspicions": ["turn_marker", "dan_mode"]}, "(dan_mode, turn_marker)")
	parked({"injection_suspicions": [7]}, "injection detector")
	parked({"injection_suspicions": null}, "unreadable")
	parked({"injection_suspicions": {}}, "unreadable")
	denied({"injection_suspicions": ["dan_mode"], "injection_detected": true}, "injection")
}
