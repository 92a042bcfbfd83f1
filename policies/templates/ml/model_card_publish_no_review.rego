# Template: model_card_publish_no_review
# Domain: ml
# Severity: high
# Frameworks: NIST-AI-RMF
# Tags: model-cards, release
# Tier: mixed
# Tool surface: publish_model_card, update_model_card, publish_model, release_model
# Summary: Model cards and models. One is published after a person reviewed it; one without evaluation or limits waits.
# Purpose: A card is what others rely on: what it says of bias, limits and data is a promise (NIST AI RMF, Map and Measure; EU AI Act art. 13).
# Inputs: reviewed_by, approval_id, draft, evaluation, limitations and their like, at any depth.
# Edit: tools, reviewer_fields, draft_fields, content_fields.

package gate.authz

import rego.v1

import data.gate.lib

model_card_publish_no_review_defaults := {
	"tools": [
		"model_card_create", "model_card_edit", "model_card_publish", "model_card_push", "model_card_update", "model_open_source",
		"model_publish", "model_release", "model_visibility",
	],
	"reviewer_fields": ["approval_id", "approved_by", "review_id", "reviewed_by", "reviewer"],
	"draft_fields": ["draft", "dry_run", "is_draft", "is_private", "preview", "private"],
	"content_fields": ["bias", "eval_result", "evaluation", "evaluation_id", "limitation", "metric", "risk"],
}

model_card_publish_no_review_settings := object.union(model_card_publish_no_review_defaults, given) if given := data.gate.model_card_publish_no_review

else := model_card_publish_no_review_defaults

watches contains "model_card_publish_no_review" if lib.tool_changes(model_card_publish_no_review_settings.tools)

# METADATA
# title: Not reviewed
deny contains "Violation: model_card_publish_no_review: a model or its card is published without a review (reviewed_by, approval_id); publish a draft, and let somebody other than its author review it." if {
	model_card_publish_no_review_publishes
	not model_card_publish_no_review_reviewed
}

# METADATA
# title: Nothing measured
review contains "Review: model_card_publish_no_review: a reviewed model or card is published without an evaluation or limits (evaluation, limitations); approve it where they stand elsewhere." if {
	model_card_publish_no_review_publishes
	model_card_publish_no_review_reviewed
	not lib.given(model_card_publish_no_review_settings.content_fields)
}

model_card_publish_no_review_publishes if {
	lib.watched.model_card_publish_no_review
	not lib.affirmed(model_card_publish_no_review_settings.draft_fields)
}

# An agent does not review itself.
model_card_publish_no_review_reviewed if {
	reviewers := {value |
		some value in lib.values(model_card_publish_no_review_settings.reviewer_fields)
		lib.says_something(value)
	}
	count(reviewers - {input.agent_id}) > 0
}
