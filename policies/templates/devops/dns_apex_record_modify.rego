# Template: dns_apex_record_modify
# Domain: devops
# Severity: critical
# Frameworks: SOC2, ISO-27001
# Tags: dns, availability
# Tier: mixed
# Tool surface: change_resource_record_sets, update_dns_record, create_dns_record, update_nameservers
# Summary: DNS. Records of a zone's apex and delegations need a change, and then a person; records below pass.
# Purpose: One wrong A, MX or NS at the apex takes the site and the mail of a company away, for as long as its TTL says, or hands them to somebody else.
# Inputs: name, record_name, zone, type, change_ticket and their like, at any depth.
# Edit: record_tools, delegation_tools, name_fields, zone_fields, type_fields, delegation_types, apex_names, ticket_fields.

package gate.authz

import rego.v1

import data.gate.lib

dns_apex_record_modify_defaults := {
	"record_tools": [
		"dns_add", "dns_change", "dns_create", "dns_delete", "dns_edit", "dns_modify", "dns_patch", "dns_remove", "dns_replace",
		"dns_set", "dns_update", "dns_upsert", "record_set_change", "record_set_create", "record_set_update", "zone_record_add",
		"zone_record_create", "zone_record_update",
	],
	"delegation_tools": [
		"delegation_update", "ds_record_update", "name_server_set", "name_server_update", "nameserver_change", "nameserver_set",
		"nameserver_update",
	],
	"name_fields": ["fqdn", "hostname", "name", "record_name", "subdomain"],
	"zone_fields": ["domain", "domain_name", "zone", "zone_name"],
	"type_fields": ["record_type", "rr_type", "type"],
	"delegation_types": ["dnskey", "ds", "ns", "soa"],
	"apex_names": [],
	"ticket_fields": ["change_id", "change_request", "change_ticket", "issue", "jira", "ticket", "ticket_id"],
}

dns_apex_record_modify_settings := object.union(dns_apex_record_modify_defaults, given) if given := data.gate.dns_apex_record_modify

else := dns_apex_record_modify_defaults

watches contains "dns_apex_record_modify" if lib.tool_changes(dns_apex_record_modify_settings.record_tools)

watches contains "dns_apex_record_modify" if lib.tool_changes(dns_apex_record_modify_settings.delegation_tools)

watches contains "dns_apex_record_modify_delegation" if lib.tool_changes(dns_apex_record_modify_settings.delegation_tools)

# METADATA
# title: Nobody ordered it
deny contains "Violation: dns_apex_record_modify: a record of the apex or a delegation (name, type) changes without a change reference (change_ticket); name the approved change." if {
	dns_apex_record_modify_touches
	not lib.given(dns_apex_record_modify_settings.ticket_fields)
}

# METADATA
# title: It was ordered
review contains "Review: dns_apex_record_modify: a record of the apex or a delegation (name, type) changes under a change reference; compare it with the zone and the TTL before you approve it." if {
	dns_apex_record_modify_touches
	lib.given(dns_apex_record_modify_settings.ticket_fields)
}

dns_apex_record_modify_touches if lib.watched.dns_apex_record_modify_delegation

dns_apex_record_modify_touches if {
	lib.watched.dns_apex_record_modify
	not dns_apex_record_modify_below
}

dns_apex_record_modify_touches if {
	lib.watched.dns_apex_record_modify
	some type in lib.values(dns_apex_record_modify_settings.type_fields)
	is_string(type)
	lower(trim_space(type)) in {lower(one) | some one in dns_apex_record_modify_settings.delegation_types}
}

# Every name that is said is one below the apex.
dns_apex_record_modify_below if {
	names := lib.values(dns_apex_record_modify_settings.name_fields)
	count(names) > 0
	zones := {dns_apex_record_modify_bare(zone) | some zone in lib.values(dns_apex_record_modify_settings.zone_fields)} | {dns_apex_record_modify_bare(name) | some name in dns_apex_record_modify_settings.apex_names}
	every name in names {
		bare := dns_apex_record_modify_bare(name)
		not bare in zones
		count(split(bare, ".")) != 2
		bare != ""
	}
}

# Without the dot of the root, without "@".
dns_apex_record_modify_bare(name) := trim(lower(trim_space(name)), ".@") if is_string(name)
