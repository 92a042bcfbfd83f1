# Summary: Drift from the persona and from what the agent did before. Over the hard threshold is red; the band below it, both ends included, is for a human.
# Tier: mixed

package gate.authz

import rego.v1

persona_drift := object.get(input, "persona_drift_score", 0)

# Whose persona it is, and the two ways out: who reads this may never have heard of personas.
what_to_do := concat("", [
	": it is unlike the example calls in the persona of ", persona_owner,
	". Its operator can add such a call there, or use an agent without a persona.",
])

default persona_owner := "this agent"

persona_owner := input.agent_id if {
	is_string(input.agent_id)
	input.agent_id != ""
}

# METADATA
# title: Drift over the hard threshold
# description: A score that is no number cannot be compared and denies too.
deny contains concat("", ["Violation: persona drift is over the hard threshold", what_to_do]) if {
	not drift_within_threshold
}

drift_within_threshold if {
	is_number(persona_drift)
	persona_drift <= data.gate.persona_drift.deny_above
}

# METADATA
# title: Drift at the edge
# description: Close enough to the threshold that a human should look.
review contains concat("", ["Review: persona drift: this call is at the edge of what the agent does", what_to_do]) if {
	drift_within_threshold
	not drift_low
}

drift_low if persona_drift < data.gate.persona_drift.review_from

behaviour := object.get(input, "drift", {"score": 0, "reasons": []})

# METADATA
# title: Unlike what this agent did before
# description: An amount far above what the agent paid before, alone or with a destination that is new. What is unusual is for a human, and never denies.
review contains concat("", ["Review: drift: unlike what this agent did before: ", drift_reasons, "."]) if {
	not behaves_as_before
}

behaves_as_before if {
	is_number(behaviour.score)
	behaviour.score < data.gate.persona_drift.review_from
}

default drift_reasons := "how much cannot be read"

drift_reasons := concat("; ", behaviour.reasons) if {
	is_array(behaviour.reasons)
	every reason in behaviour.reasons {
		is_string(reason)
	}
	count(behaviour.reasons) > 0
}
