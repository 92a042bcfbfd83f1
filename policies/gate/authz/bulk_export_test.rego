package gate.authz_test

import rego.v1

test_in_business_hours_it_passes if passes({"tool_type": "bulk_export"})

test_outside_it_is_denied if {
	denied({"tool_type": "bulk_export", "current_time": "2026-11-18T17:00:00Z"}, "Bulk export")
	denied({"tool_type": "bulkExport", "current_time": "2026-11-21T12:00:00Z"}, "business hours")
	denied({"tool_type": "bulk_export", "current_time": null}, "Bulk export")
}

test_asking_about_it_passes if passes({"tool_type": "get_bulk_export_status", "current_time": "2026-11-21T12:00:00Z"})
