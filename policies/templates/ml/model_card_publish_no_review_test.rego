package gate.templates.model_card_publish_no_review_test

import rego.v1

import data.gate.templates.fixtures

name := "model_card_publish_no_review"

test_unreviewed_it_stays if {
	every arguments in [
		{"model": "m"},
		{"reviewed_by": "n/a"},
		{"reviewed_by": "acme/files-bot"},
		{"draft": "false"},
		{"draft": true, "private": false},
	] {
		fixtures.denies(name, {"tool_type": "publish_model_card", "arguments": arguments})
	}
}

test_unmeasured_it_waits if {
	every arguments in [
		{"reviewed_by": "ada"},
	] {
		fixtures.asks(name, {"tool_type": "publish_model_card", "arguments": arguments})
	}
}

test_reviewed_and_measured_it_passes if {
	every arguments in [
		{"reviewed_by": "ada", "evaluation": {"f1": 0.9}},
		{"approval_id": "A-1", "limitations": "English alone"},
	] {
		fixtures.silent(name, {"tool_type": "publish_model_card", "arguments": arguments})
	}
}

test_drafts_pass if {
	every arguments in [
		{"draft": true},
		{"options": {"isPrivate": "yes"}},
	] {
		fixtures.silent(name, {"tool_type": "update_model_card", "arguments": arguments})
	}
}

test_reading_passes if {
	every arguments in [
		{},
	] {
		fixtures.silent(name, {"tool_type": "get_model_card", "arguments": arguments})
	}
}

test_reviews_are_a_parameter if {
	every arguments in [
		{"reviewed_by": "ada"},
	] {
		fixtures.denies(name, {"tool_type": "publish_model", "arguments": arguments}) with data.gate.model_card_publish_no_review as {"reviewer_fields": ["board_minute"]}
	}
}

test_another_tool_is_let_through if {
	every arguments in [
		{"model": "m"},
		{"reviewed_by": "n/a"},
		{"reviewed_by": "acme/files-bot"},
		{"draft": "false"},
		{"draft": true, "private": false},
		{"reviewed_by": "ada"},
	] {
		fixtures.silent(name, {"tool_type": "summarize_thread", "arguments": arguments})
	}
}
