# Template: claim_approval_thresholds
# Domain: insurance
# Severity: high
# Frameworks: NAIC, state-insurance
# Tags: claims
# Tier: mixed
# Tool surface: approve_claim, settle_claim, pay_claim, deny_claim, set_reserve, reopen_claim
# Summary: Claims. An agent approves small ones that an adjuster assessed; larger ones wait, very large ones and those under investigation are refused.
# Purpose: Each adjuster has an authority in money (NAIC model 902 on unfair claims settlement); a denial owes its reason, and fraud units freeze payments.
# Inputs: amount, settlement_amount; adjuster_id, assessment_id; fraud_flag, siu_referral; denial_reason; at any depth.
# Edit: approve_tools, deny_tools, amount_fields, alone_up_to, deny_above, assessment_fields, fraud_fields, reason_fields.

package gate.authz

import rego.v1

import data.gate.lib

claim_approval_thresholds_defaults := {
	"approve_tools": [
		"claim_adjudicate", "claim_approve", "claim_authorize", "claim_disburse", "claim_pay", "claim_payment", "claim_payout", "claim_settle",
		"claim_settlement", "reserve_increase", "reserve_set", "settlement_approve", "settlement_issue", "settlement_offer",
	],
	"deny_tools": ["claim_close_without_payment", "claim_decline", "claim_deny", "claim_reject"],
	"amount_fields": [
		"amount", "approved_amount", "claim_amount", "payment_amount", "payout_amount", "reserve_amount", "settlement_amount",
	],
	"alone_up_to": 500,
	"deny_above": 25000,
	"assessment_fields": ["adjuster", "adjuster_id", "appraisal_id", "assessment_id", "estimate_id", "inspection_id", "reviewed_by"],
	"fraud_fields": [
		"fraud_flag", "fraud_suspected", "investigation_open", "siu", "siu_hold", "siu_referral", "suspected_fraud", "under_investigation",
	],
	"reason_fields": ["denial_reason", "exclusion", "policy_clause", "policy_provision", "reason", "reason_code"],
}

claim_approval_thresholds_settings := object.union(claim_approval_thresholds_defaults, given) if given := data.gate.claim_approval_thresholds

else := claim_approval_thresholds_defaults

watches contains "claim_approval_thresholds_approve" if lib.tool_changes(claim_approval_thresholds_settings.approve_tools)

watches contains "claim_approval_thresholds_deny" if lib.tool_changes(claim_approval_thresholds_settings.deny_tools)

# METADATA
# title: Under investigation
deny contains "Violation: claim_approval_thresholds: the claim is under investigation (fraud_flag, siu_referral); the special unit releases it." if {
	lib.watched.claim_approval_thresholds_approve
	lib.switched_on(claim_approval_thresholds_settings.fraud_fields)
}

# METADATA
# title: Beyond anybody's agent
deny contains "Violation: claim_approval_thresholds: the amount is above deny_above, or no plain number; an adjuster with that authority approves it." if {
	lib.watched.claim_approval_thresholds_approve
	not lib.at_most(claim_approval_thresholds_settings.amount_fields, claim_approval_thresholds_settings.deny_above)
}

# METADATA
# title: A refusal without a reason
deny contains "Violation: claim_approval_thresholds: no reason or clause (denial_reason, policy_provision) is given for the refusal; the policyholder is owed it." if {
	lib.watched.claim_approval_thresholds_deny
	not lib.given(claim_approval_thresholds_settings.reason_fields)
}

# METADATA
# title: Beyond an agent alone
review contains "Review: claim_approval_thresholds: the amount is above alone_up_to, or nobody assessed the loss (assessment_id); approve it as adjuster." if {
	lib.watched.claim_approval_thresholds_approve
	not claim_approval_thresholds_routine
}

# METADATA
# title: A refusal
review contains "Review: claim_approval_thresholds: a claim is refused for a reason (denial_reason); approve it as adjuster, where the clause says so." if {
	lib.watched.claim_approval_thresholds_deny
}

claim_approval_thresholds_routine if {
	lib.at_most(claim_approval_thresholds_settings.amount_fields, claim_approval_thresholds_settings.alone_up_to)
	lib.given(claim_approval_thresholds_settings.assessment_fields)
}
