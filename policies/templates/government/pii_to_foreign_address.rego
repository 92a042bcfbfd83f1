# Template: pii_to_foreign_address
# Domain: government
# Severity: critical
# Frameworks: Privacy-Act, EO-14117, FedRAMP, ITAR
# Tags: privacy, foreign
# Tier: mixed
# Tool surface: send_email, http_post, upload_file, share_file, webhook_send, send_fax
# Summary: Data of citizens that go abroad. Identity numbers are sent to no foreign address, other personal data only after a person looked.
# Purpose: The OPM files went abroad row by row. EO 14117 and 28 CFR 202 forbid whole classes of transfers of such data to some countries.
# Inputs: personal data in any text; to, cc, url, host; country, destination_country; at any depth.
# Edit: tools, deny_kinds, review_kinds, recipient_fields, country_fields, home_countries, home_suffixes, foreign_domains.

package gate.authz

import rego.v1

import data.gate.lib

pii_to_foreign_address_defaults := {
	"tools": [
		"email_forward", "email_reply", "email_send", "fax_send", "file_share", "file_transfer", "file_upload", "http_post", "http_put",
		"http_request", "letter_send", "mail_send", "message_send", "record_share", "record_transfer", "sftp_put", "sftp_upload",
		"webhook_post", "webhook_send",
	],
	"deny_kinds": ["biometric", "driver_license", "health", "national_id", "passport", "ssn", "tax_id"],
	"review_kinds": ["bank_account", "birth_date", "card", "iban"],
	"recipient_fields": ["address", "bcc", "cc", "destination", "email", "endpoint", "host", "recipient", "to", "uri", "url"],
	"country_fields": ["country", "country_code", "destination_country", "recipient_country", "to_country"],
	"home_countries": ["america", "united_states", "united_states_of_america", "us", "usa"],
	"home_suffixes": ["ai", "app", "cc", "co", "fm", "gg", "io", "ly", "me", "sh", "to", "tv", "us"],
	"foreign_domains": ["126.com", "163.com", "aliyun.com", "foxmail.com", "naver.com", "qq.com", "yandex.com"],
}

pii_to_foreign_address_settings := object.union(pii_to_foreign_address_defaults, given) if given := data.gate.pii_to_foreign_address

else := pii_to_foreign_address_defaults

watches contains "pii_to_foreign_address" if lib.tool_changes(pii_to_foreign_address_settings.tools)

# METADATA
# title: Numbers that identify
deny contains message if {
	pii_to_foreign_address_abroad
	kinds := lib.personal & {kind | some kind in pii_to_foreign_address_settings.deny_kinds}
	count(kinds) > 0
	message := concat("", [
		"Violation: pii_to_foreign_address: personal data (", concat(", ", sort(kinds)),
		") would go to a foreign address (to, url, country); use the treaty or assistance channel.",
	])
}

# METADATA
# title: Other personal data
review contains message if {
	pii_to_foreign_address_abroad
	kinds := lib.personal & {kind | some kind in pii_to_foreign_address_settings.review_kinds}
	count(kinds) > 0
	message := concat("", [
		"Review: pii_to_foreign_address: personal data (", concat(", ", sort(kinds)),
		") would go to a foreign address (to, url, country); approve it where an agreement covers it.",
	])
}

pii_to_foreign_address_abroad if {
	lib.watched.pii_to_foreign_address
	some host in pii_to_foreign_address_hosts
	pii_to_foreign_address_foreign(host)
}

pii_to_foreign_address_abroad if {
	lib.watched.pii_to_foreign_address
	count(lib.values(pii_to_foreign_address_settings.country_fields)) > 0
	not lib.among(pii_to_foreign_address_settings.country_fields, pii_to_foreign_address_settings.home_countries)
}

# One field may list several addresses.
pii_to_foreign_address_hosts contains host if {
	some value in lib.values(pii_to_foreign_address_settings.recipient_fields)
	is_string(value)
	some part in split(replace(value, ";", ","), ",")
	host := lib.host_of(part)
}

pii_to_foreign_address_foreign(host) if {
	labels := split(host, ".")
	suffix := labels[count(labels) - 1]
	count(suffix) == 2
	trim(suffix, "abcdefghijklmnopqrstuvwxyz") == ""
	not suffix in pii_to_foreign_address_settings.home_suffixes
}

pii_to_foreign_address_foreign(host) if {
	some domain in pii_to_foreign_address_settings.foreign_domains
	endswith(concat("", [".", host]), concat("", [".", lower(domain)]))
}
