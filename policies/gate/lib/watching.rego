# Summary: Watching. Which policies look at a tool is found out once per name, so that hundreds of policies cost a call little.
#
# A policy says `watches contains "its_name" if lib.tool_is(its_tools)` and begins its rules with `lib.watched.its_name`.

package gate.lib

import rego.v1

# METADATA
# title: Watched
# description: >-
#   The policies that watch the tool, each with the value true. The engine asks them once per name, with the name as the only input, and hands
#   the answer back; it lets no caller set that field.
watched := by if by := input.watched_by

else := {name: true | some name in data.gate.authz.watches}

# METADATA
# title: Tool is
# description: The tool has all the words of one of these entries, in any order and spelling.
tool_is(entries) if tool_is_any_of(entries)

# METADATA
# title: Tool changes
# description: The same, of a tool that does not only read (get_refund, list_orders).
tool_changes(entries) if {
	tool_is_any_of(entries)
	not tool_reads
}

# METADATA
# title: Between
# description: >-
#   The time is within hours of these weekdays ("Monday"), by a clock that is so many minutes ahead of UTC. A time that cannot be read is not.
between(hours) if {
	local_ms := now_ms + (object.get(hours, "utc_offset_minutes", 0) * 60000)
	day := floor(local_ms / 86400000)
	hour := (local_ms - (day * 86400000)) / 3600000
	weekday_names[((day % 7) + 7) % 7] in hours.weekdays
	hour >= hours.from_hour
	hour < hours.to_hour
}
