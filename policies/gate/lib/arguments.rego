# Summary: Arguments. A rule finds a value by its name, wherever a caller put it and however the name is spelt.
#
# {"target_env": "prod"}, {"TargetEnv": "prod"}, {"options": {"target-env": ["prod"]}} and {"body": "{\"target_env\": \"prod\"}"}
# are the same to a rule, so that no other shape of a call gets past it.

package gate.lib

import rego.v1

# A name without its spelling: letter case, separators and a plural "s".
plain(name) := trim_suffix(strings.replace_n({"_": "", "-": "", ".": "", " ": "", ":": "", "/": ""}, lower(name)), "s")

# The values at and below each plain name; those without a name under the empty one. The engine finds them (domain/policy/read-fields.ts) and lets
# no caller set that field. Without it (opa eval, opa test) they are found here.
fields := found if found := input.found_in_arguments

else := fields_walked

fields_walked[name] contains value if {
	some document in documents
	walk(document, [path, value])
	not is_object(value)
	not is_array(value)
	some name in nearest([plain(key) | some key in path; is_string(key)])
}

nearest([]) := [""]

nearest(names) := array.slice(names, max([0, count(names) - 4]), count(names)) if count(names) > 0

# The arguments, and what is packed into them as JSON, also into what was packed.
documents contains input.arguments

documents contains document if some document in packed

documents contains document if {
	some outer in packed
	some document in packed_in(outer)
}

packed := packed_in(input.arguments)

packed_in(document) := {json.unmarshal(text) |
	walk(document, [_, text])
	is_string(text)
	substring(trim_left(text, " \t\r\n"), 0, 1) in {"{", "["}
	json.is_valid(text)
}

# METADATA
# title: Texts
# description: Every text of the arguments.
texts contains value if {
	some values in fields
	some value in values
	is_string(value)
}

# METADATA
# title: Values
# description: Everything that stands at or below one of these names.
values(names) := {value |
	some name in names
	some value in fields[plain(name)]
}

# METADATA
# title: Given
# description: Something is said under one of these names, as a reference or a reason is; "none", "n/a" and their like say nothing.
given(names) if {
	some value in values(names)
	says_something(value)
}

# METADATA
# title: Text
# description: >-
#   A value as a text, whatever it is: a text as it is, anything else as JSON. `sprintf` and `%v` of the runtime fail on null, and write lists and
#   objects in a form of their own.
as_text(value) := value if is_string(value)

else := json.marshal(value)

says_something(value) if is_number(value)

says_something(true)

says_something(value) if {
	is_string(value)
	bare := plain(trim(value, " \t\r\n-_.,;:!?/\\|*#'\"()[]{}<>="))
	not bare in {"", "none", "null", "nil", "n", "na", "no", "false", "tbd", "todo", "unknown", "undefined"}
}

# METADATA
# title: Affirmed
# description: Said under one of these names, and never anything but yes.
affirmed(names) if {
	said := values(names)
	count(said) > 0
	every value in said {
		is_yes(value)
	}
}

is_yes(true)

is_yes(value) if {
	is_string(value)
	lower(trim_space(value)) in {"true", "yes", "y", "on", "1"}
}

# METADATA
# title: Switched on
# description: >-
#   Something under one of these names is not plainly no. For a switch that is harmful when it is on; what is not given is off.
switched_on(names) if {
	some value in values(names)
	not is_no(value)
}

is_no(value) if value in {false, null, 0}

is_no(value) if {
	is_string(value)
	lower(trim_space(value)) in {"false", "no", "n", "off", "0", "", "none", "null"}
}

# METADATA
# title: Among
# description: Said under one of these names, and never anything that is not listed. For what is known to be harmless.
among(names, listed) if {
	said := values(names)
	count(said) > 0
	known := {plain(one) | some one in listed}
	every value in said {
		is_string(value)
		plain(trim_space(value)) in known
	}
}

# METADATA
# title: Mentions
# description: >-
#   A text under one of these names has all the words of one of these entries ("public_read", "prod"), in any spelling. For what is known to be harmful.
mentions(names, entries) if {
	some value in values(names)
	is_string(value)
	text := lower(value)
	some entry in entries

	# Words are split with expressions, which cost more than all the rest: where the letters are there alone.
	every word in split(entry, "_") {
		contains(text, trim_suffix(word, "y"))
	}
	holds_any_of(forms_of(value), [entry])
}

