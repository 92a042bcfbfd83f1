# Summary: Egress. What is done about secrets, personal data and instructions in what a tool answered.
#
# It reads classes of findings, never what was found. `deny` withholds the answer, `sanitize` takes the findings out, `mark` tells the
# model that the text is data, `allow` lets it pass. What data.json does not say, or says in another word, is a deny.

package gate.egress

import rego.v1

known := {"allow", "mark", "sanitize", "deny"}

default settings := {}

settings := data.gate.responses

default_action := action if {
	action := settings.default_action
	action in known
} else := "deny"

# METADATA
# title: Actions
# description: For each class of the question, what the data says of it for this tool, or else for every tool.
actions := {entity: action_on(entity) |
	some entity in input.entities
	is_string(entity)
}

action_on(entity) := action if {
	action := object.get(object.get(settings, "entity_actions", {}), entity, default_action)
	action in known
	not by_tool(entity)
} else := action if {
	action := by_tool(entity)
	action in known
} else := "deny"

by_tool(entity) := object.get(object.get(settings, "tool_actions", {}), input.tool_type, {})[entity]
