package gate.authz_test

import rego.v1

night := {"current_time": "2026-11-18T23:00:00Z"}

test_high_impact_at_night_waits if {
	every name in ["wire_transfer", "payment_send", "prod_write", "deploy_service", "prod_release"] {
		parked(object.union(night, {"tool_type": name}), "off-hours")
	}
}

test_ordinary_work_at_night_passes if {
	every name in ["list_files", "write_file", "deploy_status", "list_payouts"] {
		passes(object.union(night, {"tool_type": name}))
	}
}

test_a_time_that_cannot_be_read_is_night if parked({"tool_type": "deploy", "current_time": "soon"}, "off-hours")
