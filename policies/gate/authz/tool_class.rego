# Summary: Tool classes. A tool that plainly only reads runs; another one waits until somebody has said what it does.
# Tier: mixed
#
# A class is said by the operator (`gate tools`, input.tool_classes) or by data.json for the upstream of that name. What an upstream
# says of its own tools (readOnlyHint and the like) is no class. A class lets a call through this rule only: every other rule still
# looks at it.

package gate.authz

import rego.v1

import data.gate.lib

operators_word := input.tool_classes[input.tool_type]

# The operator's class stands before the shipped one. A class whose tool changed since lets nothing through.
tool_class := operators_word.class if {
	is_string(operators_word.class)
} else := data.gate.tool_classes[input.upstream][input.tool_type]

class_suspended if is_string(operators_word.suspended)

class_holds if tool_class in {"review", "strict", "deny"}

tool_runs if {
	tool_class in {"read", "change"}
	not class_suspended
}

tool_runs if {
	not tool_class
	not class_suspended
	tool_says.plainly_reads
	not asked_to_pay
	not asked_what_nobody_reads
}

# METADATA
# title: Denied tool
# description: The operator does not want this tool used at all. A suspended class still denies.
deny contains "Violation: the operator denied this tool." if tool_class == "deny"

# METADATA
# title: Tool that waits
# description: Classed review or strict; strict asks for the strict approval tier.
review contains "Review: this tool is classed for a person to look at." if tool_class in {"review", "strict"}

# METADATA
# title: Suspended class
# description: The tool's definition is not the one that was classed, was not shown to the agent, or the classes cannot be read.
review contains "Review: the definition of this tool changed since it was classed; look at it, then `gate tools set` confirms or changes the class." if {
	operators_word.suspended == "definition_changed"
}

review contains "Review: the agent's list of tools does not show the definition of this tool that was classed; the class holds again once the agent lists it." if {
	operators_word.suspended == "definition_not_seen"
}

review contains "Review: the upstream listed its tools, and this is none of them; it waits until a list shows it, or `gate tools set --unlisted` says what it does." if {
	operators_word.suspended == "not_listed"
}

review contains "Review: the classes of these tools cannot be read, so every one of them waits for a person." if {
	class_suspended
	not operators_word.suspended in {"definition_changed", "definition_not_seen", "not_listed"}
}

# METADATA
# title: Tool that nobody classed
# description: No class, and a name that does not plainly read. What the rules about money and destruction say of a name is reason enough.
review contains "Review: this tool is not classed; `gate tools set` says what it does." if {
	not tool_runs
	not class_suspended
	not class_holds
	not only_its_query_waits
	not tool_says.wires_money
	not tool_says.pays_money
	not tool_says.destructive
}

# METADATA
# title: A plain read that is asked in another language
# description: The name plainly reads; what it is asked is no SQL that can be read. It waits until somebody has classed the tool.
review contains "Review: this tool is not classed, and what it is asked is not proven to be one plain read; `gate tools set` says what it does." if {
	only_its_query_waits
}

only_its_query_waits if {
	not tool_class
	not class_suspended
	tool_says.plainly_reads
	asked_what_nobody_reads
}

# METADATA
# title: A plain read whose arguments act
# description: The name plainly reads; the arguments name a method that changes, an action, or a file to write. The engine sets input.acts.
review contains sprintf("Review: this tool is not classed, and its arguments ask for more than a read: %s; `gate tools set` says what it does.", [act]) if {
	not tool_class
	not class_suspended
	tool_says.plainly_reads
	some act in input.acts
}

# METADATA
# title: Plain reads
# description: >-
#   The action is a read verb, in front (list_issues) or behind nothing but known nouns (channels_list); no word acts, joins or asks for
#   what is secret or outside. Unlike `tool_reads`, which only exempts a name from rules that look for more, this lets a call run.
tool_traits contains "plainly_reads" if {
	is_string(input.tool_type)
	regex.match(`^[\x20-\x7e]+$`, input.tool_type)
	not hides_letters
	read_verb_leads
	not acts
	not asks_for_much
}

tool_traits contains "plainly_reads" if {
	is_string(input.tool_type)
	regex.match(`^[\x20-\x7e]+$`, input.tool_type)
	not hides_letters
	read_verb_closes
	not acts
	not asks_for_much
}

# "wr1te": digits between small letters, other than in names everybody knows.
hides_letters if {
	known := {name: "" | some name in data.gate.plain_reads.digit_words}
	regex.match(`[a-z][0-9]+[a-z]`, strings.replace_n(known, lower(input.tool_type)))
	regex.match(`[A-Za-z][0-9]+[a-z]`, strings.replace_n(known, input.tool_type))
}

# The action without the name of a product in front of it: slack_list_channels.
plain_action := array.slice(lib.tool_action, first, count(lib.tool_action)) if {
	first := min({position |
		some position, word in lib.tool_action
		not word in data.gate.plain_reads.prefixes
	})
}

read_verb_leads if {
	plain_action[0] in data.gate.plain_reads.verbs
	not bare_verb_does_more
}

# "fetch" alone asks for an address, "check" ticks a box.
bare_verb_does_more if {
	count(plain_action) == 1
	not plain_action[0] in data.gate.plain_reads.bare_verbs
}

