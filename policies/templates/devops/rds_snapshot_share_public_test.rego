package gate.templates.rds_snapshot_share_public_test

import rego.v1

import data.gate.templates.fixtures

name := "rds_snapshot_share_public"

test_everybody_is_refused if {
	every arguments in [
		{"ValuesToAdd": ["all"]},
		{"values_to_add": "111122223333, ALL"},
		{"public": "yes"},
		{"group": "*"},
	] {
		fixtures.denies(name, {"tool_type": "modify_db_snapshot_attribute", "arguments": arguments})
	}
}

test_unknown_accounts_wait if {
	every arguments in [
		{"account_id": "111122223333"},
		{"account_id": 111122223333},
		{},
	] {
		fixtures.asks(name, {"tool_type": "share_snapshot", "arguments": arguments})
	}
}

test_own_accounts_pass if {
	every arguments in [
		{"account_id": "111122223333"},
		{"accounts": [111122223333]},
	] {
		fixtures.silent(name, {"tool_type": "share_snapshot", "arguments": arguments}) with data.gate.rds_snapshot_share_public as {"trusted_accounts": ["111122223333"]}
	}
}

test_taking_away_passes if {
	every arguments in [
		{"ValuesToRemove": ["all"]},
	] {
		fixtures.silent(name, {"tool_type": "modify_db_snapshot_attribute", "arguments": arguments})
	}
}

test_reading_passes if {
	every arguments in [
		{"group": "all"},
	] {
		fixtures.silent(name, {"tool_type": "describe_db_snapshot_attributes", "arguments": arguments})
	}
}

test_another_tool_is_let_through if {
	every arguments in [
		{"ValuesToAdd": ["all"]},
		{"values_to_add": "111122223333, ALL"},
		{"public": "yes"},
		{"group": "*"},
		{"account_id": "111122223333"},
		{"account_id": 111122223333},
		{},
	] {
		fixtures.silent(name, {"tool_type": "summarize_thread", "arguments": arguments})
	}
}
