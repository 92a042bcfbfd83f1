# Summary: Information flow. What a tool's answer brought in neither gets money nor data before a person has seen it.
# Tier: review
#
# The pipeline matches the arguments with what earlier answers held, and says in input.taint which values came from there: an address in a
# mail that the agent read is not an address that its user gave. Whether a model was told so by an instruction that nobody recognised does
# not matter. docs/architecture/information-flow.md says what is matched, and what is trusted.

package gate.authz

import rego.v1

import data.gate.lib

tool_traits contains "flows_out" if {
	lib.tool_is_any_of(data.gate.information_flow.outbound_tools)
	not lib.tool_reads
}

# Reads what stands at an address, and tells that address what it asks for.
tool_traits contains "fetches_pages" if lib.tool_is_any_of(data.gate.information_flow.fetching_tools)

flows_out if tool_says.flows_out

flows_out if tool_says.sends_outside

flows_out if moves_money

flows_out if asked_to_pay

# METADATA
# title: Payee from an answer
# description: An account number in a call that moves money, which an earlier answer brought in.
review contains sprintf("Review: the payee was read from the answer of call %s (%s), not told by the user.", [flow.from, lib.quoted(flow.tool)]) if {
	some flow in input.taint
	flow.kind == "account"
	flow.tool != ""
	pays
}

pays if moves_money

pays if asked_to_pay

pays if tool_says.pays_somebody

tool_traits contains "pays_somebody" if {
	lib.tool_is_any_of(data.gate.information_flow.paying_tools)
	not lib.tool_reads
}

flows_out if tool_says.pays_somebody

# METADATA
# title: Address from an answer
# description: >-
#   A mail address, URL, host, phone or account number, anywhere in the arguments of a tool that sends, shares, invites or pays. A tool that
#   fetches a page may ask for an address that an answer gave, and not for another one of the same host: that would tell the host something.
review contains sprintf("Review: an address was read from the answer of call %s (%s), not told by the user.", [flow.from, lib.quoted(flow.tool)]) if {
	some flow in input.taint
	flow.tool != ""
	is_sent_to(flow)
}

is_sent_to(flow) if {
	flows_out
	flow.kind in {"mail", "url", "host", "phone"}
}

is_sent_to(flow) if {
	flows_out
	flow.kind == "account"
	not pays
}

is_sent_to(flow) if {
	tool_says.fetches_pages
	not flows_out
	flow.kind == "host"
}

# METADATA
# title: Destination from an answer
# description: A name under an argument that says where something goes, or who gets in.
review contains sprintf("Review: the destination was read from the answer of call %s (%s), not told by the user.", [flow.from, lib.quoted(flow.tool)]) if {
	some flow in input.taint
	flow.tool != ""
	is_named(flow)
}

is_named(flow) if {
	flows_out
	flow.kind == "name"
	names_destination(flow.argument)
}

names_destination(pointer) if {
	some name in split(pointer, "/")
	lib.holds_any_of(lib.forms_of(name), data.gate.information_flow.destination_arguments)
}

# METADATA
# title: Value that may be from an answer
# description: An answer was too large, or there were too many, to keep what they held. Nothing vouches for this value.
review contains sprintf("Review: answers up to that of call %s were not kept whole%s, and where this goes may be from one of them.", [flow.from, why_lost(flow)]) if {
	some flow in input.taint
	flow.tool == ""
	object.get(flow, "lost", "") != "too_many_values"
	may_be_sent_to(flow)
}

# METADATA
# title: More values of answers than are listed
# description: A call's arguments hold so many values of answers that not all are told. One of the others may say where it goes.
review contains sprintf("Review: the arguments hold more values of answers, up to that of call %s, than Gate lists, and where this goes may be one of them.", [flow.from]) if {
	some flow in input.taint
	flow.lost == "too_many_values"
	may_be_sent_to(flow)
}

why_lost(flow) := sprintf(" (%s)", [lost_because[flow.lost]])

why_lost(flow) := "" if not lost_because[object.get(flow, "lost", "")]

lost_because := {
	"too_many_answers": "this agent had more of them within the window than Gate keeps, until the oldest are out of it",
	"too_large": "one was larger than Gate keeps",
	"unreadable": "one cannot be opened: it was changed, or its key is gone",
	"arguments": "the arguments hold more than Gate compares",
}

may_be_sent_to(flow) if is_sent_to(flow)

may_be_sent_to(flow) if is_named(flow)

may_be_sent_to(flow) if {
	pays
	flow.kind == "account"
}

# Which of its arguments it is, nobody knows.
may_be_sent_to(flow) if {
	flow.lost in {"arguments", "too_many_values"}
	not flow.kind in {"number", "text"}
	tool_says.fetches_pages
}
