# Summary: Bulk export. Whole tables leave only while somebody is there to notice.
# Tier: deny

package gate.authz

import rego.v1

import data.gate.lib

tool_traits contains "bulk_export" if exports_in_bulk

exports_in_bulk if {
	lib.tool_is_any_of(data.gate.bulk_export.tools)
	not lib.tool_reads
}

# METADATA
# title: Bulk export outside business hours
# description: A time that cannot be read counts as outside.
deny contains "Violation: Bulk export is allowed in business hours only." if {
	tool_says.bulk_export
	not lib.business_hours
}