read_verb_closes if {
	last := count(plain_action) - 1
	last > 0
	plain_action[last] in data.gate.plain_reads.closing_verbs
	every word in array.slice(plain_action, 0, last) {
		is_plain_noun(word)
		not word in data.gate.verbs.change
		not word in data.gate.verbs.other
	}
}

is_plain_noun(word) if {
	some form in {word, lib.singular(word)}
	form in data.gate.plain_reads.nouns
}

# Every verb that is no noun as well, wherever it stands, also as the head or tail of a word ("kubectlexec", "sendmail").
acting_verbs := ({verb |
	some verbs in [
		data.gate.verbs.change,
		data.gate.verbs.other,
		data.gate.destructive.verbs,
		data.gate.plain_reads.acting,
	]
	some verb in verbs
} - {noun | some noun in data.gate.plain_reads.nouns}) - {verb | some verb in data.gate.plain_reads.verbs}

# A name that says "list_deleted_files" or "get_delete_markers" has the destructive rule's own reading.
acts if {
	some word in lib.tool_forms
	is_acting(word)
}

acts if {
	some word in lib.tool_forms
	some connective in data.gate.verbs.connectives
	word == connective
}

acts if {
	some word in lib.tool_forms
	word in data.gate.plain_reads.particles
}

is_acting(word) if word in acting_verbs

is_acting(word) if {
	not is_known(word)
	some verb in acting_verbs
	count(verb) > 3
	endswith(word, verb)
}

is_acting(word) if {
	not is_known(word)
	some verb in acting_verbs
	count(verb) > 3
	startswith(word, verb)
}

is_known(word) if is_plain_noun(word)

is_known(word) if word in data.gate.plain_reads.prefixes

# The whole action, where nothing says of what: "get_request" asks an address, "get_pull_request" reads one.
asks_for_much if concat("_", bare_action) in data.gate.plain_reads.outright

bare_action := [word | some word in plain_action; not word in data.gate.plain_reads.fillers]

# "read_from_queue", "fetch_from": from where is said, and what is not.
asks_for_much if {
	bare_action[0] in data.gate.plain_reads.taking_verbs
	bare_action[1] == "from"
}

# "read_queue" and "get_queue_message" take from it; "get_queue" and "get_queue_length" look at it.
asks_for_much if {
	takes_from_a_queue
	not lib.holds_any_of(said_forms, data.gate.plain_reads.about_queues)
}

takes_from_a_queue if {
	bare_action[0] in data.gate.plain_reads.taking_verbs
	bare_action[0] != "get"
	"queue" in said_forms
}

takes_from_a_queue if {
	bare_action[0] == "get"
	"queue" in said_forms
	lib.holds_any_of(said_forms, data.gate.plain_reads.queue_items)
}

# "get_root_access", "get_superuser" obtain a power; "list_superusers" and "get_root_cause" do not.
asks_for_much if {
	bare_action[0] in data.gate.plain_reads.taking_verbs
	lib.holds_any_of(said_forms, data.gate.plain_reads.powers)
}

# The words of the name, those that are written as one too: "nextmessage", "rootaccess".
said_forms := lib.tool_forms | {part |
	some word in lib.tool_forms
	some glued in data.gate.plain_reads.glued_words
	some rest in {trim_prefix(word, glued), trim_suffix(word, glued)}
	rest != word
	is_a_word(rest)
	some part in {glued, rest, lib.singular(rest)}
}

is_a_word(word) if is_plain_noun(word)

is_a_word(word) if word in acting_verbs

is_a_word(word) if {
	some entry in data.gate.plain_reads.powers
	word in split(entry, "_")
}

# "sudofile", "catsudo".
acts if {
	"sudo" in said_forms
}

# What is secret, and what reaches outside.
asks_for_much if lib.tool_is_any_of(data.gate.plain_reads.secrets)

asks_for_much if lib.tool_is_any_of(data.gate.plain_reads.outside)

# "get_loan" takes one, "get_loan_status" and "show_payment" look at one.
asks_for_much if {
	lib.tool_is_any_of(data.gate.plain_reads.obtaining_verbs)
	lib.tool_is_any_of(data.gate.plain_reads.money)
	not lib.tool_is_any_of(data.gate.plain_reads.about_money)
}

# "list_for_sale" offers, "view_as_root" is somebody else, "read_rights_transfer" hands rights on.
asks_for_much if lib.holds_any_of(said_forms, data.gate.plain_reads.purposes)

asks_for_much if lib.tool_is_any_of(data.gate.plain_reads.rights)

# METADATA
# title: A read that is told how much and to whom
# description: >-
#   Whatever its name says, a tool that takes an amount beside somebody to have it may pay. It waits until somebody has classed it. The engine
#   sets input.money.
asked_to_pay if {
	count(input.money.amounts) > 0
	count(input.money.payees) > 0
}

# METADATA
# title: Read for money
# description: The engine sets input.money at every call. Without it nobody has looked.
review contains "Review: the arguments were not read for money." if not money_was_read

money_was_read if {
	is_array(input.money.amounts)
	is_array(input.money.payees)
}
