# Template: meter_data_export
# Domain: energy-utilities
# Severity: high
# Frameworks: CPUC-15-15, DataGuard, GDPR, CCPA
# Tags: privacy, metering
# Tier: mixed
# Tool surface: export_meter_data, share_interval_usage, send_usage_data, green_button_connect, download_interval_data
# Summary: Meter data of customers. It leaves with the customer's authorization or as an aggregate of many; anything else stays.
# Purpose: A load profile says when a home is empty. State rules (such as 15/15: fifteen customers, none above 15 percent) and the DataGuard code say what may be shared.
# Inputs: authorization_id, consent_id; aggregated, customer_count, largest_share_percent; to, destination, url; at any depth.
# Edit: tools, authorization_fields, aggregate_fields, count_fields, share_fields, fewest_customers, largest_percent, destination_fields, internal_domains.

package gate.authz

import rego.v1

import data.gate.lib

meter_data_export_defaults := {
	"tools": [
		"ami_data_export", "ami_data_share", "green_button_connect", "green_button_share", "interval_data_download", "interval_data_export",
		"interval_data_send", "interval_data_share", "interval_usage_export", "interval_usage_share", "load_profile_export",
		"load_profile_share", "meter_data_download", "meter_data_export", "meter_data_send", "meter_data_share", "meter_reading_export",
		"meter_reading_share", "usage_data_export", "usage_data_send", "usage_data_share",
	],
	"authorization_fields": [
		"authorization_id", "consent_id", "consent_record", "customer_authorization", "customer_consent", "green_button_authorization",
	],
	"aggregate_fields": ["aggregate", "aggregated", "is_aggregated"],
	"count_fields": ["customer_count", "customers_in_group", "group_size"],
	"share_fields": ["largest_customer_percent", "largest_share", "largest_share_percent", "max_customer_share"],
	"fewest_customers": 15,
	"largest_percent": 15,
	"destination_fields": ["bucket", "destination", "email", "endpoint", "host", "recipient", "to", "uri", "url"],
	"internal_domains": [],
}

meter_data_export_settings := object.union(meter_data_export_defaults, given) if given := data.gate.meter_data_export

else := meter_data_export_defaults

watches contains "meter_data_export" if lib.tool_is(meter_data_export_settings.tools)

# METADATA
# title: Nobody agreed
deny contains "Violation: meter_data_export: no authorization (authorization_id) and no aggregate of enough customers (aggregated, customer_count, largest_share_percent); ask the customer, or aggregate." if {
	meter_data_export_leaves
	not meter_data_export_aggregate
	not lib.given(meter_data_export_settings.authorization_fields)
}

# METADATA
# title: A customer agreed
review contains "Review: meter_data_export: meter data of a customer go out under an authorization (authorization_id); approve it where it names this recipient and this period." if {
	meter_data_export_leaves
	not meter_data_export_aggregate
	lib.given(meter_data_export_settings.authorization_fields)
}

meter_data_export_leaves if {
	lib.watched.meter_data_export
	not lib.inside(meter_data_export_settings.destination_fields, meter_data_export_settings.internal_domains)
}

meter_data_export_aggregate if {
	lib.affirmed(meter_data_export_settings.aggregate_fields)
	lib.at_least(meter_data_export_settings.count_fields, meter_data_export_settings.fewest_customers)
	lib.at_most(meter_data_export_settings.share_fields, meter_data_export_settings.largest_percent)
}
