# Summary: Names. Rules match words, not spellings.
#
# deleteFile, delete-file, files.delete and DBDelete are read the same way, while undelete and list_deleted_files hold no
# word "delete".
# List entries in data.json are singular lower-case words joined by underscores and match a tool that has all of them, in
# any order.

package gate.lib

import rego.v1

# The words of a name in their order, split at case changes and at everything that is not a letter. The name is read backwards,
# because RE2 has no look-ahead: "DBDelete" must give "db delete", not "dbd elete".
words_in(name) := array.reverse([lower(strings.reverse(match[0])) |
	some match in regex.find_all_string_submatch_n(`[a-z]+[A-Z]?|[A-Z]+`, strings.reverse(name), -1)
])

# The same name with its letter case ignored, so that odd casing ("dElEtE_file") hides nothing.
words_ignoring_case(name) := [match[0] |
	some match in regex.find_all_string_submatch_n(`[a-z]+`, lower(name), -1)
]

# Lower-case letters behind an acronym: the "drop" of "SQLdrop".
words_after_acronyms(name) := [match[1] |
	some match in regex.find_all_string_submatch_n(`[A-Z]{2,}([a-z]+)`, name, -1)
]

singular(word) := concat("", [trim_suffix(word, "ies"), "y"]) if endswith(word, "ies")

else := trim_suffix(word, "s")

# Every word of some readings, each also in its singular.
forms_in(readings) := plain | {singular(word) | some word in plain} if {
	plain := {word |
		some reading in readings
		some word in reading
	}
}

forms_of(name) := forms_in([words_in(name), words_ignoring_case(name), words_after_acronyms(name)])

# True when some entry ("wire_transfer") has all its words among these forms. It is asked of thousands of entries for a name: a member of a set is
# looked up by forms[word], where `word in forms` compares it with each in the compiled rules, and most entries end at their first word.
holds_any_of(forms, entries) if {
	known := set_of(forms)
	some entry in entries
	words := split(entry, "_")
	known[words[0]]
	every word in words {
		known[word]
	}
}

# Rules of operators may give the words of a name as they are read, in an array.
set_of(forms) := forms if is_set(forms)

set_of(forms) := {form | some form in forms} if is_array(forms)

tool_words := words_in(input.tool_type)

tool_words_ignoring_case := words_ignoring_case(input.tool_type)

tool_words_after_acronyms := words_after_acronyms(input.tool_type)

tool_forms := forms_in([tool_words, tool_words_ignoring_case, tool_words_after_acronyms])

tool_is_any_of(entries) if holds_any_of(tool_forms, entries)

# What stands behind the last namespace: the "read_file" of "mcp__fs__read_file", the "list" of "files.list".
tool_action := words_in(last_segment) if {
	segments := [segment |
		some segment in split(strings.replace_n({"/": ".", ":": ".", "__": "."}, input.tool_type), ".")
		segment != ""
	]
	last_segment := segments[count(segments) - 1]
}

# METADATA
# title: Reads
# description: >-
#   A tool whose action begins with a read verb (list_wire_transfers), or ends with one and changes nothing
#   (bulk_export_status). A name that joins two actions (get_and_send) is no read.
tool_reads if {
	tool_action[0] in data.gate.verbs.read
	not tool_action[1] in data.gate.verbs.change
	not joins_actions
}

tool_reads if {
	tool_action[count(tool_action) - 1] in data.gate.verbs.read
	not changes_something
	not joins_actions
}

changes_something if {
	some word in tool_action
	word in data.gate.verbs.change
}

joins_actions if {
	some word in tool_action
	word in data.gate.verbs.connectives
}

# A name from outside in a sentence of a rule: between backticks, its own and what fonts draw like them as escapes, so that none of it reads
# as the rule's words.
quoted(name) := sprintf("`%s`", [strings.replace_n({"`": "\\u{60}", "\u02CB": "\\u{2cb}", "\u1FEF": "\\u{1fef}", "\u2035": "\\u{2035}", "\uFF40": "\\u{ff40}"}, name)])
