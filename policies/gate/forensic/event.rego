# Summary: Forensic event. What the ledger keeps of every evaluation, whatever the verdict.
#
# Never arguments: of the SQL and the shell commands in them, what they would do.

package gate.forensic

import rego.v1

import data.gate.authz

# METADATA
# title: Event
# description: The tool as the caller named it, every reason found, and the worst that SQL and shell commands in the arguments would do.
event := {
	"tool_type": object.get(input, "tool_type", null),
	"reasons": authz.deny,
	"review_reasons": authz.review,
	"sql": object.get(input, ["sql", "worst"], null),
	"shell": object.get(input, ["shell", "worst"], null),
}
