# Summary: Forensic event. What the ledger keeps of every evaluation, whatever the verdict.
# Source: spec 2.5, policy sheet 2
#
# Never arguments.

package gate.forensic

import rego.v1

import data.gate.authz

# METADATA
# title: Event
# description: The tool as the caller named it and every reason found.
event := {
	"tool_type": object.get(input, "tool_type", null),
	"reasons": authz.deny,
	"review_reasons": authz.review,
}
