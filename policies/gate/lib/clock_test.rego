package gate.lib_test

import rego.v1

import data.gate.lib

at(text) := result if {
	result := lib.now_ms with input as {"current_time": text}
}

open(text) if lib.business_hours with input as {"current_time": text}

# The arithmetic against the built-in that the wasm runtime does not have.
test_the_clock_agrees_with_the_compiler if {
	every text in [
		"1970-01-01T00:00:00Z",
		"1999-12-31T23:59:59.999Z",
		"2000-02-29T12:00:00Z",
		"2024-02-29T00:00:00Z",
		"2026-03-01T00:00:00.5Z",
		"2026-11-18T10:00:00Z",
		"2026-11-18T10:20:30.456Z",
		"2026-11-18T23:30:00-01:30",
		"2027-01-01T00:00:00+14:00",
		"2100-03-01T08:09:10.123456789Z",
	] {
		at(text) == floor(time.parse_rfc3339_ns(text) / 1000000)
	}
}

test_every_day_of_two_years_has_its_weekday if {
	every day in numbers.range(20400, 21130) {
		ns := day * 86400000000000
		[year, month, date] := time.date(ns)
		text := sprintf("%d-%02d-%02dT12:00:00Z", [year, month, date])
		working := time.weekday(ns) in {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday"}
		working == open_or_not(text)
	}
}

open_or_not(text) if open(text)

else := false

test_the_day_begins_at_nine_and_ends_at_five if {
	open("2026-11-18T09:00:00Z")
	open("2026-11-18T16:59:59.999Z")
	not open("2026-11-18T08:59:59.999Z")
	not open("2026-11-18T17:00:00Z")
}

test_what_is_no_time_is_undefined if {
	every text in [
		"2026-02-29T12:00:00Z",
		"2026-13-01T12:00:00Z",
		"2026-13-01T12:00:00.000Z",
		"2026-11-18T24:00:00.000Z",
		"2026-11-18T10:00:00.00xZ",
		"2026-00-01T12:00:00Z",
		"2026-01-32T12:00:00Z",
		"2026-01-00T12:00:00Z",
		"2026-01-01T24:00:00Z",
		"2026-01-01T12:60:00Z",
		"2026-01-01T12:00:00",
		"2026-01-01",
		"",
		5,
		null,
	] {
		not at(text)
	}
}
