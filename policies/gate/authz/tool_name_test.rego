package gate.authz_test

import rego.v1

import data.gate.authz

test_one_tool_has_many_spellings if {
	every name in ["deleteFile", "DeleteFile", "delete-file", "delete_file", "delete.file", "DELETE_FILE", "delete/file", "delete file"] {
		authz.words_in(name) == ["delete", "file"]
	}
}

test_acronyms_end_where_the_next_word_begins if {
	authz.words_in("DBDelete") == ["db", "delete"]
	authz.words_in("getHTTPResponse") == ["get", "http", "response"]
	"delete" in authz.forms_of("DBdelete")
}

test_odd_casing_hides_nothing if "delete" in authz.forms_of("dElEtE_file")

test_singulars if {
	"transfer" in authz.forms_of("list_transfers")
	"policy" in authz.forms_of("iam_policies")
}

test_an_entry_needs_all_its_words if {
	authz.holds_any_of({"wire", "transfer", "bank"}, ["wire_transfer"])
	not authz.holds_any_of({"wire", "tap"}, ["wire_transfer"])
}

reads(name) if authz.tool_reads with input as {"tool_type": name}

test_reads if {
	every name in ["list_files", "mcp__fs__read_file", "files.list", "customer_db_read", "getBalance"] {
		reads(name)
	}
	every name in ["write_file", "get_and_send", "read_write_table", "list.wire_transfer", "payment_send_list"] {
		not reads(name)
	}
}

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
	authz.tool_says == {"readable": true, "wires_money": true} with input as {"tool_type": "wire_transfer"}
	authz.tool_says == {"readable": true, "sends_outside": true, "carries_writing": true} with input as {"tool_type": "send_email"}
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
