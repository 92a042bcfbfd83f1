# Template: clinical_decision_override
# Domain: healthcare
# Severity: critical
# Frameworks: HIPAA, FDA-CDS, Joint-Commission
# Tags: patient-safety
# Tier: mixed
# Tool surface: override_alert, dismiss_interaction_alert, acknowledge_allergy_alert, update_care_plan
# Summary: Alerts of clinical decision support. Agents override no hard stop; every other override names the clinician and the reason, and waits.
# Purpose: Overridden allergy and interaction alerts are a leading cause of preventable harm; who overrode it, and why, has to be a licensed person.
# Inputs: alert_severity, alert_type; ordering_provider, override_reason; at any depth.
# Edit: tools, hard_fields, hard, clinician_fields, reason_fields.

package gate.authz

import rego.v1

import data.gate.lib

clinical_decision_override_defaults := {
	"tools": [
		"alert_override", "allergy_alert_acknowledge", "allergy_alert_dismiss", "bpa_dismiss", "bpa_override", "cds_alert_dismiss",
		"cds_override", "clinical_alert_acknowledge", "clinical_alert_dismiss", "clinical_alert_suppress", "clinical_decision_override",
		"contraindication_override", "dose_alert_override", "dose_limit_override", "drug_interaction_override", "duplicate_therapy_override",
		"interaction_alert_dismiss", "interaction_override", "sepsis_alert_dismiss", "triage_override",
	],
	"hard_fields": ["alert_category", "alert_level", "alert_severity", "alert_type", "interaction_severity", "severity"],
	"hard": [
		"allergy", "anaphylaxis", "contraindicated", "contraindication", "critical", "fatal", "hard_stop", "high", "life_threatening", "severe",
	],
	"clinician_fields": [
		"attending_provider", "clinician_id", "npi", "ordering_provider", "overriding_provider", "practitioner_id", "prescriber_id",
		"provider_id", "provider_npi",
	],
	"reason_fields": ["clinical_justification", "justification", "override_comment", "override_reason", "rationale", "reason"],
}

clinical_decision_override_settings := object.union(clinical_decision_override_defaults, given) if given := data.gate.clinical_decision_override

else := clinical_decision_override_defaults

watches contains "clinical_decision_override" if {
	lib.tool_is(clinical_decision_override_settings.tools)
	not lib.tool_action[0] in data.gate.verbs.read
}

# METADATA
# title: A hard stop
deny contains "Violation: clinical_decision_override: the alert is a hard stop (alert_severity, alert_type); the prescriber decides in the record itself, not an agent." if {
	lib.watched.clinical_decision_override
	lib.mentions(clinical_decision_override_settings.hard_fields, clinical_decision_override_settings.hard)
}

# METADATA
# title: Nobody who may
deny contains "Violation: clinical_decision_override: no licensed person (ordering_provider, npi) or no reason (override_reason) stands behind the override; name both." if {
	lib.watched.clinical_decision_override
	not clinical_decision_override_signed
}

# METADATA
# title: An override
review contains "Review: clinical_decision_override: an alert is passed over for a named clinician (ordering_provider); approve it as that clinician." if {
	lib.watched.clinical_decision_override
}

clinical_decision_override_signed if {
	lib.given(clinical_decision_override_settings.clinician_fields)
	lib.given(clinical_decision_override_settings.reason_fields)
}
