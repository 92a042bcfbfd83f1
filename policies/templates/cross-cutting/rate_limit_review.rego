# Template: rate_limit_review
# Domain: cross-cutting
# Severity: medium
# Frameworks: SOC2
# Tags: velocity
# Tier: review
# Tool surface: any tool that does not plainly read
# Summary: Rate. An agent that changes things faster than people work is looked at before it reaches the hard limit.
# Purpose: A loop does its damage below the limit that stops it. Reads are left alone: they are many in ordinary work.
# Inputs: recent_request_count, velocity_degraded; what the name says of the tool.
# Edit: review_above, also_reads.

package gate.authz

import rego.v1

rate_limit_review_defaults := {
	"review_above": 60,
	"also_reads": false,
}

rate_limit_review_settings := object.union(rate_limit_review_defaults, given) if given := data.gate.rate_limit_review

else := rate_limit_review_defaults

# METADATA
# title: Faster than people work
# description: A count that is no number is too many.
review contains "Review: rate_limit_review: recent_request_count is above review_above; approve it where a run of this size is meant, or slow the agent down." if {
	rate_limit_review_counts
	not rate_limit_review_calm
}

rate_limit_review_calm if {
	calls := object.get(input, "recent_request_count", 0)
	is_number(calls)
	calls <= rate_limit_review_settings.review_above
}

rate_limit_review_counts if rate_limit_review_settings.also_reads

rate_limit_review_counts if not input.names_say[input.tool_type].plainly_reads
