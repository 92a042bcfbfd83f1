# Summary: Kill chain. A secret that was read must not leave a moment later.
# Tier: deny
#
# A sensitive read among the agent's recent steps, or among those kept by time alone, then a tool that sends something outside.
# Steps older than the window, or stamped later than now, do not count.

package gate.authz

import rego.v1

import data.gate.lib

# METADATA
# title: Sensitive read, then egress
# description: A step whose age cannot be known counts.
deny contains "Violation: kill chain: a sensitive read was followed by an external egress tool." if {
	tool_says.sends_outside
	some step in steps_so_far
	reads_sensitive(step)
	not outside_window(step)
}

tool_traits contains "sends_outside" if {
	lib.tool_is_any_of(data.gate.kill_chain.external_egress_tools)
	not lib.tool_reads
}

steps_so_far := array.concat(input.agent_history.recent_sequence, object.get(input.agent_history, "sensitive_steps", []))

# A step's tool counts by its name alone, read or not.
tool_traits contains "sensitive" if lib.tool_is_any_of(data.gate.kill_chain.sensitive_read_tools)

reads_sensitive(step) if input.names_say[step.tool].sensitive

reads_sensitive(step) if {
	not input.names_say[step.tool]
	lib.holds_any_of(lib.forms_of(step.tool), data.gate.kill_chain.sensitive_read_tools)
}

outside_window(step) if {
	is_number(step.ts_ms)
	lib.now_ms - step.ts_ms > data.gate.kill_chain.window_ms
}

outside_window(step) if {
	is_number(step.ts_ms)
	lib.now_ms - step.ts_ms < 0
}
