package gate.authz_test

import rego.v1

test_every_tool_waits_under_containment if {
	parked({"force_hil": true}, "containment")
	parked({"force_hil": true, "tool_type": "read_file"}, "containment")
}

test_only_a_plain_false_is_free if {
	passes({"force_hil": false})
	parked({"force_hil": null}, "containment")
	parked({"force_hil": "false"}, "containment")
}
