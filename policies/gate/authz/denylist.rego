# Summary: Denylist. Raw SQL and shells take any effect at all, so no rule could judge what they do.
# Tier: deny

package gate.authz

import rego.v1

import data.gate.lib

# METADATA
# title: Raw SQL
# description: Use a tool with a narrower purpose.
deny contains "Violation: raw SQL execution is not allowed." if tool_says.raw_sql

# METADATA
# title: Shell
# description: Use a tool with a narrower purpose.
deny contains "Violation: shell execution is not allowed." if tool_says.shell

tool_traits contains "raw_sql" if lib.tool_is_any_of(data.gate.denylist.sql)

tool_traits contains "shell" if lib.tool_is_any_of(data.gate.denylist.shell)
