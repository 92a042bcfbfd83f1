# Template: cdr_egress
# Domain: telecom
# Severity: critical
# Frameworks: CPNI, FCC, GDPR, SCA
# Tags: privacy, location
# Tier: mixed
# Tool surface: export_cdr, get_call_detail_records, get_subscriber_location, lookup_cell_site, share_cpni
# Summary: Records of calls and places. A location goes out only under a legal process or an emergency; call detail only to a customer who authenticated or for the network's own work.
# Purpose: In 2006 pretexters bought phone bills, in 2018 anybody bought locations; the FCC fined the carriers. 47 CFR 64.2010 wants a password before call detail.
# Inputs: legal_process_id, warrant_id; customer_authenticated; purpose; msisdn, phone_numbers; to, destination; at any depth.
# Edit: location_tools, detail_tools, legal_fields, authenticated_fields, purpose_fields, own_purposes, destination_fields, internal_domains.

package gate.authz

import rego.v1

import data.gate.lib

cdr_egress_defaults := {
	"location_tools": [
		"cell_location", "cell_site_location", "cell_site_lookup", "cell_tower_dump", "device_locate", "handset_locate",
		"location_history_subscriber", "msisdn_locate", "msisdn_location", "sim_locate", "sim_location", "subscriber_locate",
		"subscriber_location", "tower_dump",
	],
	"detail_tools": [
		"call_detail", "call_history_get", "call_log_export", "call_record_export", "call_record_get", "call_record_query", "cdr_dump",
		"cdr_export", "cdr_fetch", "cdr_get", "cdr_query", "cdr_search", "cdr_send", "cdr_share", "cpni_export", "cpni_get", "cpni_share",
		"ipdr_export", "ipdr_get", "sms_record_export", "sms_record_get", "xdr_export",
	],
	"legal_fields": [
		"court_order_id", "emergency_request_id", "exigent_request_id", "legal_process_id", "psap_incident_id", "subpoena_id", "warrant_id",
		"warrant_number",
	],
	"authenticated_fields": [
		"account_password_verified", "authenticated_customer", "customer_authenticated", "password_verified", "pin_verified",
	],
	"purpose_fields": ["purpose", "purpose_code", "use_case"],
	"own_purposes": [
		"billing", "billing_dispute", "fraud", "fraud_detection", "network_operation", "network_troubleshooting", "rating",
	],
	"destination_fields": ["bucket", "destination", "email", "endpoint", "recipient", "to", "uri", "url"],
	"internal_domains": [],
}

cdr_egress_settings := object.union(cdr_egress_defaults, given) if given := data.gate.cdr_egress

else := cdr_egress_defaults

watches contains "cdr_egress_location" if lib.tool_is(cdr_egress_settings.location_tools)

watches contains "cdr_egress_detail" if lib.tool_is(cdr_egress_settings.detail_tools)

# METADATA
# title: A place
deny contains "Violation: cdr_egress: no legal process or emergency (warrant_id, emergency_request_id) is named for the location of a subscriber; the legal team takes the request in." if {
	lib.watched.cdr_egress_location
	not lib.given(cdr_egress_settings.legal_fields)
}

# METADATA
# title: Call detail
deny contains "Violation: cdr_egress: nothing lets call detail out (customer_authenticated, purpose, legal_process_id); authenticate the customer by password, or name the process." if {
	lib.watched.cdr_egress_detail
	not cdr_egress_permitted
	not lib.given(cdr_egress_settings.legal_fields)
}

# METADATA
# title: Under a process
review contains "Review: cdr_egress: records of a subscriber go out under a process (warrant_id, legal_process_id); approve it as legal compliance, within its dates." if {
	cdr_egress_watched
	lib.given(cdr_egress_settings.legal_fields)
}

cdr_egress_watched if lib.watched.cdr_egress_location

cdr_egress_watched if lib.watched.cdr_egress_detail

cdr_egress_permitted if {
	lib.affirmed(cdr_egress_settings.authenticated_fields)
	cdr_egress_stays
}

cdr_egress_permitted if {
	lib.among(cdr_egress_settings.purpose_fields, cdr_egress_settings.own_purposes)
	cdr_egress_stays
}

cdr_egress_stays if count(lib.values(cdr_egress_settings.destination_fields)) == 0

cdr_egress_stays if lib.inside(cdr_egress_settings.destination_fields, cdr_egress_settings.internal_domains)
