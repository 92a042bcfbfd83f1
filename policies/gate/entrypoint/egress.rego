# Summary: Entry point. What is done about what an answer holds, asked once for each answer that holds something.

package gate.entrypoint

import rego.v1

import data.gate.egress as responses

# METADATA
# title: Egress
# description: One action for each class of the question, and the one for every other.
# entrypoint: true
egress := {
	"actions": responses.actions,
	"default_action": responses.default_action,
}
