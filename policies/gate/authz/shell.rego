# Summary: Shell commands. A command in the arguments that destroys, stops, alters or hands over waits for a human; removing a root is red.
# Tier: mixed
#
# input.shell is what the engine found in the arguments, word by word as a shell reads them (domain/shell). Whatever a tool's name says,
# nobody knows what it does with a text that is a command. Text that a tool carries to a file or a reader is not run there.

package gate.authz

import rego.v1

# METADATA
# title: Read for shell commands
# description: The engine sets input.shell at every call. Without it nobody has looked.
review contains "Review: the arguments were not read for shell commands." if not shell_was_read

shell_was_read if is_array(input.shell.found)

# METADATA
# title: Removal of a root
# description: A root, a home or everything, forced and with all that is below it, in any spelling.
deny contains sprintf("Violation: a shell command in the arguments: %s.", [found.kind]) if {
	some found in input.shell.found
	found.effect == "removes_root"
	not carried(found)
}

# METADATA
# title: Shell command
# description: It may be text that only looks like one, so a human reads it.
review contains sprintf("Review: a shell command in the arguments: %s. Approve it where it is text for a reader, deny it where it may be run.", [found.kind]) if {
	some found in input.shell.found
	found.effect != "removes_root"
	not carried(found)
}

# METADATA
# title: Shell command that is looked up
# description: People search for commands. What runs code from elsewhere or hands over a machine is read by a human there too, unless it is asked about in a sentence.
review contains sprintf("Review: a shell command in the arguments: %s. Approve it where it is text for a reader, deny it where it may be run.", [found.kind]) if {
	some found in input.shell.found
	found.effect in {"takes_over", "removes_root"}
	not found.form == "prose"
	carried_by(found, "searching")
}

# METADATA
# title: More shell commands than are looked at
# description: The engine lists the gravest findings only.
review contains "Review: the arguments hold more shell commands than are listed." if input.shell.more

carried_by(found, name) if {
	some carrier in data.gate.sql.carriers
	carrier.name == name
	tool_says[carrier_trait(carrier)]
	some argument in found.path
	lower(argument) in carrier.arguments
}
