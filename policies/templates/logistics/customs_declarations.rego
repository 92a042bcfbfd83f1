# Template: customs_declarations
# Domain: logistics
# Severity: high
# Frameworks: C-TPAT, 19-CFR, EAR, ITAR
# Tags: customs, export-control
# Tier: mixed
# Tool surface: submit_customs_declaration, file_customs_entry, file_isf, file_eei, amend_export_declaration
# Summary: Declarations to customs. One without code, origin or value, to an embargoed country, or of controlled goods without a licence is refused; a large one waits for the broker.
# Purpose: Whoever files is liable for what it says (19 USC 1592), and an export without its licence is a crime (15 CFR 736). A wrong code is a penalty per shipment.
# Inputs: hs_code, country_of_origin, declared_value; destination_country; eccn, usml_category, license_number; draft; at any depth.
# Edit: tools, draft_fields, code_fields, origin_fields, value_fields, review_above, destination_fields, embargoed, embargoed_codes, control_fields, uncontrolled, license_fields.

package gate.authz

import rego.v1

import data.gate.lib

customs_declarations_defaults := {
	"tools": [
		"aes_file", "ams_file", "broker_entry_submit", "customs_declaration_amend", "customs_declaration_create",
		"customs_declaration_file", "customs_declaration_submit", "customs_declare", "customs_entry_amend", "customs_entry_file",
		"customs_entry_submit", "eei_file", "eei_submit", "entry_summary_file", "export_declaration_amend", "export_declaration_file",
		"export_declaration_submit", "import_declaration_submit", "isf_file", "isf_submit",
	],
	"draft_fields": ["draft", "dry_run", "validate_only"],
	"code_fields": [
		"commodity_code", "hs", "hs_code", "hs_tariff_number", "hts_code", "schedule_b", "tariff_code", "tariff_number",
	],
	"origin_fields": ["coo", "country_of_origin", "origin", "origin_country"],
	"value_fields": ["customs_value", "declared_value", "invoice_value", "total_value"],
	"review_above": 2500,
	"destination_fields": [
		"consignee_country", "destination", "destination_country", "end_use_country", "to_country", "ultimate_destination",
	],
	"embargoed": ["belarus", "crimea", "cuba", "donetsk", "iran", "luhansk", "north_korea", "russia", "syria"],
	"embargoed_codes": ["BLR", "BY", "CU", "CUB", "IR", "IRN", "KP", "PRK", "RU", "RUS", "SY", "SYR"],
	"control_fields": ["eccn", "export_control_classification", "itar", "usml", "usml_category"],
	"uncontrolled": ["ear99", "false", "n/a", "no", "none"],
	"license_fields": ["ddtc_license", "export_license", "itar_exemption", "licence_number", "license_exception", "license_number"],
}

customs_declarations_settings := object.union(customs_declarations_defaults, given) if given := data.gate.customs_declarations

else := customs_declarations_defaults

watches contains "customs_declarations" if lib.tool_changes(customs_declarations_settings.tools)

# METADATA
# title: Not complete
deny contains "Violation: customs_declarations: the code (hs_code), the origin (country_of_origin) or the value (declared_value) is missing; take them from the invoice, not from a guess." if {
	customs_declarations_files
	not customs_declarations_complete
}

# METADATA
# title: Embargoed
deny contains "Violation: customs_declarations: the destination (destination_country) is embargoed; trade compliance decides, with a licence of the authority." if {
	customs_declarations_files
	customs_declarations_embargoed
}

# METADATA
# title: Controlled goods
deny contains "Violation: customs_declarations: the goods are controlled (eccn, usml_category) and no licence (license_number) is named; name it or its exception." if {
	customs_declarations_files
	some value in lib.values(customs_declarations_settings.control_fields)
	not lib.is_no(value)
	not lower(lib.as_text(value)) in customs_declarations_settings.uncontrolled
	not lib.given(customs_declarations_settings.license_fields)
}

# METADATA
# title: A formal entry
review contains "Review: customs_declarations: the value (declared_value) is above review_above or cannot be read; approve it as the licensed broker." if {
	customs_declarations_files
	customs_declarations_complete
	not lib.at_most(customs_declarations_settings.value_fields, customs_declarations_settings.review_above)
}

customs_declarations_files if {
	lib.watched.customs_declarations
	not lib.affirmed(customs_declarations_settings.draft_fields)
}

customs_declarations_complete if {
	every names in [customs_declarations_settings.code_fields, customs_declarations_settings.origin_fields, customs_declarations_settings.value_fields] {
		lib.given(names)
	}
}

customs_declarations_embargoed if lib.mentions(customs_declarations_settings.destination_fields, customs_declarations_settings.embargoed)

customs_declarations_embargoed if {
	some value in lib.values(customs_declarations_settings.destination_fields)
	is_string(value)
	upper(trim_space(value)) in customs_declarations_settings.embargoed_codes
}
