# Template: marketing_pii_egress
# Domain: marketing
# Severity: medium
# Frameworks: GDPR, CCPA, CAN-SPAM, CASL
# Tags: privacy, audiences
# Tier: review
# Tool surface: upload_custom_audience, export_contacts, sync_audience, send_campaign, create_customer_match_list
# Summary: Contacts that leave, and mail to many. Lists go hashed and with a consent to advertisers, other exports wait, and a campaign lets people unsubscribe.
# Purpose: A list in an ad platform is a disclosure to a third party. CAN-SPAM (16 CFR 316) fines each mail without a way out, and a list of a partner never agreed to anything.
# Inputs: hashed, hash_type; consent_basis, consent; unsubscribe_url, suppression_list; to, destination; at any depth.
# Edit: audience_tools, hash_fields, consent_fields, export_tools, destination_fields, internal_domains, send_tools, unsubscribe_fields, test_fields.

package gate.authz

import rego.v1

import data.gate.lib

marketing_pii_egress_defaults := {
	"audience_tools": [
		"audience_push", "audience_share", "audience_sync", "audience_upload", "custom_audience_add", "custom_audience_create",
		"custom_audience_update", "customer_list_upload", "customer_match_create", "customer_match_upload", "lookalike_audience_create",
	],
	"hash_fields": ["hashed", "is_hashed", "pre_hashed"],
	"consent_fields": [
		"ad_user_data_consent", "consent", "consent_basis", "consent_id", "consent_source", "lawful_basis", "opt_in_source",
	],
	"export_tools": [
		"contact_export", "contact_list_export", "contact_list_share", "crm_export", "customer_list_export", "lead_export",
		"lead_list_share", "lead_share", "list_member_export", "mailing_list_export", "segment_export", "subscriber_export",
	],
	"destination_fields": ["bucket", "destination", "email", "endpoint", "recipient", "to", "uri", "url"],
	"internal_domains": [],
	"send_tools": [
		"blast_send", "bulk_email_send", "campaign_email_send", "campaign_send", "email_blast", "mass_email_send", "newsletter_send",
		"sms_campaign_send",
	],
	"unsubscribe_fields": [
		"asm_group_id", "list_unsubscribe", "opt_out_text", "suppression_group", "suppression_list", "suppression_list_id", "unsubscribe",
		"unsubscribe_group_id", "unsubscribe_link", "unsubscribe_url",
	],
	"test_fields": ["dry_run", "is_test", "preview", "test_send"],
}

marketing_pii_egress_settings := object.union(marketing_pii_egress_defaults, given) if given := data.gate.marketing_pii_egress

else := marketing_pii_egress_defaults

watches contains "marketing_pii_egress_audience" if lib.tool_changes(marketing_pii_egress_settings.audience_tools)

watches contains "marketing_pii_egress_export" if lib.tool_changes(marketing_pii_egress_settings.export_tools)

watches contains "marketing_pii_egress_send" if lib.tool_changes(marketing_pii_egress_settings.send_tools)

# METADATA
# title: An audience
review contains "Review: marketing_pii_egress: people go to an advertiser without a hash (hashed) or a consent (consent_basis); approve it where both are true, or say them." if {
	lib.watched.marketing_pii_egress_audience
	not marketing_pii_egress_fit_to_share
}

# METADATA
# title: A list that leaves
review contains "Review: marketing_pii_egress: a list of people goes to a destination (to, url) that is not of internal_domains; approve it where a contract lets that party have it." if {
	lib.watched.marketing_pii_egress_export
	not lib.inside(marketing_pii_egress_settings.destination_fields, marketing_pii_egress_settings.internal_domains)
}

# METADATA
# title: No way out
review contains "Review: marketing_pii_egress: the campaign has no way to unsubscribe (unsubscribe_url, suppression_list); add it, or approve it as mail about an order." if {
	lib.watched.marketing_pii_egress_send
	not lib.affirmed(marketing_pii_egress_settings.test_fields)
	not lib.given(marketing_pii_egress_settings.unsubscribe_fields)
}

marketing_pii_egress_fit_to_share if {
	lib.affirmed(marketing_pii_egress_settings.hash_fields)
	lib.given(marketing_pii_egress_settings.consent_fields)
}
