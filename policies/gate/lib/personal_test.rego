package gate.lib_test

import rego.v1

import data.gate.lib

kinds_in(arguments) := kinds if {
	kinds := lib.personal with input as {"tool_type": "x", "arguments": arguments}
}

test_kinds_by_what_they_look_like if {
	every text, kind in {
		"write to ada@example.org": "email",
		"SSN 078-05-1120": "ssn",
		"card 4111 1111 1111 1111 exp 12/30": "card",
		"pay DE89 3704 0044 0532 0130 00": "iban",
		"call +49 30 1234567": "phone",
		"Patient #883412 was diagnosed with asthma": "health",
		"DOB: 1984-03-02": "birth_date",
		"passport no. C01234567": "passport",
	} {
		kind in kinds_in({"body": text})
	}
}

test_kinds_by_their_names if {
	every name, kind in {"SSN": "ssn", "dateOfBirth": "birth_date", "patient_id": "health", "accountNumber": "bank_account", "card-number": "card"} {
		kind in kinds_in({"row": {name: "x1"}})
	}
}

test_what_is_none if {
	every text in [
		"order 4111 1111 1111 1112",
		"build 2026-11-18 10:00",
		"commit 1234567890123456789012345678901234567890",
		"version 10.20.30",
		"see RFC 8785",
	] {
		kinds_in({"body": text}) == set()
	}
	kinds_in({"path": "notes.txt", "ssn": ""}) == set()
}

test_people_are_counted_once if {
	addresses := lib.mail_addresses with input as {"arguments": {"body": "a@x.org, A@x.org and b@x.org"}}
	count(addresses) == 2
}
