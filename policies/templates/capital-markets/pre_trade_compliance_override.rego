# Template: pre_trade_compliance_override
# Domain: capital-markets
# Severity: critical
# Frameworks: SEC, FINRA, MiFID-II
# Tags: limits, compliance
# Tier: mixed
# Tool surface: override_compliance_check, release_blocked_order, raise_trading_limit, submit_order
# Summary: Checks before a trade. An agent overrides none and switches none off in an order; raising a limit waits.
# Purpose: Under SEC rule 15c3-5 the controls are under the sole control of the broker, and a person with that duty signs each exception.
# Inputs: skip_compliance, override_limits and their like, at any depth.
# Edit: override_tools, limit_tools, order_tools, skip_fields.

package gate.authz

import rego.v1

import data.gate.lib

pre_trade_compliance_override_defaults := {
	"override_tools": [
		"blocked_order_release", "breach_override", "compliance_bypass", "compliance_check_disable", "compliance_check_skip",
		"compliance_override", "pre_trade_bypass", "pre_trade_disable", "pre_trade_override", "restricted_list_override", "risk_check_bypass",
		"risk_check_disable", "risk_check_override", "risk_limit_override", "wash_sale_override",
	],
	"limit_tools": [
		"credit_limit_raise", "exposure_limit_set", "exposure_limit_update", "position_limit_raise", "position_limit_set",
		"position_limit_update", "restricted_list_remove", "restricted_list_update", "risk_limit_set", "risk_limit_update",
		"trading_limit_raise", "trading_limit_set", "trading_limit_update",
	],
	"order_tools": [
		"order_amend", "order_create", "order_modify", "order_place", "order_replace", "order_send", "order_submit", "stock_order",
		"trade_execute", "trade_submit",
	],
	"skip_fields": [
		"bypass_compliance", "bypass_limit", "bypass_risk", "compliance_override", "force_order", "ignore_limit", "override_compliance",
		"override_limit", "override_restricted", "skip_compliance", "skip_pre_trade_check", "skip_risk_check",
	],
}

pre_trade_compliance_override_settings := object.union(pre_trade_compliance_override_defaults, given) if given := data.gate.pre_trade_compliance_override

else := pre_trade_compliance_override_defaults

watches contains "pre_trade_compliance_override_override" if {
	lib.tool_is(pre_trade_compliance_override_settings.override_tools)
	not lib.tool_action[0] in data.gate.verbs.read
}

watches contains "pre_trade_compliance_override_limit" if lib.tool_changes(pre_trade_compliance_override_settings.limit_tools)

watches contains "pre_trade_compliance_override_order" if lib.tool_changes(pre_trade_compliance_override_settings.order_tools)

# METADATA
# title: A check that is passed over
deny contains "Violation: pre_trade_compliance_override: the tool passes over a check before the trade; a supervisory principal overrides it, with the reason on record." if {
	lib.watched.pre_trade_compliance_override_override
}

# METADATA
# title: A check that is switched off
deny contains "Violation: pre_trade_compliance_override: the order switches a check off (skip_compliance, override_limits); leave that out, and change the order until it passes." if {
	lib.watched.pre_trade_compliance_override_order
	lib.switched_on(pre_trade_compliance_override_settings.skip_fields)
}

# METADATA
# title: Other limits
review contains "Review: pre_trade_compliance_override: a limit of trading changes; approve it where the risk committee or the client agreement says so." if {
	lib.watched.pre_trade_compliance_override_limit
}
