package gate.authz_test

import rego.v1

test_the_limit_itself_passes if {
	passes({"recent_request_count": 100})
	denied({"recent_request_count": 101}, "Token velocity")
	denied({"recent_request_count": 101}, "60s")
	denied({"recent_request_count": 101}, "limit 100")
}

test_the_deployment_sets_the_limit if {
	passes({"recent_request_count": 5, "velocity_limit": 5})
	denied({"recent_request_count": 6, "velocity_limit": 5}, "limit 5")
	passes({"recent_request_count": 1000000, "velocity_limit": 0})
}

test_what_cannot_be_read_denies if {
	denied({"recent_request_count": "1"}, "Token velocity")
	denied({"recent_request_count": null}, "Token velocity")
	denied({"velocity_limit": null}, "Token velocity")
	denied({"velocity_limit": -1}, "Token velocity")
}

test_a_degraded_tracker_parks_what_would_hurt if {
	passes({"velocity_degraded": true})
	parked({"velocity_degraded": true, "tool_type": "payment_send"}, "velocity tracker degraded")
	parked({"velocity_degraded": true, "tool_type": "prod_write"}, "velocity tracker degraded")
	parked({"velocity_degraded": null, "tool_type": "prod_write"}, "velocity tracker degraded")
}
