# Summary: Intent and injection. What semantic inspection found.
# Tier: deny
#
# Both rules ask for proof of the good case, so a missing number denies.

package gate.authz

import rego.v1

# METADATA
# title: Intent score
# description: Inspection rejected the call, or its score is missing (policy sheet 5).
deny contains message if {
	not intent_below_threshold
	message := concat("", ["Violation: Intent score is not below the threshold ", json.marshal(data.gate.intent.threshold), "."])
}

intent_below_threshold if {
	is_number(input.intent_score)
	input.intent_score < data.gate.intent.threshold
}

# METADATA
# title: Injection
# description: Inspection saw an indirect prompt injection (spec 1.5).
deny contains "Violation: prompt injection detected." if not injection_free

injection_free if object.get(input, "injection_detected", false) == false
