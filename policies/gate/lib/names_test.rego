package gate.lib_test

import rego.v1

import data.gate.lib

test_one_tool_has_many_spellings if {
	every name in ["deleteFile", "DeleteFile", "delete-file", "delete_file", "delete.file", "DELETE_FILE", "delete/file", "delete file"] {
		lib.words_in(name) == ["delete", "file"]
	}
}

test_acronyms_end_where_the_next_word_begins if {
	lib.words_in("DBDelete") == ["db", "delete"]
	lib.words_in("getHTTPResponse") == ["get", "http", "response"]
	"delete" in lib.forms_of("DBdelete")
}

test_odd_casing_hides_nothing if "delete" in lib.forms_of("dElEtE_file")

test_singulars if {
	"transfer" in lib.forms_of("list_transfers")
	"policy" in lib.forms_of("iam_policies")
}

test_an_entry_needs_all_its_words if {
	lib.holds_any_of({"wire", "transfer", "bank"}, ["wire_transfer"])
	not lib.holds_any_of({"wire", "tap"}, ["wire_transfer"])
	lib.holds_any_of(["wire", "transfer", "bank"], ["wire_transfer"])
	not lib.holds_any_of(["wire", "tap"], ["wire_transfer"])
}

reads(name) if lib.tool_reads with input as {"tool_type": name}

test_reads if {
	every name in ["list_files", "mcp__fs__read_file", "files.list", "customer_db_read", "getBalance"] {
		reads(name)
	}
	every name in ["write_file", "get_and_send", "read_write_table", "list.wire_transfer", "payment_send_list"] {
		not reads(name)
	}
}
