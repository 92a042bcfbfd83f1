# Summary: SQL. One plain read runs; what changes anything waits for a human; what drops, truncates or changes every row is red.
# Tier: mixed
#
# input.sql is what the engine found in the arguments with Postgres' own parser, and by shape where that refuses a text
# (domain/sql). It says what each text would do; these rules say where a text of that kind is a statement at all: everywhere in a
# tool that takes statements, and elsewhere unless it is text that the tool carries (the content of a file, the body of a mail).

package gate.authz

import rego.v1

import data.gate.lib

# METADATA
# title: Read for SQL
# description: The engine sets input.sql at every call. Without it nobody has looked.
review contains "Review: the arguments were not read for SQL." if not sql_was_read

sql_was_read if {
	is_array(input.sql.found)
	is_array(input.sql.other)
}

# METADATA
# title: Destructive statement
# description: No statement may do what no tool may do. UPDATE or DELETE whose condition always holds is one of them.
deny contains sprintf("Violation: destructive SQL statement in the arguments: %s.", [found.kind]) if {
	some found in input.sql.found
	found.effect == "destructive"
	is_statement(found)
}

# METADATA
# title: Statement that is no plain read
# description: More than one statement, a change, a call of what nobody knows, or a text that only another database can read.
review contains sprintf("Review: SQL that is not one plain read: %s.", [found.kind]) if {
	some found in input.sql.found
	found.effect in {"change", "unreadable"}
	is_statement(found)
}

# What acts on the connection alone ("notify team", "close ticket") is a statement only where statements are taken.
review contains sprintf("Review: SQL that is not one plain read: %s.", [found.kind]) if {
	some found in input.sql.found
	found.effect == "session"
	wants_statements(found)
}

# English that is SQL too: "truncate description".
review contains sprintf("Review: SQL that is not one plain read: %s.", [found.kind]) if {
	some found in input.sql.found
	found.form == "phrase"
	found.effect in {"change", "unreadable", "destructive"}
	not wants_statements(found)
	not carried(found)
}

# METADATA
# title: Unreadable statement
# description: A tool of a named database, or an argument that is SQL by its name, and a text that is none that can be read.
review contains "Review: a text where only SQL belongs cannot be read as SQL." if {
	some found in input.sql.found
	found.effect == "text"
	only_sql_belongs(found)
}

only_sql_belongs(_) if tool_says.speaks_sql

only_sql_belongs(found) if named_as_sql(found)

# METADATA
# title: More SQL than is looked at
# description: The engine lists the worst findings only.
review contains "Review: the arguments hold more SQL than is listed." if input.sql.more

is_statement(found) if wants_statements(found)

is_statement(found) if {
	found.form == "statement"
	not carried(found)
}

wants_statements(_) if tool_says.takes_statements

wants_statements(found) if named_as_sql(found)

named_as_sql(found) if {
	some name in found.path
	lower(name) in data.gate.sql.sql_arguments
}

# Text on its way to a file or a reader, not to a database.
carried(found) if {
	some carrier in data.gate.sql.carriers
	tool_says[carrier_trait(carrier)]
	some name in found.path
	lower(name) in carrier.arguments
}

carrier_trait(carrier) := concat("_", ["carries", carrier.name])

tool_traits contains carrier_trait(carrier) if {
	some carrier in data.gate.sql.carriers
	some verb in lib.tool_forms
	verb in carrier.verbs
	some object in lib.tool_forms
	object in carrier.objects
}

tool_traits contains "takes_statements" if {
	some form in lib.tool_forms
	form in data.gate.sql.query_words
}

tool_traits contains "takes_statements" if speaks_sql

tool_traits contains "speaks_sql" if speaks_sql

speaks_sql if {
	some form in lib.tool_forms
	form in data.gate.sql.engine_words
}

# METADATA
# title: A query that nobody can read
# description: >-
#   What a tool is asked in any language but SQL may change anything, whatever the tool's name: `mutation {...}`, `FLUSHALL`. A tool that
#   queries and that nobody has classed is given one plain read of SQL, its values, words about it, and single words under names of settings
#   beside it; a search may be asked in any words.
asked_what_nobody_reads if {
	tool_says.queries
	some place in asked_places
	not place.plain
}

asked_what_nobody_reads if {
	tool_says.takes_queries
	some place in asked_places
	some name in place.path
	lower(name) in data.gate.sql.query_arguments
}

asked_what_nobody_reads if {
	some place in asked_places
	some name in place.path
	lower(name) in data.gate.sql.language_arguments
}

# What may be what is asked: not the values of a plain read that has places for them, nor what is said about it.
asked_places contains place if {
	some place in input.sql.other
	not place.role in {"value", "prose"}
}

# The arguments of another language's command look like values.
asked_places contains place if {
	some place in input.sql.other
	place.role == "value"
	tool_says.speaks_another_language
}

tool_traits contains "speaks_another_language" if speaks_another_language

speaks_another_language if {
	some form in lib.tool_forms
	form in data.gate.sql.language_words
}

# "query" as it stands: a list of queries is a read of names.
tool_traits contains "queries" if {
	some words in [lib.tool_words, lib.tool_words_ignoring_case, lib.tool_words_after_acronyms]
	"query" in words
}

tool_traits contains "takes_queries" if {
	some form in lib.tool_forms
	form in data.gate.sql.query_words
	not searches
}

tool_traits contains "takes_queries" if {
	speaks_another_language
	not searches
}

tool_traits contains "takes_queries" if speaks_sql

searches if {
	plain_action[0] in data.gate.sql.search_verbs
	not "query" in lib.tool_words
}
