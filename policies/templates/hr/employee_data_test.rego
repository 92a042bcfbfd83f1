package gate.templates.employee_data_test

import rego.v1

import data.gate.templates.fixtures

name := "employee_data"

test_what_hr_decides_waits if {
	every arguments in [
		{"BaseSalary": 1},
		{"fields": [{"employment-status": "inactive"}]},
		{"data": "{\"bonus\": 5}"},
	] {
		fixtures.asks(name, {"tool_type": "workers.update", "arguments": arguments})
	}
}

test_guarded_parts_wait if {
	every arguments in [
		{"include": "compensation"},
		{"select": ["name", "bank_account"]},
	] {
		fixtures.asks(name, {"tool_type": "employee_lookup", "arguments": arguments})
	}
}

test_others_run if {
	every arguments in [
		{},
		{"include": "manager"},
	] {
		fixtures.silent(name, {"tool_type": "employee_lookup", "arguments": arguments})
	}
}

test_records_without_it_run if {
	every arguments in [
		{"salary": ""},
		{"email": "a@b.example"},
	] {
		fixtures.silent(name, {"tool_type": "worker_update", "arguments": arguments})
	}
}

test_fields_are_a_parameter if fixtures.asks(name, {"tool_type": "worker_update", "arguments": {"parking": "P1"}}) with data.gate.employee_data as {"decided_fields": ["parking"]}
