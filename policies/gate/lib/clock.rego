# Summary: Clock. Time comes from input.current_time alone, an RFC 3339 text stamped by the proxy.
#
# It is read here by plain arithmetic: the compiled rules have no clock, so the same input always gives the same verdict.
# A time that is missing or not a real date leaves these rules undefined, and the rules that need one then take the
# careful side.

package gate.lib

import rego.v1

rfc3339 := `^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$`

# The form Gate itself writes is cut by position, every other by the expression: to compile it costs more than all other rules
# together.
time_parts := [part |
	some [from, length] in [[0, 24], [0, 4], [5, 2], [8, 2], [11, 2], [14, 2], [17, 2], [20, 3], [0, 0], [0, 0], [0, 0]]
	part := substring(input.current_time, from, length)
] if {
	strings.replace_n(digits_to_zero, input.current_time) == "0000-00-00T00:00:00.000Z"
}

else := regex.find_all_string_submatch_n(rfc3339, input.current_time, 1)[0]

digits_to_zero := {"1": "0", "2": "0", "3": "0", "4": "0", "5": "0", "6": "0", "7": "0", "8": "0", "9": "0"}

# "09" as a number; a leading zero is no JSON number.
decimal(text) := to_number(digits) if {
	digits := trim_left(text, "0")
	digits != ""
}

else := 0

time_year := decimal(time_parts[1])

time_month := decimal(time_parts[2])

time_day := decimal(time_parts[3])

days_in_month := [31, february_days, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

default february_days := 28

february_days := 29 if {
	time_year % 4 == 0
	not century_without_leap_day
}

century_without_leap_day if {
	time_year % 100 == 0
	time_year % 400 != 0
}

time_valid if {
	time_day >= 1
	time_day <= days_in_month[time_month - 1]
	decimal(time_parts[4]) <= 23
	decimal(time_parts[5]) <= 59
	decimal(time_parts[6]) <= 59
	decimal(time_parts[9]) <= 23
	decimal(time_parts[10]) <= 59
}

# Days since 1970-01-01 in the proleptic Gregorian calendar; the year is counted from March so that the leap day comes last.
days_since_epoch := ((era * 146097) + day_of_era) - 719468 if {
	time_valid
	shifted_year := time_year - march_shift
	era := floor(shifted_year / 400)
	year_of_era := shifted_year - (era * 400)
	month_from_march := (time_month + 9) % 12
	day_of_year := (floor(((153 * month_from_march) + 2) / 5) + time_day) - 1
	day_of_era := (((year_of_era * 365) + floor(year_of_era / 4)) - floor(year_of_era / 100)) + day_of_year
}

default march_shift := 0

march_shift := 1 if time_month <= 2

# An offset is taken off, so 18:00+02:00 is 16:00 UTC.
default offset_sign := 1

offset_sign := -1 if time_parts[8] == "-"

offset_minutes := offset_sign * ((decimal(time_parts[9]) * 60) + decimal(time_parts[10]))

# METADATA
# title: Now
# description: Milliseconds since 1970-01-01T00:00:00Z; digits below the millisecond are cut.
now_ms := (((days_since_epoch * 86400000) + (minutes * 60000)) + (decimal(time_parts[6]) * 1000)) + millis if {
	minutes := ((decimal(time_parts[4]) * 60) + decimal(time_parts[5])) - offset_minutes
	millis := decimal(substring(concat("", [time_parts[7], "000"]), 0, 3))
}

weekday_names := ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"]

# METADATA
# title: Business hours
# description: From the first hour up to, not including, the last, on the weekdays of data.json, in UTC.
business_hours if {
	day := floor(now_ms / 86400000)
	hours := (now_ms - (day * 86400000)) / 3600000
	weekday_names[((day % 7) + 7) % 7] in data.gate.business_hours.weekdays
	hours >= data.gate.business_hours.from_hour
	hours < data.gate.business_hours.to_hour
}
