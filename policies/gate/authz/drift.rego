# Summary: Persona drift. Over the hard threshold is red (spec 8.1); the band below it, both ends included, is for a human.
# Tier: mixed
# Source: policy sheet 5

package gate.authz

import rego.v1

persona_drift := object.get(input, "persona_drift_score", 0)

# METADATA
# title: Drift over the hard threshold
# description: A score that is no number cannot be compared and denies too.
deny contains "Violation: persona drift is over the hard threshold." if not drift_within_threshold

drift_within_threshold if {
	is_number(persona_drift)
	persona_drift <= data.gate.persona_drift.deny_above
}

# METADATA
# title: Drift at the edge
# description: Close enough to the threshold that a human should look.
review contains "Review: persona drift is at the edge of what this agent does." if {
	drift_within_threshold
	not drift_low
}

drift_low if persona_drift < data.gate.persona_drift.review_from
