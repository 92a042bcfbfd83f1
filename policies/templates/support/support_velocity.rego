# Template: support_velocity
# Domain: support
# Severity: high
# Frameworks: SOC2, ATO
# Tags: account-takeover, insider
# Tier: mixed
# Tool surface: unlock_account, reset_password, update_customer_email, issue_refund
# Summary: Many accounts in short time. Above so many changes of accounts by one agent the next waits, above more it is refused.
# Purpose: One hijacked or misled agent changes account after account; a person notices after some, a counter after five.
# Inputs: agent_history.recent_sequence, current_time.
# Edit: tools, within_minutes, review_from, deny_from.

package gate.authz

import rego.v1

import data.gate.lib

support_velocity_defaults := {
	"tools": [
		"account_reactivate", "account_recover", "account_unlock", "customer_email_change", "customer_email_update",
		"customer_phone_update", "login_email_update", "mfa_reset", "password_reset", "password_set", "recovery_email_update",
		"refund_issue", "user_email_update", "user_unlock",
	],
	"within_minutes": 10,
	"review_from": 4,
	"deny_from": 10,
}

support_velocity_settings := object.union(support_velocity_defaults, given) if given := data.gate.support_velocity

else := support_velocity_defaults

watches contains "support_velocity" if lib.tool_changes(support_velocity_settings.tools)

# METADATA
# title: Very many
deny contains "Violation: support_velocity: deny_from or more changes of accounts within within_minutes (agent_history); stop, and have a person look at what was changed." if {
	lib.watched.support_velocity
	count(support_velocity_before) >= support_velocity_settings.deny_from
}

# METADATA
# title: Many
review contains "Review: support_velocity: review_from or more changes of accounts within within_minutes (agent_history); approve it where the cases are known and belong together." if {
	lib.watched.support_velocity
	count(support_velocity_before) >= support_velocity_settings.review_from
}

# METADATA
# title: Nobody knows
review contains "Review: support_velocity: the time of the call cannot be read (current_time), so nobody knows how many there were; approve it where the case is known." if {
	lib.watched.support_velocity
	not lib.now_ms
}

# What this agent did before, each call once. A time in the future counts: clocks of replicas differ.
support_velocity_before contains position if {
	some position, step in input.agent_history.recent_sequence
	lib.holds_any_of(lib.forms_of(step.tool), support_velocity_settings.tools)
	lib.now_ms - step.ts_ms <= support_velocity_settings.within_minutes * 60000
}
