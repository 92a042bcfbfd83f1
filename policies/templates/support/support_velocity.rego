# Template: support_velocity
# Domain: support
# Severity: medium
# Frameworks: SOC2, ATO
# Tags: velocity, account-takeover
# Tier: review
# Tool surface: reset_password, unlock_account, update_customer, issue_refund, merge_accounts
# Summary: Speed of support. Changes of accounts beyond what a person could do wait; the same sensitive act again within a moment waits too.
# Purpose: Whoever steers an agent has minutes until somebody looks. A desk that resets twenty accounts in one minute is not working, it is being used.
# Inputs: recent_request_count, agent_history; tool_type.
# Edit: account_tools, sensitive_tools, most_a_minute, pause_ms.

package gate.authz

import rego.v1

import data.gate.lib

support_velocity_defaults := {
	"account_tools": [
		"account_close", "account_merge", "account_reactivate", "account_suspend", "account_unlock", "account_update", "address_update",
		"contact_update", "customer_merge", "customer_update", "email_change", "mfa_reset", "password_reset", "plan_change", "profile_update",
		"subscription_cancel", "subscription_change", "subscription_update", "ticket_bulk", "user_unlock", "user_update",
	],
	"sensitive_tools": [
		"account_merge", "account_unlock", "credit_issue", "email_change", "gift_card_issue", "mfa_reset", "order_refund", "password_reset",
		"phone_change", "refund_create", "refund_issue", "user_unlock",
	],
	"most_a_minute": 30,
	"pause_ms": 30000,
}

support_velocity_settings := object.union(support_velocity_defaults, given) if given := data.gate.support_velocity

else := support_velocity_defaults

watches contains "support_velocity_account" if lib.tool_changes(support_velocity_settings.account_tools)

watches contains "support_velocity_sensitive" if lib.tool_changes(support_velocity_settings.sensitive_tools)

# METADATA
# title: Too fast
review contains "Review: support_velocity: the agent made more calls (recent_request_count) than most_a_minute; approve it where a job of this size was ordered." if {
	support_velocity_changes
	not support_velocity_slow
}

# METADATA
# title: One after the other
review contains "Review: support_velocity: another sensitive act of this agent was a moment ago (agent_history); approve it where it is another ticket of the same day's work." if {
	lib.watched.support_velocity_sensitive
	lib.recently(support_velocity_settings.sensitive_tools, support_velocity_settings.pause_ms)
}

support_velocity_changes if lib.watched.support_velocity_account

support_velocity_changes if lib.watched.support_velocity_sensitive

support_velocity_slow if {
	is_number(input.recent_request_count)
	input.recent_request_count <= support_velocity_settings.most_a_minute
}
