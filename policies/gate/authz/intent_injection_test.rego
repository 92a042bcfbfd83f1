package gate.authz_test

import rego.v1

test_the_threshold_itself_denies if {
	passes({"intent_score": 0.1999})
	denied({"intent_score": 0.2}, "Intent score")
	denied({"intent_score": 0.2}, "threshold 0.2")
	denied({"intent_score": 0.5}, "Intent score")
}

test_a_score_that_is_no_number_denies if {
	denied({"intent_score": null}, "Intent score")
	denied({"intent_score": "0.1"}, "Intent score")
}

test_injection_denies if {
	passes({"injection_detected": false})
	denied({"injection_detected": true}, "injection")
	denied({"injection_detected": "false"}, "injection")
	denied({"injection_detected": null}, "injection")
}
