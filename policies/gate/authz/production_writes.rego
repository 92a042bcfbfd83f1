# Summary: Production writes. Data of the production environment is written only after a strict review.
# Tier: review

package gate.authz

import rego.v1

import data.gate.lib

# METADATA
# title: Production database write
# description: A database write whose environment is, or may be, production.
review contains "Review: production database write requires strict approval." if production_write

# The engine finds what the arguments say of the environment, wherever they say it (domain/policy/read-environments.ts).
production_write if {
	tool_says.writes_database
	some environment in input.environments
	not_surely_other_than_production(environment)
}

# METADATA
# title: Read for environments
# description: The engine sets input.environments at every call. Without it nobody has looked.
review contains "Review: the arguments were not read for environments." if {
	tool_says.writes_database
	not is_array(input.environments)
}

# The name itself says production: prod_write, update_production_records.
production_write if tool_says.writes_production

tool_traits contains "writes_production" if {
	some verb in data.gate.production_writes.verbs
	verb in lib.tool_forms
	some word in data.gate.production_writes.environment_words
	word in lib.tool_forms
	not lib.tool_reads
	not negated(lib.tool_forms)
}

tool_traits contains "writes_database" if {
	some verb in data.gate.production_writes.verbs
	verb in lib.tool_forms
	some object in data.gate.production_writes.objects
	object in lib.tool_forms
	not lib.tool_reads
}

not_surely_other_than_production(environment) if not is_string(environment)

not_surely_other_than_production(environment) if {
	forms := forms_of_what_may_be_production(environment)
	some word in data.gate.production_writes.environment_words
	word in forms
	not negated(forms)
}

# A text without the letters of any such word is not split into words; a form may end in "y" where the text has "ies".
forms_of_what_may_be_production(environment) := lib.forms_of(environment) if {
	text := lower(environment)
	some word in data.gate.production_writes.environment_words
	contains(text, trim_suffix(word, "y"))
}

# "non-prod", "pre_production".
negated(forms) if {
	some word in data.gate.production_writes.negations
	word in forms
}
