package gate.authz_test

import rego.v1

import data.gate.authz

test_a_name_of_another_alphabet_is_read_by_a_human if {
	parked({"tool_type": "dеlete_file"}, "printable ASCII")
	not authz.unknown_tool with input as ordinary
}

unknown(name) if authz.unknown_tool with input as {"tool_type": name}

test_unknown_tools if {
	unknown("frobnicate")
	unknown("123")
	not unknown("read_file")
	not unknown("bash")
	not unknown("bulk_export")
	not unknown("wire_transfer")
	not unknown("rmdir")
	not unknown("phi_access_classified")
}

test_a_name_says_what_rules_look_for if {
	authz.tool_says == {"readable": true, "wires_money": true, "pays_somebody": true} with input as {"tool_type": "wire_transfer"}
	authz.tool_says == {"readable": true, "sends_outside": true, "flows_out": true, "carries_writing": true} with input as {"tool_type": "send_email"}
	authz.tool_says == {"readable": true, "plainly_reads": true} with input as {"tool_type": "list_files"}
	authz.tool_says == {"unknown": true} with input as {"tool_type": "фробникейт"}
	authz.tool_says == {"unknown": true} with input as {"tool_type": 7}
}

# The engine hands the answer back; the verdict must be the one without.
test_what_was_said_before_gives_the_same_verdict if {
	every name in ["list_files", "delete_file", "wire_transfer", "prod_write", "send_email", "bash", "bulk_export"] {
		said := authz.tool_says with input as {"tool_type": name}
		verdict({"tool_type": name, "names_say": {name: said}}) == verdict({"tool_type": name})
	}
}
