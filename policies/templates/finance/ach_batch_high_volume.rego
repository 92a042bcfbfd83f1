# Template: ach_batch_high_volume
# Domain: finance
# Severity: critical
# Frameworks: NACHA, SOX, FFIEC
# Tags: payments, batches
# Tier: mixed
# Tool surface: submit_ach_batch, release_payment_batch, upload_nacha_file, run_payroll_batch
# Summary: Batches of payments. One without control totals or beyond the limits is refused; every other one waits for a second person.
# Purpose: A batch cannot be called back entry by entry. Nacha rules and the FFIEC guidance ask for control totals, exposure limits and dual control before release.
# Inputs: entry_count, total_amount and their like, at any depth.
# Edit: tools, harmless_tools, total_fields, count_fields, deny_above, most_entries, originator_fields.

package gate.authz

import rego.v1

import data.gate.lib

ach_batch_high_volume_defaults := {
	"tools": [
		"ach_batch", "ach_file", "batch_payment_release", "batch_payment_submit", "bulk_payment", "bulk_payout", "mass_payment", "mass_payout",
		"nacha_file", "payment_batch", "payroll_batch",
	],
	"harmless_tools": ["cancel", "draft", "notification", "reminder", "report", "template"],
	"total_fields": ["batch_total", "control_total", "total", "total_amount", "total_credit", "total_debit"],
	"count_fields": [
		"batch_count", "entry_count", "number_of_entries", "number_of_transactions", "payment_count", "transaction_count",
	],
	"deny_above": 250000,
	"most_entries": 500,
	"originator_fields": [
		"company_id", "company_identification", "debtor_account", "funding_account", "originator", "originator_id", "source_account",
	],
}

ach_batch_high_volume_settings := object.union(ach_batch_high_volume_defaults, given) if given := data.gate.ach_batch_high_volume

else := ach_batch_high_volume_defaults

watches contains "ach_batch_high_volume" if {
	lib.tool_changes(ach_batch_high_volume_settings.tools)
	not lib.tool_is(ach_batch_high_volume_settings.harmless_tools)
}

# METADATA
# title: No control totals, or too much
deny contains "Violation: ach_batch_high_volume: the total (total_amount) is not stated or above deny_above; state it, and split the batch or have the exposure limit raised." if {
	lib.watched.ach_batch_high_volume
	not lib.at_most(ach_batch_high_volume_settings.total_fields, ach_batch_high_volume_settings.deny_above)
}

# METADATA
# title: Too many entries
deny contains "Violation: ach_batch_high_volume: the number of entries (entry_count) is not stated or above most_entries; state it, or split the batch." if {
	lib.watched.ach_batch_high_volume
	not lib.at_most(ach_batch_high_volume_settings.count_fields, ach_batch_high_volume_settings.most_entries)
}

# METADATA
# title: Nobody's batch
deny contains "Violation: ach_batch_high_volume: no originator or funding account (originator_id, funding_account); name whose exposure it is." if {
	lib.watched.ach_batch_high_volume
	not lib.given(ach_batch_high_volume_settings.originator_fields)
}

# METADATA
# title: Dual control
review contains "Review: ach_batch_high_volume: a batch of payments needs a second person; approve it where total and entries are those of the source file." if {
	lib.watched.ach_batch_high_volume
}
