package gate.templates.infra_writes_test

import rego.v1

import data.gate.templates.fixtures

name := "infra_writes"

test_without_plan_and_change_it_is_refused if {
	every arguments in [
		{"workspace": "prod"},
		{},
		{"env": "eu-1", "plan_id": "p-1"},
		{"env": ["dev", "prod"]},
		{"env": "staging-of-prod"},
	] {
		fixtures.denies(name, {"tool_type": "terraform_apply", "arguments": arguments})
	}
}

test_planned_it_waits if {
	every arguments in [
		{"cluster": "eu-live", "plan_url": "https://ci.example/1", "change_ticket": "CHG-1"},
	] {
		fixtures.asks(name, {"tool_type": "helm_upgrade", "arguments": arguments})
	}
}

test_destroying_is_refused if {
	every arguments in [
		{"env": "prod", "plan_id": "p", "ticket": "CHG-1", "destroy": "true"},
	] {
		fixtures.denies(name, {"tool_type": "terraform_apply", "arguments": arguments})
	}
}

test_other_environments_pass if {
	every arguments in [
		{"context": "eu-staging-2"},
		{"cluster": "dev"},
		{"env": "Test", "destroy": true},
	] {
		fixtures.silent(name, {"tool_type": "kubectl_apply", "arguments": arguments})
	}
}

test_reading_passes if {
	every arguments in [
		{"cluster": "prod"},
	] {
		fixtures.silent(name, {"tool_type": "kubectl_get", "arguments": arguments})
	}
}

test_another_tool_is_let_through if {
	every arguments in [
		{"workspace": "prod"},
		{},
		{"env": "eu-1", "plan_id": "p-1"},
		{"env": ["dev", "prod"]},
		{"env": "staging-of-prod"},
		{"cluster": "eu-live", "plan_url": "https://ci.example/1", "change_ticket": "CHG-1"},
		{"env": "prod", "plan_id": "p", "ticket": "CHG-1", "destroy": "true"},
	] {
		fixtures.silent(name, {"tool_type": "summarize_thread", "arguments": arguments})
	}
}
