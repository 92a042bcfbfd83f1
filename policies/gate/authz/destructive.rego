# Summary: Destructive actions. Deleting, dropping, truncating and wiping are red, attested or not.
# Tier: deny
#
# What counts is the word as an action: undelete, drag_and_drop, list_deleted_files and get_delete_markers destroy
# nothing.

package gate.authz

import rego.v1

import data.gate.lib

# METADATA
# title: Destructive tool
# description: The tool's name asks for destruction.
deny contains "Violation: destructive tools are not allowed." if tool_says.destructive

tool_traits contains "destructive" if destructive_tool

# Most names hold no such word and need no closer look.
destructive_word_present if {
	some word in lib.tool_forms
	word in data.gate.destructive.verbs
}

# The name without its harmless phrases, once in each reading.
destructive_readings := [lib.tool_words, lib.tool_words_ignoring_case]

without_harmless_phrases(words) := split(trim_space(kept), " ") if {
	blanks := {padded: " " |
		some phrase in data.gate.destructive.harmless_phrases
		padded := concat("", [" ", phrase, " "])
	}
	kept := strings.replace_n(blanks, concat("", [" ", concat(" ", words), " "]))
}

destructive_tool if {
	destructive_word_present
	some reading in destructive_readings
	words := without_harmless_phrases(reading)
	some position, word in words
	word in data.gate.destructive.verbs
	not names_a_record(words, position)
}

destructive_tool if {
	some word in lib.tool_words_after_acronyms
	word in data.gate.destructive.verbs
}

destructive_tool if {
	not lib.tool_reads
	some reading in destructive_readings
	some word in without_harmless_phrases(reading)
	lib.singular(word) in data.gate.destructive.nouns
}

# "deletefile", "filedelete": written in one word.
destructive_tool if {
	some word in lib.tool_words_ignoring_case
	some verb in data.gate.destructive.verbs
	startswith(word, verb)
	lib.singular(trim_prefix(word, verb)) in data.gate.destructive.objects
}

destructive_tool if {
	some word in lib.tool_words_ignoring_case
	some verb in data.gate.destructive.verbs
	endswith(word, verb)
	lib.singular(trim_suffix(word, verb)) in data.gate.destructive.objects
}

# Softer verbs destroy only with an object that holds data: remove_label is ordinary work, remove_table is not.
destructive_tool if {
	not lib.tool_reads
	some pair in data.gate.destructive.pairs
	words := without_harmless_phrases(lib.tool_words)
	some verb in words
	verb in pair.verbs
	some object in words
	lib.singular(object) in pair.objects
}

# "get_delete_markers" reads records about deletions: a read verb first, a record behind the word.
names_a_record(words, position) if {
	lib.tool_reads
	lib.singular(words[position + 1]) in data.gate.destructive.record_nouns
}
