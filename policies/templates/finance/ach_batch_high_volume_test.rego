package gate.templates.ach_batch_high_volume_test

import rego.v1

import data.gate.templates.fixtures

name := "ach_batch_high_volume"

test_limits_hold_for_texts_too if {
	every arguments in [
		{"originator_id": "1", "entry_count": "501", "total_amount": "10"},
		{"originator_id": "1", "entry_count": "many", "total_amount": 10},
		{"originator_id": "1", "totals": {"entryCount": 3, "totalAmount": "$250,001"}},
	] {
		fixtures.denies(name, {"tool_type": "submit_ach_batch", "arguments": arguments})
	}
}

test_nothing_said_is_refused if {
	every arguments in [
		{},
		{"batch_id": "b-1"},
	] {
		fixtures.denies(name, {"tool_type": "ach_file_release", "arguments": arguments})
	}
}

test_every_other_batch_waits if fixtures.asks(name, {"tool_type": "releasePaymentBatch", "arguments": {"originator_id": "1", "entry_count": 500, "total_amount": 250000}})

test_limits_are_parameters if fixtures.denies(name, {"tool_type": "payment_batch_submit", "arguments": {"originator_id": "1", "entry_count": 51, "total_amount": 1}}) with data.gate.ach_batch_high_volume as {"most_entries": 50}

test_reads_are_nobody_s_business if fixtures.silent(name, {"tool_type": "list_payment_batches", "arguments": {}})
