package gate.authz_test

import rego.v1

import data.gate.authz

test_the_boundary_itself_denies if {
	passes({"budget_micros": 10, "cumulative_spend_micros": 9})
	denied({"budget_micros": 10, "cumulative_spend_micros": 10}, "budget")
}

test_the_usual_budget if {
	passes({"cumulative_spend_micros": 49999999})
	denied({"cumulative_spend_micros": 50000000}, "budget")
}

test_what_cannot_be_read_denies if {
	denied({"budget_micros": "10"}, "budget")
	denied({"cumulative_spend_micros": null}, "budget")
	authz.budget_exceeded with input as object.union(ordinary, {"budget_micros": null})
}
