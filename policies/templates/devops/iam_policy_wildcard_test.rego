package gate.templates.iam_policy_wildcard_test

import rego.v1

import data.gate.templates.fixtures

name := "iam_policy_wildcard"

test_everything_is_refused if {
	every arguments in [
		{"policy_document": {"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}},
		{"Action": ["s3:GetObject", "*:*"]},
		{"rules": [{"verbs": ["*"], "resources": ["*"]}]},
		{"PolicyArn": "arn:aws:iam::aws:policy/AdministratorAccess"},
		{"role": "roles/owner"},
		{"statement": [{"effect": "Allow", "action": "*"}, {"effect": "Deny", "action": "s3:*"}]},
	] {
		fixtures.denies(name, {"tool_type": "create_policy", "arguments": arguments})
	}
}

test_everybody_is_refused if {
	every arguments in [
		{"Principal": "*"},
		{"Principal": {"AWS": ["*"]}},
		{"members": ["allUsers"]},
	] {
		fixtures.denies(name, {"tool_type": "put_bucket_policy", "arguments": arguments})
	}
}

test_a_whole_service_waits if {
	every arguments in [
		{"Action": "s3:*"},
	] {
		fixtures.asks(name, {"tool_type": "create_policy", "arguments": arguments})
	}
}

test_lists_pass if {
	every arguments in [
		{"Action": ["s3:GetObject", "s3:List*"], "Resource": "arn:aws:s3:::acme-logs/*"},
		{"Effect": "Deny", "Action": "*"},
		{},
		{"role": "roles/viewer"},
		{"rules": [{"verbs": ["*"], "resources": ["pods"]}]},
	] {
		fixtures.silent(name, {"tool_type": "create_policy", "arguments": arguments})
	}
}

test_reading_passes if {
	every arguments in [
		{"Action": "*"},
	] {
		fixtures.silent(name, {"tool_type": "get_policy", "arguments": arguments})
	}
}

test_roles_are_a_parameter if {
	every arguments in [
		{"role": "acme-root"},
	] {
		fixtures.denies(name, {"tool_type": "create_role_binding", "arguments": arguments}) with data.gate.iam_policy_wildcard as {"everything_roles": ["acme_root"]}
	}
}

test_another_tool_is_let_through if {
	every arguments in [
		{"policy_document": {"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}},
		{"Action": ["s3:GetObject", "*:*"]},
		{"rules": [{"verbs": ["*"], "resources": ["*"]}]},
		{"PolicyArn": "arn:aws:iam::aws:policy/AdministratorAccess"},
		{"role": "roles/owner"},
		{"statement": [{"effect": "Allow", "action": "*"}, {"effect": "Deny", "action": "s3:*"}]},
		{"Principal": "*"},
		{"Principal": {"AWS": ["*"]}},
		{"members": ["allUsers"]},
		{"Action": "s3:*"},
	] {
		fixtures.silent(name, {"tool_type": "summarize_thread", "arguments": arguments})
	}
}
