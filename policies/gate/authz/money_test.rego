package gate.authz_test

import rego.v1

test_wire_transfers_wait if {
	every name in ["wire_transfer", "wireTransfer", "bank.wire_transfer"] {
		parked({"tool_type": name}, "Wire transfers require human approval")
	}
	count(verdict({"tool_type": "wire_transfer"}).review) == 1
}

test_other_money_waits if {
	every name in ["ach_transfer", "payment_send", "payout_create", "refund_issue", "refund.issue", "invoice_pay"] {
		parked({"tool_type": name}, "money movement")
	}
}

test_reading_and_writing_about_money_passes if {
	every name in ["list_wire_transfers", "get_refund", "send_payment_reminder", "refund_issue_status"] {
		passes({"tool_type": name})
	}
}
