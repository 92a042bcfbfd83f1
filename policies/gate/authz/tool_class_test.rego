package gate.authz_test

import rego.v1

import data.gate.authz

unclassed(name) := object.union(ordinary, {"tool_type": name})

runs(name) if authz.allow with input as unclassed(name)

waits(name) if {
	not runs(name)
	some reason in authz.review with input as unclassed(name)
	contains(reason, "not classed")
}

test_a_tool_that_plainly_reads_runs if {
	every name in [
		"list_files", "getIssue", "mcp__github__list_issues", "slack_list_channels", "files.list", "getUserV2",
		"get_wire_transfer_status", "kubectl_get", "list_workflow_runs", "getS3Object", "query", "list_allowed_directories",
	] {
		runs(name)
	}
}

test_what_nobody_classed_waits if {
	every name in [
		"sepa_transfer", "create_charge", "createCharge2", "withdraw", "kubectl_exec", "kubectlexec", "set_password", "exec", "write_file",
		"get_paid", "check_out", "check", "show_then_toss", "fetch_and_post", "run_query", "view_and_sign", "search_replace",
		"download_to_disk", "head_request", "status_set", "count_down_launch", "get_and_send", "list_wr1te", "fetch", "fetch_url",
		"get_private_key", "get_env", "frobnicate", "123", "list_kubectlexec", "read_sendmail", "yeet_list", "list_wIpEd",
	] {
		waits(name)
	}
}

test_what_obtains_money_secrets_or_somebody_elses_rights_waits if {
	every name in [
		"read_secret", "get_secret", "read_password", "get_credentials", "fetch_funds", "retrieve_funds", "get_cash", "get_loan",
		"get_refund", "get_credit_line", "getUserMoney", "funds_get", "list_for_sale", "list_on_market", "listOnMarketplace",
		"view_as_root", "read_rights_transfer", "show_ownership_transfer", "view_as", "view_as_alice", "get_admin", "get_root",
		"get_sudo", "get_seat", "get_lease",
		# However they are spelled, and whatever stands around them.
		"get_the_root", "getRootAccess", "get_root_shell", "get_rootaccess", "fetch_admin_rights", "get_superuser", "get_super_user",
		"retrieve_elevated_privileges", "get_owner_rights", "list_sudo", "list_sudofiles", "aws_get_root",
	] {
		waits(name)
	}
}

test_what_looks_at_money_runs if {
	every name in [
		"show_payment", "list_refunds", "list_payouts", "get_loan_status", "get_refund_details", "get_credit_score", "get_balance",
		"get_invoice", "get_page", "read_file", "list_markets", "search_sales",
	] {
		runs(name)
	}
}

test_what_takes_waits_and_what_looks_runs if {
	every name in [
		"read_queue", "sqs_read_queue", "read_from_queue", "readFromQueue", "fetch_from", "fetch_from_cache", "read_the_queue",
		"get_queue_message", "get_message_from_queue", "fetch_queue", "retrieve_job_queue", "read_messagequeue", "get_nextmessage",
		"get_next_message", "get_queue_next",
	] {
		waits(name)
	}
	every name in [
		"get_queue", "list_queues", "list_queue_messages", "get_queue_length", "get_queue_status", "read_queue_settings", "get_message",
		"list_messages", "get_sudoku", "read_sudoku", "get_root_cause", "get_root_folder", "list_roots", "list_admins", "list_superusers",
		"check_admin_rights", "get_next_page", "get_access_log", "get_supervisor", "get_super_bowl_score",
	] {
		runs(name)
	}
}

asked_for(money) := object.union(unclassed("show_payment"), {"money": object.union({"more": false}, money)})

vendor_gets_five := {"amounts": [{"amount": "5", "currency": "EUR"}], "payees": ["vendor"]}

test_a_read_that_is_told_how_much_and_to_whom_waits if {
	not authz.allow with input as asked_for(vendor_gets_five)
	some reason in authz.review with input as asked_for(vendor_gets_five)
	contains(reason, "not classed")
}

test_an_amount_or_a_payee_alone_does_not_matter if {
	authz.allow with input as asked_for(object.union(vendor_gets_five, {"payees": []}))
	authz.allow with input as asked_for(object.union(vendor_gets_five, {"amounts": []}))
}

test_arguments_that_nobody_read_for_money_wait if {
	some reason in authz.review with input as object.remove(unclassed("show_payment"), {"money"})
	contains(reason, "not read for money")
}

test_the_operators_word_stands_for_what_a_read_is_told if {
	classed_read := object.union(asked_for(vendor_gets_five), {"tool_classes": {"show_payment": {"class": "read"}}})
	authz.allow with input as classed_read
}

classed(class) := object.union(unclassed("frobnicate"), {"tool_classes": {"frobnicate": {"class": class}}})

test_classes if {
	authz.allow with input as classed("read")
	authz.allow with input as classed("change")
	not authz.allow with input as classed("review")
	authz.approval_tier == "standard" with input as classed("review")
	not authz.allow with input as classed("strict")
	authz.approval_tier == "strict" with input as classed("strict")
	count(authz.deny) == 1 with input as classed("deny")
	not authz.allow with input as classed("blessed")
}

test_a_class_silences_no_other_rule if {
	denied({"tool_type": "delete_file"}, "destructive")
	parked({"tool_type": "wire_transfer"}, "Wire transfers")
}

test_a_suspended_class_waits_and_still_denies if {
	parked({"tool_classes": {"list_files": {"class": "change", "suspended": "definition_changed"}}}, "changed since")
	parked({"tool_classes": {"list_files": {"class": "change", "suspended": "definition_not_seen"}}}, "does not show")
	parked({"tool_classes": {"list_files": {"class": "change", "suspended": "unreadable"}}}, "cannot be read")
	denied({"tool_classes": {"list_files": {"class": "deny", "suspended": "definition_changed"}}}, "operator denied")
}

test_shipped_classes_are_of_one_upstream if {
	authz.allow with input as object.union(unclassed("write_file"), {"upstream": "demo"})
	not authz.allow with input as object.union(unclassed("write_file"), {"upstream": "https://tools.example/mcp"})
	not authz.allow with input as unclassed("write_file")
}

test_what_an_upstream_says_of_its_tool_is_no_class if {
	hint := {"annotations": {"readOnlyHint": true}, "readOnlyHint": true}
	not authz.allow with input as object.union(unclassed("write_file"), hint)
}
