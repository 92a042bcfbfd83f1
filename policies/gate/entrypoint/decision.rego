# Summary: Entry point. Everything the engine asks, in one evaluation: one call into the compiled rules costs less than seven.
#
# Each rule stays addressable under its own name (data.gate.authz.allow and so on).

package gate.entrypoint

import rego.v1

import data.gate.authz
import data.gate.forensic

# METADATA
# title: Decision
# description: Undefined when any part is undefined; the engine takes that for a deny.
# entrypoint: true
decision := {
	"allow": authz.allow,
	"deny": authz.deny,
	"review": authz.review,
	"retention_class": authz.retention_class,
	"approval_tier": authz.approval_tier,
	"unknown_tool": authz.unknown_tool,
	"budget_exceeded": authz.budget_exceeded,
	"event": forensic.event,
}
