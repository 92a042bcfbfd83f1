# Template: off_hours_actions
# Domain: cross-cutting
# Severity: medium
# Frameworks: SOC2, ISO-27001
# Tags: change-management, hours
# Tier: review
# Tool surface: deploy, release, migrate, restart, publish, payroll_run, rotate_secret, bulk_update
# Summary: Off hours. What reaches many people or machines waits until somebody is at work.
# Purpose: A change that goes wrong at night goes wrong for hours. The floor asks about money, production data and deployments; this asks about more, by your clock.
# Inputs: tool_type, current_time.
# Edit: tools, hours (weekdays, from_hour, to_hour, utc_offset_minutes).

package gate.authz

import rego.v1

import data.gate.lib

off_hours_actions_defaults := {
	"tools": [
		"bulk_send", "bulk_update", "campaign_send", "config_apply", "deploy", "dns_update", "failover", "feature_flag_set", "firewall_update",
		"host_reboot", "mass_mail", "migrate", "payroll_run", "policy_apply", "post_publish", "release", "rollout", "secret_rotate", "server_restart",
		"service_restart", "terraform_apply",
	],
	"hours": {
		"weekdays": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"],
		"from_hour": 9,
		"to_hour": 17,
		"utc_offset_minutes": 0,
	},
}

off_hours_actions_settings := object.union(off_hours_actions_defaults, given) if given := data.gate.off_hours_actions

else := off_hours_actions_defaults

watches contains "off_hours_actions" if lib.tool_changes(off_hours_actions_settings.tools)

# METADATA
# title: A far-reaching action outside the hours
# description: A time that cannot be read is outside.
review contains "Review: off_hours_actions: current_time is outside the working hours and the tool reaches many; approve it where it cannot wait and somebody watches it." if {
	lib.watched.off_hours_actions
	not lib.between(off_hours_actions_settings.hours)
}
