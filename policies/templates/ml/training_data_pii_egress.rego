# Template: training_data_pii_egress
# Domain: ml
# Severity: critical
# Frameworks: NIST-AI-RMF, GDPR
# Tags: training, privacy
# Tier: mixed
# Tool surface: create_fine_tune, create_fine_tuning_job, upload_training_file, start_training_job
# Summary: Training data. Personal data in it is refused; data that nobody checked for it waits.
# Purpose: A model repeats what it was trained on (Carlini et al., 2021), and a person's data cannot be taken out of it again.
# Inputs: personal data anywhere in the arguments; deidentified, pii_scan_id and their like.
# Edit: tools, kinds, addresses_at_most, checked_fields, clean_fields.

package gate.authz

import rego.v1

import data.gate.lib

training_data_pii_egress_defaults := {
	"tools": [
		"example_add", "fine_tune", "fine_tuning", "finetune", "finetuning", "model_train", "training_data", "training_dataset",
		"training_example", "training_file", "training_job", "training_start", "training_submit",
	],
	"kinds": [
		"bank_account", "biometric", "birth_date", "card", "driver_license", "health", "iban", "national_id", "passport", "phone", "ssn",
		"tax_id",
	],
	"addresses_at_most": 0,
	"checked_fields": ["dlp_scan_id", "pii_report", "pii_scan", "pii_scan_id", "privacy_review_id"],
	"clean_fields": ["anonymised", "anonymized", "de_identified", "deidentified", "pii_free", "pii_removed", "synthetic"],
}

training_data_pii_egress_settings := object.union(training_data_pii_egress_defaults, given) if given := data.gate.training_data_pii_egress

else := training_data_pii_egress_defaults

watches contains "training_data_pii_egress" if lib.tool_changes(training_data_pii_egress_settings.tools)

# METADATA
# title: Personal data
deny contains "Violation: training_data_pii_egress: training data with personal data (card, ssn, health and their like) or mail addresses; remove or replace them and upload what is left." if {
	lib.watched.training_data_pii_egress
	training_data_pii_egress_personal
}

# METADATA
# title: Not checked
review contains "Review: training_data_pii_egress: training data that nobody checked for personal data (pii_scan_id, deidentified); name the check, or approve it where the data is not about people." if {
	lib.watched.training_data_pii_egress
	not training_data_pii_egress_personal
	not training_data_pii_egress_checked
}

training_data_pii_egress_personal if {
	some kind in training_data_pii_egress_settings.kinds
	kind in lib.personal
}

training_data_pii_egress_personal if count(lib.mail_addresses) > training_data_pii_egress_settings.addresses_at_most

training_data_pii_egress_checked if lib.given(training_data_pii_egress_settings.checked_fields)

training_data_pii_egress_checked if lib.affirmed(training_data_pii_egress_settings.clean_fields)
