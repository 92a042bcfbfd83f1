# Template: brand_publishing
# Domain: marketing
# Severity: medium
# Frameworks: FTC-Act, FTC-Endorsements, brand
# Tags: publishing, claims
# Tier: review
# Tool surface: create_post, publish_tweet, schedule_social_post, publish_press_release, launch_ad_campaign
# Summary: What is published in the brand's name. Without an approval a person looks; with one, claims that need proof and large budgets are looked at too.
# Purpose: A post is screenshotted within a minute. Section 5 of the FTC Act wants proof of a claim before it is made, and most embarrassments were one unread draft.
# Inputs: approval_id, approved_by; status, draft; text, caption, headline; daily_budget, budget; at any depth.
# Edit: tools, harmless_tools, draft_fields, state_fields, unpublished, approval_fields, text_fields, claim_words, budget_fields, review_above.

package gate.authz

import rego.v1

import data.gate.lib

brand_publishing_defaults := {
	"tools": [
		"ad_campaign_launch", "ad_create", "ad_launch", "ad_publish", "article_publish", "blog_post_publish", "blog_publish",
		"campaign_activate", "campaign_launch", "facebook_post", "instagram_post", "instagram_publish", "landing_page_publish",
		"linkedin_post", "linkedin_publish", "post_publish", "press_release_distribute", "press_release_publish", "press_release_send",
		"social_media_post", "social_post", "social_publish", "story_publish", "threads_publish", "tiktok_post", "tweet_create",
		"tweet_post", "tweet_publish", "tweet_schedule", "tweet_send", "video_publish", "youtube_upload",
	],
	"harmless_tools": ["analytic", "draft", "idea", "preview", "report", "suggestion"],
	"draft_fields": ["as_draft", "draft", "dry_run", "is_draft", "paused", "save_as_draft"],
	"state_fields": ["post_status", "publish_status", "state", "status"],
	"unpublished": ["draft", "in_review", "paused", "pending", "pending_review"],
	"approval_fields": [
		"approval", "approval_id", "approved_by", "brand_approval", "brand_review_id", "legal_review_id", "review_ticket",
	],
	"text_fields": ["body", "caption", "content", "copy", "description", "headline", "message", "text", "title"],
	"claim_words": [
		"carbon_neutral", "chemical_free", "clinically_proven", "cure", "cures", "doctor_recommended", "eco_friendly", "fda_approved",
		"guaranteed_result", "guaranteed_return", "miracle", "number_one", "risk_free", "scientifically_proven",
	],
	"budget_fields": ["amount", "budget", "daily_budget", "lifetime_budget", "spend_cap", "total_budget"],
	"review_above": 1000,
}

brand_publishing_settings := object.union(brand_publishing_defaults, given) if given := data.gate.brand_publishing

else := brand_publishing_defaults

watches contains "brand_publishing" if {
	lib.tool_changes(brand_publishing_settings.tools)
	not lib.tool_is(brand_publishing_settings.harmless_tools)
}

# METADATA
# title: Not approved
review contains "Review: brand_publishing: no approval (approval_id, approved_by) is named for what the brand would say; approve it where you read it, or save it as a draft." if {
	brand_publishing_public
	not lib.given(brand_publishing_settings.approval_fields)
}

# METADATA
# title: A claim
review contains "Review: brand_publishing: the text (caption, headline) makes a claim that needs proof; approve it where the proof is on file, or say less." if {
	brand_publishing_public
	lib.mentions(brand_publishing_settings.text_fields, brand_publishing_settings.claim_words)
}

# METADATA
# title: A large budget
review contains "Review: brand_publishing: the budget (daily_budget, budget) is above review_above or cannot be read; approve it as the owner of the budget." if {
	brand_publishing_public
	count(lib.values(brand_publishing_settings.budget_fields)) > 0
	not lib.at_most(brand_publishing_settings.budget_fields, brand_publishing_settings.review_above)
}

brand_publishing_public if {
	lib.watched.brand_publishing
	not lib.affirmed(brand_publishing_settings.draft_fields)
	not lib.among(brand_publishing_settings.state_fields, brand_publishing_settings.unpublished)
}
