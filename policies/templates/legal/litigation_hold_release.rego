# Template: litigation_hold_release
# Domain: legal
# Severity: critical
# Frameworks: FRCP, SOX
# Tags: preservation
# Tier: mixed
# Tool surface: release_legal_hold, lift_litigation_hold, close_hold, expire_preservation_notice
# Summary: Ending a legal hold. Without the order of counsel, or while the matter is open, it is refused; otherwise it waits.
# Purpose: What is released may be deleted the same night. 18 USC 1519 and FRCP 37(e) do not ask whether it was an agent.
# Inputs: release_authorization, released_by; matter_status; at any depth.
# Edit: tools, release_fields, status_fields, closed_statuses.

package gate.authz

import rego.v1

import data.gate.lib

litigation_hold_release_defaults := {
	"tools": [
		"ediscovery_hold_disable", "hold_notice_withdraw", "legal_hold_close", "legal_hold_disable", "legal_hold_end", "legal_hold_expire",
		"legal_hold_lift", "legal_hold_off", "legal_hold_release", "legal_hold_remove", "legal_hold_suspend", "litigation_hold_close",
		"litigation_hold_disable", "litigation_hold_end", "litigation_hold_lift", "litigation_hold_off", "litigation_hold_release",
		"litigation_hold_remove", "litigation_hold_suspend", "preservation_hold_release", "preservation_notice_expire", "preservation_release",
	],
	"release_fields": [
		"authorization_id", "counsel_approval", "court_order", "release_authorization", "release_memo", "release_order", "released_by_counsel",
	],
	"status_fields": ["case_status", "matter_state", "matter_status"],
	"closed_statuses": ["closed", "dismissed", "resolved", "settled"],
}

litigation_hold_release_settings := object.union(litigation_hold_release_defaults, given) if given := data.gate.litigation_hold_release

else := litigation_hold_release_defaults

watches contains "litigation_hold_release" if lib.tool_changes(litigation_hold_release_settings.tools)

# METADATA
# title: Nobody ordered it
deny contains "Violation: litigation_hold_release: no order of counsel (release_authorization, release_memo) ends the hold; ask the attorney who issued it." if {
	lib.watched.litigation_hold_release
	not lib.given(litigation_hold_release_settings.release_fields)
}

# METADATA
# title: The matter is open
deny contains "Violation: litigation_hold_release: the matter is not said to be closed (matter_status); a hold lasts until it is, appeals included." if {
	lib.watched.litigation_hold_release
	not lib.among(litigation_hold_release_settings.status_fields, litigation_hold_release_settings.closed_statuses)
}

# METADATA
# title: An ordered release
review contains "Review: litigation_hold_release: a hold ends by order of counsel (release_authorization); approve it where no other matter needs the same custodians." if {
	lib.watched.litigation_hold_release
}
