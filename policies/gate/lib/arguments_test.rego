package gate.lib_test

import rego.v1

import data.gate.lib

with_arguments(arguments) := {"tool_type": "x", "arguments": arguments}

# One value in every shape that a caller may give it.
shapes_of(name, value) := [
	{name: value},
	{upper(name): value},
	{replace(name, "_", "-"): value},
	{replace(name, "_", ""): value},
	{concat("", [name, "s"]): [value]},
	{"options": {name: value}},
	{"items": [{"x": 1}, {name: [value]}]},
	{"body": json.marshal({name: value})},
	{"body": json.marshal({"rows": json.marshal([{name: value}])})},
	{name: {"value": value}},
]

test_a_value_is_found_in_every_shape if {
	every shape in shapes_of("target_env", "prod") {
		lib.values(["target_env"]) == {"prod"} with input as with_arguments(shape)
		lib.mentions(["target_env"], ["prod"]) with input as with_arguments(shape)
		not lib.among(["target_env"], ["staging"]) with input as with_arguments(shape)
	}
	every shape in shapes_of("amount_due", 50) {
		lib.at_most(["amount_due"], 50) with input as with_arguments(shape)
		not lib.at_most(["amount_due"], 49) with input as with_arguments(shape)
	}
}

test_without_arguments_nothing_is_proven if {
	not lib.given(["x"]) with input as {"tool_type": "x"}
	not lib.affirmed(["x"]) with input as {"tool_type": "x"}
	not lib.at_most(["x"], 1) with input as {"tool_type": "x", "arguments": null}
	not lib.among(["x"], ["a"]) with input as {"tool_type": "x"}
	not lib.inside(["x"], ["example.org"]) with input as {"tool_type": "x"}
	not lib.switched_on(["x"]) with input as {"tool_type": "x"}
}

test_given if {
	every value in ["T-12", 7, true, "yes, by Ada", "審査済"] {
		lib.given(["ticket"]) with input as with_arguments({"ticket": value})
	}
	every value in ["", " ", "none", "N/A", "-", null, false, "TBD", [], {}] {
		not lib.given(["ticket"]) with input as with_arguments({"ticket": value})
	}
}

test_affirmed_and_switched_on_take_the_careful_side if {
	every value in [true, "true", "YES", ["on"]] {
		lib.affirmed(["x"]) with input as with_arguments({"x": value})
		lib.switched_on(["x"]) with input as with_arguments({"x": value})
	}
	every value in [false, "no", 0, null, "", "off"] {
		not lib.affirmed(["x"]) with input as with_arguments({"x": value})
		not lib.switched_on(["x"]) with input as with_arguments({"x": value})
	}
	every value in ["perhaps", 2, [true, "perhaps"]] {
		not lib.affirmed(["x"]) with input as with_arguments({"x": value})
		lib.switched_on(["x"]) with input as with_arguments({"x": value})
	}
}

test_numbers_in_texts if {
	every text, number in {
		"50": 50, "$1,250.00": 1250, "USD 50": 50, "0.5": 0.5, " 007 ": 7, "1_000": 1000, "-5": -5, "0": 0, "12 %": 12, "1e3": 1000, "1 000.50 EUR": 1000.5, "0.00": 0,
	} {
		lib.at_most(["n"], number) with input as with_arguments({"n": text})
	}
	every text in ["50k", "5 million", "0x10", "1,2", "1.250.000,00", "٥٠", "fifty", "1;2", "5 or 6", "5,0000", "1,00", "five 5", "", true, null] {
		not lib.at_most(["n"], 1000000000) with input as with_arguments({"n": text})
	}
	lib.at_most(["n"], 50) with input as with_arguments({"n": {"value": 50, "currency": "USD"}})
	not lib.at_most(["n"], 50) with input as with_arguments({"n": [50, 51]})
	not lib.at_most(["n"], 50) with input as with_arguments({"n": [50, "51 k"]})
	lib.at_least(["n"], 50) with input as with_arguments({"n": ["50", 51]})
	not lib.at_least(["n"], 50) with input as with_arguments({"n": ["49", 51]})
}

test_every_value_has_a_text if {
	every one in [["a", "a"], ["", ""], [null, "null"], [true, "true"], [-1.5, "-1.5"], [[], "[]"], [["a", null], `["a",null]`], [{"b": {}, "a": 1}, `{"a":1,"b":{}}`]] {
		lib.as_text(one[0]) == one[1]
	}
}

test_addresses if {
	every address in [
		"ada@example.org",
		"Ada <ada@mail.example.org>",
		"https://example.org/x?y=z",
		"https://u:p@api.example.org:8443/x",
		"EXAMPLE.ORG.",
		["ada@example.org", "bob@example.org"],
	] {
		lib.inside(["to"], ["Example.org"]) with input as with_arguments({"to": address})
	}
	every address in [
		"ada@example.com",
		"ada@evil-example.org",
		"ada@example.org.evil.com",
		"https://example.org@evil.com/",
		"https://evil.com/example.org",
		"https://evil.com\\@example.org/",
		"ada@example.org, eve@evil.com",
		"ada@example.org;eve@evil.com",
		"#general",
		"",
		7,
		["ada@example.org", "eve@evil.com"],
	] {
		not lib.inside(["to"], ["example.org"]) with input as with_arguments({"to": address})
	}
}

test_recently if {
	call := {
		"tool_type": "x",
		"current_time": "2026-11-18T10:00:00Z",
		"agent_history": {"recent_sequence": [{"tool": "verifyIdentity", "ts_ms": 1794995990000}]},
	}
	lib.recently(["identity_verify"], 60000) with input as call
	not lib.recently(["identity_verify"], 5000) with input as call
	not lib.recently(["other"], 60000) with input as call
	not lib.recently(["identity_verify"], 60000) with input as object.union(call, {"current_time": "x"})
	not lib.recently(["identity_verify"], 60000) with input as object.union(call, {"current_time": "2026-11-18T09:00:00Z"})
}
