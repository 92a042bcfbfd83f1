# Template: account_freeze_lift
# Domain: finance
# Severity: critical
# Frameworks: OFAC, BSA, AML
# Tags: fraud, sanctions
# Tier: mixed
# Tool surface: unfreeze_account, lift_account_hold, unblock_card, release_account_restriction
# Summary: Frozen accounts. One that sanctions, a court or an investigation froze stays frozen; lifting any other freeze names its case and waits.
# Purpose: Blocked property may be released only under a licence (31 CFR 501), and funds that were let go are gone before anybody asks why.
# Inputs: freeze_reason, hold_type, restriction_code; case_id, release_order; at any depth.
# Edit: tools, harmless_tools, reason_fields, never, case_fields.

package gate.authz

import rego.v1

import data.gate.lib

account_freeze_lift_defaults := {
	"tools": [
		"account_release", "account_unblock", "account_unfreeze", "account_unrestrict", "asset_unfreeze", "block_lift", "card_unblock",
		"debit_block_remove", "freeze_lift", "freeze_remove", "fund_release", "fund_unfreeze", "account_hold_lift", "account_hold_release",
		"account_hold_remove", "account_restriction_lift", "account_restriction_release", "account_restriction_remove", "freeze_release",
		"payment_hold_release",
	],
	"harmless_tools": ["change", "code", "deploy", "ediscovery", "legal_hold", "litigation", "order_hold", "shipment"],
	"reason_fields": [
		"block_reason", "freeze_code", "freeze_reason", "freeze_type", "hold_code", "hold_reason", "hold_type", "reason_code",
		"restriction_code", "restriction_type",
	],
	"never": [
		"aml", "court", "garnishment", "investigation", "law_enforcement", "levy", "ofac", "sanction", "sdn", "subpoena", "terror",
	],
	"case_fields": ["alert_id", "case_id", "case_number", "investigation_id", "release_order", "ticket_id"],
}

account_freeze_lift_settings := object.union(account_freeze_lift_defaults, given) if given := data.gate.account_freeze_lift

else := account_freeze_lift_defaults

watches contains "account_freeze_lift" if {
	lib.tool_changes(account_freeze_lift_settings.tools)
	not lib.tool_is(account_freeze_lift_settings.harmless_tools)
}

# METADATA
# title: Frozen by law
deny contains "Violation: account_freeze_lift: the reason of the freeze (freeze_reason, hold_type) is sanctions, a court or an investigation; compliance lifts it under the licence or order." if {
	lib.watched.account_freeze_lift
	lib.mentions(account_freeze_lift_settings.reason_fields, account_freeze_lift_settings.never)
}

# METADATA
# title: No case
deny contains "Violation: account_freeze_lift: no case (case_id, release_order) says why the freeze ends; name the closed case." if {
	lib.watched.account_freeze_lift
	not lib.given(account_freeze_lift_settings.case_fields)
}

# METADATA
# title: Another freeze
review contains "Review: account_freeze_lift: a freeze is lifted under a case (case_id); approve it where the case is closed and says so." if {
	lib.watched.account_freeze_lift
	lib.given(account_freeze_lift_settings.case_fields)
}
