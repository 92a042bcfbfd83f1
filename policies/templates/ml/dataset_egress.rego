# Template: dataset_egress
# Domain: ml
# Severity: high
# Frameworks: NIST-AI-RMF, GDPR
# Tags: datasets, egress
# Tier: mixed
# Tool surface: push_dataset, upload_dataset, publish_dataset, share_dataset, export_dataset
# Summary: Datasets. Making one public, or sending personal data out, is refused; to a place that is not listed waits.
# Purpose: A dataset is copied the moment it is public; 38 TB of Microsoft AI's internal data lay open behind one link for years (found 2023).
# Inputs: private, visibility, destination, url, and personal data anywhere in the arguments.
# Edit: tools, destination_fields, private_fields, public_fields, visibility_fields, public_values, internal_domains, internal_buckets.

package gate.authz

import rego.v1

import data.gate.lib

dataset_egress_defaults := {
	"tools": [
		"dataset_copy", "dataset_export", "dataset_publish", "dataset_push", "dataset_release", "dataset_share", "dataset_sync",
		"dataset_transfer", "dataset_upload", "dataset_visibility",
	],
	"destination_fields": [
		"bucket", "callback_url", "destination", "destination_uri", "endpoint", "endpoint_url", "output_uri", "push_to", "remote",
		"target_uri", "to", "upload_url", "uri", "url",
	],
	"private_fields": ["is_private", "private"],
	"public_fields": ["is_public", "make_public", "public", "public_read"],
	"visibility_fields": ["access", "acl", "visibility"],
	"public_values": ["all_user", "anyone", "everyone", "open", "public"],
	"internal_domains": [],
	"internal_buckets": [],
}

dataset_egress_settings := object.union(dataset_egress_defaults, given) if given := data.gate.dataset_egress

else := dataset_egress_defaults

watches contains "dataset_egress" if lib.tool_changes(dataset_egress_settings.tools)

# METADATA
# title: Public
deny contains "Violation: dataset_egress: a dataset becomes public (private, visibility); keep it private, and let its owner release it with a data sheet." if {
	lib.watched.dataset_egress
	dataset_egress_public
}

# METADATA
# title: Personal data
deny contains "Violation: dataset_egress: a dataset with personal data goes to a place that is not listed (destination, url); take these columns out, or send it to a bucket of the company." if {
	dataset_egress_leaves
	count(lib.personal - {"email"}) > 0
}

# METADATA
# title: Somewhere
review contains "Review: dataset_egress: a dataset goes to a place that is not in internal_domains or internal_buckets (destination, url); approve it where its licence and its owner allow it." if dataset_egress_leaves

dataset_egress_leaves if {
	lib.watched.dataset_egress
	some value in lib.values(dataset_egress_settings.destination_fields)
	dataset_egress_outside(value)
}

dataset_egress_public if {
	some value in lib.values(dataset_egress_settings.private_fields)
	lib.is_no(value)
}

dataset_egress_public if lib.switched_on(dataset_egress_settings.public_fields)

dataset_egress_public if lib.mentions(dataset_egress_settings.visibility_fields, dataset_egress_settings.public_values)

# A host, or a place behind "s3://" and its like, that is listed. What is no address, such as a path, stays where it is.
dataset_egress_outside(value) if {
	is_string(value)
	dataset_egress_is_address(value)
	not dataset_egress_inside(value)
}

dataset_egress_is_address(value) if contains(value, "://")

dataset_egress_is_address(value) if contains(value, "@")

dataset_egress_inside(value) if {
	host := lib.host_of(value)
	some domain in dataset_egress_settings.internal_domains
	endswith(concat("", [".", host]), concat("", [".", lower(domain)]))
}

dataset_egress_inside(value) if startswith(lower(trim_space(value)), "file://")

dataset_egress_inside(value) if {
	some bucket in dataset_egress_settings.internal_buckets
	some scheme in ["s3://", "gs://", "abfs://", "abfss://", "az://"]
	startswith(concat("", [trim_suffix(lower(trim_space(value)), "/"), "/"]), concat("", [scheme, lower(bucket), "/"]))
}
