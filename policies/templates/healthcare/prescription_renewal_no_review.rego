# Template: prescription_renewal_no_review
# Domain: healthcare
# Severity: critical
# Frameworks: HIPAA, DEA, state-pharmacy
# Tags: medication, prescribing
# Tier: mixed
# Tool surface: renew_prescription, refill_prescription, create_medication_request, approve_refill
# Summary: Prescriptions. Controlled substances are never renewed by an agent; any other without a prescriber and a recent review is refused, the rest waits.
# Purpose: 21 CFR 1306 wants a practitioner behind each controlled prescription. A renewal that nobody looked at is how a stopped drug goes on.
# Inputs: schedule, medication; prescriber_id, last_review_date, refills; at any depth.
# Edit: tools, harmless_tools, schedule_fields, uncontrolled, drug_fields, controlled, prescriber_fields, review_fields.

package gate.authz

import rego.v1

import data.gate.lib

prescription_renewal_no_review_defaults := {
	"tools": [
		"erx_send", "medication_order", "medication_prescribe", "medication_refill", "medication_renew", "medication_request_create",
		"prescription_approve", "prescription_authorize", "prescription_create", "prescription_extend", "prescription_refill",
		"prescription_renew", "prescription_send", "prescription_submit", "prescription_transmit", "refill_approve", "refill_authorize",
		"rx_refill", "rx_renew", "rx_send",
	],
	"harmless_tools": ["message", "reminder", "request_forward"],
	"schedule_fields": [
		"controlled_substance", "controlled_substance_schedule", "dea_class", "dea_schedule", "drug_schedule", "is_controlled",
	],
	"uncontrolled": ["0", "false", "legend", "n", "no", "non controlled", "none", "not controlled", "rx", "vi"],
	"drug_fields": ["display", "drug", "drug_name", "medication", "medication_name", "name"],
	"controlled": [
		"adderall", "alprazolam", "amphetamine", "buprenorphine", "clonazepam", "codeine", "diazepam", "fentanyl", "hydrocodone",
		"hydromorphone", "ketamine", "lorazepam", "methadone", "methylphenidate", "morphine", "oxycodone", "oxycontin", "percocet",
		"phenobarbital", "pregabalin", "tapentadol", "temazepam", "testosterone", "tramadol", "valium", "vicodin", "xanax", "zolpidem",
	],
	"prescriber_fields": [
		"authorizing_provider", "npi", "ordering_provider", "practitioner_id", "prescriber", "prescriber_id", "prescriber_npi",
	],
	"review_fields": [
		"encounter_id", "last_review_date", "last_visit", "med_review_id", "medication_review_id", "reviewed_by", "visit_id",
	],
}

prescription_renewal_no_review_settings := object.union(prescription_renewal_no_review_defaults, given) if given := data.gate.prescription_renewal_no_review

else := prescription_renewal_no_review_defaults

watches contains "prescription_renewal_no_review" if {
	lib.tool_changes(prescription_renewal_no_review_settings.tools)
	not lib.tool_is(prescription_renewal_no_review_settings.harmless_tools)
}

# METADATA
# title: Controlled
deny contains "Violation: prescription_renewal_no_review: the substance is controlled (schedule, medication); the prescriber signs it with the two factors of the DEA." if {
	lib.watched.prescription_renewal_no_review
	prescription_renewal_no_review_controlled
}

# METADATA
# title: Nobody prescribes, or looked
deny contains "Violation: prescription_renewal_no_review: no prescriber (prescriber_id) or no review of the medication (last_review_date, encounter_id); send a refill request to the prescriber instead." if {
	lib.watched.prescription_renewal_no_review
	not prescription_renewal_no_review_reviewed
}

# METADATA
# title: A prescription
review contains "Review: prescription_renewal_no_review: a prescription goes to the pharmacy; approve it as the prescriber." if {
	lib.watched.prescription_renewal_no_review
}

prescription_renewal_no_review_controlled if lib.mentions(prescription_renewal_no_review_settings.drug_fields, prescription_renewal_no_review_settings.controlled)

prescription_renewal_no_review_controlled if {
	some value in lib.values(prescription_renewal_no_review_settings.schedule_fields)
	lib.says_something(value)
	not prescription_renewal_no_review_no_schedule(value)
}

prescription_renewal_no_review_no_schedule(value) if {
	some one in prescription_renewal_no_review_settings.uncontrolled
	lib.plain(lib.as_text(value)) == lib.plain(one)
}

prescription_renewal_no_review_reviewed if {
	lib.given(prescription_renewal_no_review_settings.prescriber_fields)
	lib.given(prescription_renewal_no_review_settings.review_fields)
}
