# Summary: Intent and injection. What semantic inspection found.
# Tier: mixed
#
# The rules that deny ask for proof of the good case, so a missing number denies. A detector that is not confident denies nothing: people
# write such sentences too, and one of them reads it.

package gate.authz

import rego.v1

# METADATA
# title: Intent score
# description: Inspection rejected the call, or its score is missing.
deny contains "Violation: Intent score is not below the threshold." if not intent_below_threshold

intent_below_threshold if {
	is_number(input.intent_score)
	input.intent_score < data.gate.intent.threshold
}

# METADATA
# title: Suspected intent
# description: The request may state a destructive intent, or name another object in the same words; a human reads the text. What is no list parks too.
review contains message if {
	suspicions := object.get(input, "intent_suspicions", [])
	suspicions != []
	message := concat("", [
		"Review: the arguments may order a destructive deed (",
		suspected_classes(suspicions),
		"). Read them as the tool's reader will: approve what is about something else, deny what gives the order.",
	])
}

# METADATA
# title: Injection
# description: Inspection is confident that it saw an indirect prompt injection.
deny contains "Violation: prompt injection detected." if not injection_free

injection_free if object.get(input, "injection_detected", false) == false

# METADATA
# title: Suspected injection
# description: The injection detector found something that people also write; a human reads the text. What is no list parks too.
review contains message if {
	suspicions := object.get(input, "injection_suspicions", [])
	suspicions != []
	message := concat("", [
		"Review: the injection detector suspects instructions to the model in the arguments (",
		suspected_classes(suspicions),
		"). Read them as the tool's reader will: approve what is ordinary text, deny what gives orders.",
	])
}

suspected_classes(suspicions) := concat(", ", sort([name | some name in suspicions; is_string(name)])) if is_array(suspicions)

suspected_classes(suspicions) := "unreadable" if not is_array(suspicions)
