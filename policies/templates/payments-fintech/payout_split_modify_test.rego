package gate.templates.payout_split_modify_test

import rego.v1

import data.gate.templates.fixtures

name := "payout_split_modify"

test_proof_is_asked if {
	every arguments in [
		{"account": "x", "verification_id": "none"},
		{},
	] {
		fixtures.denies(name, {"tool_type": "setPayoutAccount", "arguments": arguments})
	}
}

test_shares_are_numbers if {
	every arguments in [
		{"share": "most"},
		{"shares": [{"share": "5"}, {"share": "96"}]},
	] {
		fixtures.denies(name, {"tool_type": "update_revenue_share", "arguments": arguments})
	}
}

test_others_wait if {
	every arguments in [
		{"share": 95},
		{"rule": "flat"},
		{"percent": "12 %"},
	] {
		fixtures.asks(name, {"tool_type": "update_revenue_share", "arguments": arguments})
	}
}

test_the_largest_share_is_a_parameter if fixtures.denies(name, {"tool_type": "update_revenue_share", "arguments": {"share": 31}}) with data.gate.payout_split_modify as {"most_share": 30}