# METADATA
# title: At most
# description: >-
#   Numbers are given under these names, and none is greater. A text is a number where it is written as one ("1,250.00", "USD 50"); one with digits that
#   cannot be read so is taken for greater.
at_most(names, limit) if {
	said := values(names)
	has_number(said)
	every value in said {
		no_more_than(value, limit)
	}
}

# Apart, because what stands behind a `some` is done for each of the values.
has_number(said) if {
	some one in said
	number_in(one)
}

no_more_than(value, limit) if number_in(value) <= limit

no_more_than(value, _) if is_unit(value)

# A currency, a unit or a word beside a number: letters and nothing else. Other texts may be numbers in a way that nobody reads here.
is_unit(value) if {
	is_string(value)
	trim(lower(value), " abcdefghijklmnopqrstuvwxyz") == ""
}

is_unit(value) if is_boolean(value)

is_unit(null)

# METADATA
# title: At least
# description: Numbers are given under these names, and none is less; as `at_most`.
at_least(names, limit) if {
	said := values(names)
	has_number(said)
	every value in said {
		no_less_than(value, limit)
	}
}

no_less_than(value, limit) if number_in(value) >= limit

no_less_than(value, _) if is_unit(value)

number_in(value) := value if is_number(value)

number_in(value) := number if {
	is_string(value)
	text := trim_space(trim(strings.replace_n(currencies, lower(value)), " \t\r\n$€£¥%"))
	text != ""
	groups := split(strings.replace_n({"_": ",", " ": ",", "'": ","}, trim_prefix(text, "+")), ",")
	in_thousands(groups)
	digits := without_zeros(concat("", groups))
	json.is_valid(digits)

	# Compiled, the line above takes "250k" for the number in front of it; this one takes "-" for a number.
	number := to_number(digits)
}

currencies := {code: "" |
	some code in ["usd", "eur", "gbp", "chf", "jpy", "cad", "aud", "nzd", "sek", "nok", "dkk", "pln", "czk", "huf", "cny", "inr", "sgd", "hkd", "krw", "brl", "mxn", "zar"]
}

# "1,250,000.50": three digits in each group but the first. A comma before decimals is no such group.
in_thousands(groups) if count(groups) == 1

in_thousands(groups) if {
	count(groups) > 1
	count(trim_prefix(groups[0], "-")) in {1, 2, 3}
	last := count(groups) - 1
	every position, group in groups {
		in_place(position == 0, position == last, group)
	}
}

in_place(true, _, _)

in_place(false, false, group) if count(group) == 3

in_place(false, true, group) if indexof(group, ".") == 3

in_place(false, true, group) if {
	not contains(group, ".")
	count(group) == 3
}

# JSON has no leading zeros.
without_zeros(text) := "0" if trim(text, "0") == ""

else := concat("", ["0", rest]) if {
	rest := trim_left(text, "0")
	startswith(rest, ".")
}

else := trim_left(text, "0")

# METADATA
# title: Inside
# description: >-
#   Addresses are given under these names, and each is of one of these domains or below it: a mail address, a URL or a host. A text that is none of
#   them, such as the name of a channel, is of no domain.
inside(names, domains) if {
	said := values(names)
	count(said) > 0
	every value in said {
		some domain in domains
		of_domain(value, lower(domain))
	}
}

of_domain(value, domain) if host_of(value) == domain

of_domain(value, domain) if endswith(host_of(value), concat("", [".", domain]))

# `Ada <ada@example.org>`, `https://user@example.org:8443/x`, `example.org`. Several addresses in one text are of no host.
host_of(value) := host if {
	is_string(value)
	bare := lower(trim(trim_space(value), "<>"))
	parts := regex.find_all_string_submatch_n(`^(?:[^<>@,;]*<)?(?:[^<>@,;\s/]+@|[a-z][a-z0-9+.-]*://(?:[^/?#@\\]*@)?)?([a-z0-9-]+(?:\.[a-z0-9-]+)+)\.?(?::[0-9]{1,5})?(?:[/?#][^\s\\]*)?$`, bare, 1)
	host := parts[0][1]
}

# METADATA
# title: Recently
# description: This agent did something with a tool of one of these names, with success, within this time. A time that cannot be read shows nothing.
recently(entries, within_ms) if {
	some step in input.agent_history.recent_sequence
	holds_any_of(forms_of(step.tool), entries)
	passed := now_ms - step.ts_ms
	passed >= 0
	passed <= within_ms
}
