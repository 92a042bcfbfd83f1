package gate.templates.brand_publishing_test

import rego.v1

import data.gate.templates.fixtures

name := "brand_publishing"

test_unread_waits if {
	every arguments in [
		{},
		{"approval": "pending?", "text": "clinically-proven"},
		{"approved_by": "n/a"},
		{"status": ["draft", "live"]},
	] {
		fixtures.asks(name, {"tool_type": "linkedinPost", "arguments": arguments})
	}
}

test_budgets_that_cannot_be_read_wait if fixtures.asks(name, {"tool_type": "launch_campaign", "arguments": {"approval": "B", "budget": "5k"}})

test_drafts_run if {
	every arguments in [
		{"draft": true},
		{"state": "PENDING_REVIEW"},
	] {
		fixtures.silent(name, {"tool_type": "post_tweet", "arguments": arguments})
	}
}

test_words_are_a_parameter if fixtures.asks(name, {"tool_type": "post_tweet", "arguments": {"approval": "B", "text": "the best coffee"}}) with data.gate.brand_publishing as {"claim_words": ["best"]}
