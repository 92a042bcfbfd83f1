# Summary: Tool names. What a name says, and names that nobody can read.
# Tier: review

package gate.authz

import rego.v1

import data.gate.lib

# What the name alone says: a trait for each thing a rule family looks for in it. A name says the same at every call, so the engine
# asks once per name (gate/entrypoint/tool.rego) and hands the answers back in input.names_say; it lets no caller set that field.
# Where it is missing (opa eval, opa test) the name is read here: the same rules, the same traits.
tool_says := says if says := input.names_say[input.tool_type]

else := {trait: true | some trait in tool_traits}

# METADATA
# title: Readable names
# description: Look-alike letters of other alphabets cannot be read by the rules, so a human reads the name.
review contains "Review: the tool name holds characters outside printable ASCII; the rules cannot read it." if {
	not tool_says.readable
}

tool_traits contains "readable" if regex.match(`^[\x20-\x7e]+$`, input.tool_type)

# METADATA
# title: Unknown tool
# description: No verb or list of data.json knows this name. The call is judged like any other; operators see a count.
default unknown_tool := false

unknown_tool if tool_says.unknown

tool_traits contains "unknown" if not known_tool

known_tool if {
	some verbs in [data.gate.verbs.read, data.gate.verbs.change, data.gate.verbs.other, data.gate.destructive.verbs]
	some word in lib.tool_forms
	word in verbs
}

known_tool if lib.tool_is_any_of(data.gate.denylist.sql)

known_tool if lib.tool_is_any_of(data.gate.denylist.shell)

known_tool if exports_in_bulk

known_tool if wires_money

known_tool if pays_money

known_tool if lib.tool_is_any_of(data.gate.kill_chain.sensitive_read_tools)

known_tool if lib.tool_is_any_of(data.gate.kill_chain.external_egress_tools)

known_tool if destructive_tool
