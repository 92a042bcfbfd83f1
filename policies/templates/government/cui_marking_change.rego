# Template: cui_marking_change
# Domain: government
# Severity: high
# Frameworks: NIST-800-171, 32-CFR-2002, EO-13556, CMMC
# Tags: cui, marking
# Tier: mixed
# Tool surface: update_marking, remove_marking, decontrol_document, downgrade_classification, set_sensitivity_label
# Summary: Markings. One that is taken off or lowered names the authority that decontrols, and waits; marking higher is anybody's duty.
# Purpose: Once CUI is unmarked it is mailed like anything else. 32 CFR 2002.18 lets the designating agency decontrol, and nobody who merely holds it.
# Inputs: marking, label, new_classification and their like; previous_marking; decontrol_authority; at any depth.
# Edit: tools, lowering_tools, new_fields, old_fields, low_words, high_words, classified_words, authority_fields.

package gate.authz

import rego.v1

import data.gate.lib

cui_marking_change_defaults := {
	"tools": [
		"banner_marking_update", "classification_change", "classification_set", "classification_update", "cui_marking_set",
		"document_marking_update", "marking_change", "marking_edit", "marking_set", "marking_update", "sensitivity_label_change",
		"sensitivity_label_set", "sensitivity_label_update",
	],
	"lowering_tools": [
		"classification_downgrade", "classification_lower", "classification_remove", "cui_decontrol", "cui_remove", "declassify",
		"decontrol", "marking_clear", "marking_downgrade", "marking_remove", "marking_strip", "sensitivity_label_clear",
		"sensitivity_label_downgrade", "sensitivity_label_remove",
	],
	"new_fields": [
		"category", "classification", "classification_level", "label", "label_id", "label_name", "marking", "new_classification",
		"new_label", "new_marking", "sensitivity", "sensitivity_label", "to",
	],
	"old_fields": [
		"current_classification", "current_marking", "from", "old_classification", "old_marking", "previous_classification",
		"previous_label", "previous_marking",
	],
	"low_words": [
		"decontrolled", "general", "internal", "non_cui", "none", "public", "releasable", "u", "unclassified", "uncontrolled",
		"unrestricted",
	],
	"high_words": ["confidential", "cui", "fouo", "itar", "les", "noforn", "ouo", "restricted", "secret"],
	"classified_words": ["confidential", "secret"],
	"authority_fields": [
		"classification_authority", "declassification_authority", "decontrol_authority", "decontrol_id", "decontrol_notice", "derived_from",
		"designating_agency_approval", "oca_approval",
	],
}

cui_marking_change_settings := object.union(cui_marking_change_defaults, given) if given := data.gate.cui_marking_change

else := cui_marking_change_defaults

watches contains "cui_marking_change" if lib.tool_changes(cui_marking_change_settings.tools)

watches contains "cui_marking_change_lower" if lib.tool_changes(cui_marking_change_settings.lowering_tools)

# METADATA
# title: Nobody's decision
deny contains "Violation: cui_marking_change: the marking (marking, label) is taken off or lowered without an authority (decontrol_authority); ask the designating agency." if {
	cui_marking_change_lowers
	not lib.given(cui_marking_change_settings.authority_fields)
}

# METADATA
# title: Decontrolled
review contains "Review: cui_marking_change: the marking (marking, label) is taken off or lowered under an authority (decontrol_authority); approve it where its notice covers this document." if {
	cui_marking_change_lowers
	lib.given(cui_marking_change_settings.authority_fields)
}

cui_marking_change_lowers if lib.watched.cui_marking_change_lower

cui_marking_change_lowers if {
	lib.watched.cui_marking_change
	lib.mentions(cui_marking_change_settings.new_fields, cui_marking_change_settings.low_words)
}

# A marking that nobody knows may be a lower one.
cui_marking_change_lowers if {
	lib.watched.cui_marking_change
	not lib.mentions(cui_marking_change_settings.new_fields, cui_marking_change_settings.high_words)
}

cui_marking_change_lowers if {
	lib.watched.cui_marking_change
	lib.mentions(cui_marking_change_settings.old_fields, cui_marking_change_settings.classified_words)
	not lib.mentions(cui_marking_change_settings.new_fields, cui_marking_change_settings.classified_words)
}
