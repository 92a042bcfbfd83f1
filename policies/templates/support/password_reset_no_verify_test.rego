package gate.templates.password_reset_no_verify_test

import rego.v1

import data.gate.templates.fixtures

name := "password_reset_no_verify"

test_a_chosen_password_is_refused if {
	every arguments in [
		{"user_id": 1, "new_password": "x"},
		{"options": {"TemporaryPassword": "x"}, "verification_id": "V-1"},
	] {
		fixtures.denies(name, {"tool_type": "reset_password", "arguments": arguments})
	}
}

test_another_address_takes_a_check if {
	every arguments in [
		{"send_to": "x@mail.example"},
		{"new_phone": "1", "verification_id": "n/a"},
	] {
		fixtures.denies(name, {"tool_type": "reset_user_password", "arguments": arguments})
	}
}

test_so_does_where_resets_go if {
	every arguments in [
		{"user_id": 1},
	] {
		fixtures.denies(name, {"tool_type": "update_recovery_email", "arguments": arguments})
	}
}

test_checked_it_waits if {
	every arguments in [
		{"verification_id": "V-1"},
	] {
		fixtures.asks(name, {"tool_type": "update_recovery_email", "arguments": arguments})
	}
}

test_the_address_on_file_is_ordinary if {
	every arguments in [
		{"user_id": 1},
		{},
		{"email": "ada@example.org"},
	] {
		fixtures.silent(name, {"tool_type": "reset_user_password", "arguments": arguments})
	}
}

test_what_proves_is_a_parameter if {
	every arguments in [
		{},
		{"to": ""},
	] {
		fixtures.silent(name, {"tool_type": "send_reset_link", "arguments": arguments}) with data.gate.password_reset_no_verify as {"reference_fields": ["branch_visit"]}
	}
}

test_another_tool_is_let_through if {
	every arguments in [
		{"user_id": 1, "new_password": "x"},
		{"options": {"TemporaryPassword": "x"}, "verification_id": "V-1"},
		{"send_to": "x@mail.example"},
		{"new_phone": "1", "verification_id": "n/a"},
		{"user_id": 1},
		{"verification_id": "V-1"},
	] {
		fixtures.silent(name, {"tool_type": "summarize_thread", "arguments": arguments})
	}
}
