package gate.authz_test

import rego.v1

test_a_call_that_touches_a_decoy_is_denied if {
	denied({"decoy": {"kind": "tool"}}, "the operator denied this tool")
	denied({"decoy": {"kind": "value"}, "tool_type": "read_file"}, "the operator denied this tool")
}

test_only_nothing_is_no_decoy if {
	passes({"decoy": null})
	passes({})
	denied({"decoy": false}, "the operator denied this tool")
	denied({"decoy": ""}, "the operator denied this tool")
}
