package gate.templates.delete_terraform_state_test

import rego.v1

import data.gate.templates.fixtures

name := "delete_terraform_state"

test_without_a_backup_or_a_change_it_is_refused if {
	every arguments in [
		{"address": "module.db"},
		{"backup_id": "s3-v7"},
		{"change_ticket": "CHG-1", "backup_id": "n/a"},
	] {
		fixtures.denies(name, {"tool_type": "terraform.state_rm", "arguments": arguments})
	}
}

test_with_both_it_waits if {
	every arguments in [
		{"backup_id": "s3-v7", "change_ticket": "CHG-1"},
	] {
		fixtures.asks(name, {"tool_type": "terraform_state_rm", "arguments": arguments})
	}
}

test_the_file_is_written_by_nobody if {
	every arguments in [
		{"Key": "env/prod/terraform.tfstate"},
		{"objects": [{"key": "a.TFSTATE.backup"}]},
	] {
		fixtures.denies(name, {"tool_type": "put_object", "arguments": arguments})
	}
}

test_other_files_pass if {
	every arguments in [
		{"key": "logs/app.txt"},
		{"key": "notes/about-tfstate.md"},
		{},
	] {
		fixtures.silent(name, {"tool_type": "put_object", "arguments": arguments})
	}
}

test_another_workspace_passes if {
	every arguments in [
		{"id": 1},
	] {
		fixtures.silent(name, {"tool_type": "delete_slack_workspace", "arguments": arguments})
	}
}

test_listing_is_a_read if {
	every arguments in [
		{},
	] {
		fixtures.silent(name, {"tool_type": "terraform_state_list", "arguments": arguments})
	}
}

test_another_tool_is_let_through if {
	every arguments in [
		{"address": "module.db"},
		{"backup_id": "s3-v7"},
		{"change_ticket": "CHG-1", "backup_id": "n/a"},
		{"backup_id": "s3-v7", "change_ticket": "CHG-1"},
		{"Key": "env/prod/terraform.tfstate"},
		{"objects": [{"key": "a.TFSTATE.backup"}]},
	] {
		fixtures.silent(name, {"tool_type": "summarize_thread", "arguments": arguments})
	}
}
