package gate.authz_test

import rego.v1

import data.gate.authz

writing(environment) := {"tool_type": "database.write", "environments": [environment]}

test_production_is_strict if {
	parked(writing("prod"), "production database write")
	parked(writing("Production"), "production database write")
	parked(writing("prod-eu"), "production database write")
	authz.approval_tier == "strict" with input as object.union(ordinary, writing("prod"))
}

test_an_environment_that_cannot_be_read_may_be_production if {
	parked(writing(null), "production")
	parked({"tool_type": "database.write", "environments": null}, "not read for environments")
}

test_each_environment_that_is_named_counts if {
	parked({"tool_type": "database.write", "environments": ["staging", "prod"]}, "production")
}

test_other_environments_pass if {
	passes(writing("staging"))
	passes(writing("non-prod"))
	passes(writing("pre_production"))
	passes({"tool_type": "database.write"})
}

test_the_name_may_say_production if {
	parked({"tool_type": "prod_write"}, "production")
	passes({"tool_type": "nonprod_write"})
	passes({"tool_type": "prod_read"})
}

test_a_plural_is_looked_at_too if {
	parked(writing("Factories EU"), "production") with data.gate.production_writes.environment_words as ["factory"]
	passes(writing("EU")) with data.gate.production_writes.environment_words as ["factory"]
}
