# Summary: Forensic event. What the ledger keeps of every evaluation, whatever the verdict.
# Source: spec 2.5, policy sheet 2
#
# Never arguments: of the SQL in them, what it would do.

package gate.forensic

import rego.v1

import data.gate.authz

# METADATA
# title: Event
# description: The tool as the caller named it, every reason found, and the worst that SQL in the arguments would do.
event := {
	"tool_type": object.get(input, "tool_type", null),
	"reasons": authz.deny,
	"review_reasons": authz.review,
	"sql": object.get(input, ["sql", "worst"], null),
}
