package gate.authz_test

import rego.v1

test_destructive_names_are_denied if {
	every name in [
		"delete_file",
		"files.delete",
		"dropTable",
		"truncate-table",
		"wipe_disk",
		"rm_rf",
		"exfiltrate",
		"DBdelete",
		"deletefile",
		"userdelete",
		"get_and_delete_logs",
		"get_delete",
		"schedule_deletion",
		"remove_table",
	] {
		denied({"tool_type": name}, "destructive")
	}
}

test_near_misses_pass if {
	every name in [
		"undelete",
		"list_deleted_files",
		"get_delete_markers",
		"drag_and_drop",
		"cancel_deletion",
		"get_deletion_status",
		"remove_label",
		"remove_user_from_channel",
		"truncate_text",
	] {
		passes({"tool_type": name})
	}
}
