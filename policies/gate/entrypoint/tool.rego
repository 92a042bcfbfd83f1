# Summary: Entry point. What a tool's name says, asked once per name.
#
# It reads input.tool_type and data, nothing else; that is why the engine may keep the answer.

package gate.entrypoint

import rego.v1

import data.gate.authz

# METADATA
# title: Tool
# description: The traits of the name, each with the value true; the engine hands them to the decision as input.names_say.
# entrypoint: true
tool := authz.tool_says
