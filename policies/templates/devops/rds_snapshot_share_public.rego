# Template: rds_snapshot_share_public
# Domain: devops
# Severity: critical
# Frameworks: SOC2, ISO-27001
# Tags: snapshots, exposure
# Tier: mixed
# Tool surface: modify_db_snapshot_attribute, modify_snapshot_attribute, share_snapshot, modify_image_attribute
# Summary: Snapshots and images. Sharing one with everybody is refused; with an account that is not listed waits.
# Purpose: A public snapshot is a copy of a database that anybody restores; search engines list them within hours.
# Inputs: values_to_add, account_id, group, public and their like, at any depth.
# Edit: tools, recipient_fields, removal_fields, everybody, public_switches, trusted_accounts.

package gate.authz

import rego.v1

import data.gate.lib

rds_snapshot_share_public_defaults := {
	"tools": [
		"image_attribute_modify", "image_permission_modify", "image_share", "launch_permission_modify", "snapshot_attribute_modify",
		"snapshot_permission_modify", "snapshot_publish", "snapshot_share",
	],
	"recipient_fields": [
		"account", "account_id", "add", "attribute_values_to_add", "group", "group_name", "principal", "recipient", "share_with",
		"shared_account", "target_account", "user_group", "user_id", "value_to_add", "values_to_add",
	],
	"removal_fields": ["group_to_remove", "remove", "user_id_to_remove", "value_to_remove", "values_to_remove"],
	"everybody": ["*", "all", "allusers", "everybody", "everyone", "public"],
	"public_switches": ["is_public", "make_public", "public", "public_access"],
	"trusted_accounts": [],
}

rds_snapshot_share_public_settings := object.union(rds_snapshot_share_public_defaults, given) if given := data.gate.rds_snapshot_share_public

else := rds_snapshot_share_public_defaults

watches contains "rds_snapshot_share_public" if lib.tool_changes(rds_snapshot_share_public_settings.tools)

# METADATA
# title: Everybody
deny contains "Violation: rds_snapshot_share_public: a snapshot or image is shared with everybody (values_to_add, group, public); share it with the account that restores it." if {
	lib.watched.rds_snapshot_share_public
	rds_snapshot_share_public_public
}

# METADATA
# title: An account that is not listed
review contains "Review: rds_snapshot_share_public: a snapshot or image is shared with an account that is not in trusted_accounts; approve it where the account's owner and its data's owner agreed." if {
	lib.watched.rds_snapshot_share_public
	not rds_snapshot_share_public_public
	not rds_snapshot_share_public_known
	not rds_snapshot_share_public_only_removes
}

rds_snapshot_share_public_public if lib.switched_on(rds_snapshot_share_public_settings.public_switches)

rds_snapshot_share_public_public if {
	some value in rds_snapshot_share_public_recipients
	value in {lower(one) | some one in rds_snapshot_share_public_settings.everybody}
}

rds_snapshot_share_public_known if {
	count(rds_snapshot_share_public_recipients) > 0
	every value in rds_snapshot_share_public_recipients {
		value in {lower(one) | some one in rds_snapshot_share_public_settings.trusted_accounts}
	}
}

rds_snapshot_share_public_only_removes if {
	lib.given(rds_snapshot_share_public_settings.removal_fields)
	count(rds_snapshot_share_public_recipients) == 0
}

# A list may be written in one text, and an account as a number.
rds_snapshot_share_public_recipients contains lower(trim_space(part)) if {
	some value in lib.values(rds_snapshot_share_public_settings.recipient_fields)
	lib.says_something(value)
	some part in split(lib.as_text(value), ",")
}

rds_snapshot_share_public_recipients contains "*" if {
	some value in lib.values(rds_snapshot_share_public_settings.recipient_fields)
	value == "*"
}
