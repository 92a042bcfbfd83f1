package gate.templates.agent_impersonation_test

import rego.v1

import data.gate.templates.fixtures

name := "agent_impersonation"

calling(arguments) := {"tool_type": "create_ticket", "arguments": arguments}

test_another_agent_is_refused if {
	every arguments in [
		{"agent_id": "acme/payments-bot"},
		{"agentId": "other"},
		{"meta": {"acting_agent": ["acme/files-bot", "other"]}},
		{"body": `{"as_agent": "other"}`},
		{"agent_id": 7},
	] {
		fixtures.denies(name, calling(arguments))
	}
}

test_its_own_name_passes if {
	every arguments in [{"agent_id": "acme/files-bot"}, {"agent_id": "files-bot"}, {"agent_id": ""}, {"agent_id": null}, {"title": "agent_id"}] {
		fixtures.silent(name, calling(arguments))
	}
	fixtures.denies(name, object.union(calling({"agent_id": "x"}), {"agent_id": null}))
}

test_a_person_is_asked_about if {
	fixtures.asks(name, calling({"on_behalf_of": "ada@example.org"}))
	fixtures.silent(name, calling({"on_behalf_of": "desk"})) with data.gate.agent_impersonation as {"allowed_principals": ["desk"]}
}

test_a_tool_that_changes_who_acts if {
	fixtures.asks(name, {"tool_type": "aws.assumeRole"})
	fixtures.silent(name, {"tool_type": "list_impersonations"})
}
