# Summary: Personal data. Which kinds the arguments hold, by what they look like and by the names they stand under.

package gate.lib

import rego.v1

# METADATA
# title: Personal data
# description: >-
#   email, phone, ssn, card, iban, birth_date, passport, driver_license, national_id, tax_id, bank_account, health, biometric. A text that only
#   looks like one counts; that is for rules to weigh.
personal contains kind if {
	some kind, pattern in personal_patterns
	some text in texts
	may_hold(kind, lower(text))
	regex.match(pattern, text)
}

# An expression costs more than all the rest: where plain text says that it may match.
may_hold(kind, text) if {
	some hint in personal_hints[kind]
	contains(text, hint)
}

personal_hints := {
	"email": ["@"],
	"ssn": ["-", " "],
	"iban": ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"],
	"phone": ["+", "-"],
	"health": ["icd", "patient", "medical", "mrn", "diagnos", "prescribed", "hiv"],
	"birth_date": ["dob", "birth", "born"],
	"passport": ["passport"],
}

personal contains "card" if count(card_numbers) > 0

personal contains kind if {
	some kind, names in personal_names
	given(names)
}

personal_patterns := {
	"email": `(?i)\b[a-z0-9._%+-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}\b`,
	"ssn": `\b[0-8][0-9]{2}[- ][0-9]{2}[- ][0-9]{4}\b`,
	"iban": `\b[A-Z]{2}[0-9]{2} ?(?:[A-Z0-9]{4} ?){2,7}[A-Z0-9]{1,4}\b`,
	"phone": `(?:\+[0-9]{1,3}[ .-]?(?:\([0-9]{1,4}\)[ .-]?)?[0-9](?:[ .-]?[0-9]){6,11}\b|\([0-9]{3}\) ?[0-9]{3}-[0-9]{4}\b|\b[0-9]{3}-[0-9]{3}-[0-9]{4}\b)`,
	"health": `(?i)\b(?:icd-?(?:9|10)\b|(?:patient|medical record|mrn)[ #:no.]{1,6}[a-z]{0,3}-?[0-9]{4,}|diagnos(?:is|ed with)|prescribed\b|hiv[ -]positive)`,
	"birth_date": `(?i)\b(?:dob|date of birth|born(?: on)?)\b[ :]{1,3}[0-9]{1,4}[-./ ][0-9]{1,2}[-./ ][0-9]{1,4}`,
	"passport": `(?i)\bpassport(?: no\.?| number| #)?[ :]{1,3}[a-z]{0,2}[0-9]{6,9}\b`,
}

personal_names := {
	"ssn": ["ssn", "social_security", "social_security_number"],
	"card": ["card_number", "pan", "credit_card", "credit_card_number", "cvv", "cvc"],
	"iban": ["iban"],
	"phone": ["phone", "phone_number", "mobile", "mobile_number"],
	"birth_date": ["dob", "date_of_birth", "birth_date", "birthday"],
	"passport": ["passport", "passport_number", "passport_no"],
	"driver_license": ["driver_license", "drivers_license", "driving_licence", "license_number"],
	"national_id": ["national_id", "national_id_number", "nino", "aadhaar", "personnummer", "citizen_id"],
	"tax_id": ["tax_id", "tin", "itin", "steuer_id", "vat_personal"],
	"bank_account": ["account_number", "bank_account", "bank_account_number", "routing_number", "sort_code"],
	"health": ["mrn", "medical_record_number", "patient_id", "patient_name", "diagnosis", "diagnoses", "icd10", "icd_10", "medication", "lab_result", "prescription"],
	"biometric": ["fingerprint_template", "face_embedding", "iris_code", "voiceprint", "biometric"],
}

# Digits in groups that pass the check of card numbers (ISO/IEC 7812-1).
card_numbers contains digits if {
	some text in texts
	holds_thirteen_digits(text)
	some match in regex.find_all_string_submatch_n(`\b[2-6](?:[ -]?[0-9]){12,18}\b`, text, 64)
	digits := strings.replace_n({" ": "", "-": ""}, match[0])
	luhn(digits)
}

holds_thirteen_digits(text) if {
	letters := strings.replace_n({"0": "", "1": "", "2": "", "3": "", "4": "", "5": "", "6": "", "7": "", "8": "", "9": ""}, text)
	count(text) - count(letters) >= 13
}

luhn(digits) if {
	reversed := split(strings.reverse(digits), "")
	sum([worth |
		some position, digit in reversed
		worth := luhn_worth[position % 2][digit]
	]) % 10 == 0
}

luhn_worth := [
	{"0": 0, "1": 1, "2": 2, "3": 3, "4": 4, "5": 5, "6": 6, "7": 7, "8": 8, "9": 9},
	{"0": 0, "1": 2, "2": 4, "3": 6, "4": 8, "5": 1, "6": 3, "7": 5, "8": 7, "9": 9},
]

# METADATA
# title: Mail addresses
# description: Those in the arguments, each once; how many says how many people a call is about.
mail_addresses contains lower(match[0]) if {
	some text in texts
	contains(text, "@")
	some match in regex.find_all_string_submatch_n(personal_patterns.email, text, 1000)
}
