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
