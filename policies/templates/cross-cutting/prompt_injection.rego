# Template: prompt_injection
# Domain: cross-cutting
# Severity: critical
# Frameworks: OWASP-LLM, NIST-AI-RMF
# Tags: injection, inspection
# Tier: deny
# Tool surface: any tool
# Summary: Prompt injection. What the floor asks a person about is refused where the tool acts, and the intent score may be held tighter.
# Purpose: For agents that read what strangers write (mail, tickets, pages): a suspicion there is more often right, and nobody should have to read it at night.
# Inputs: intent_score, injection_suspicions, injection_detected; what the name says of the tool.
# Edit: intent_from, deny_suspicions.

package gate.authz

import rego.v1

prompt_injection_defaults := {
	"intent_from": 0.15,
	"deny_suspicions": true,
}

prompt_injection_settings := object.union(prompt_injection_defaults, given) if given := data.gate.prompt_injection

else := prompt_injection_defaults

# METADATA
# title: Intent
# description: The floor refuses from its own threshold on; a greater number here changes nothing of that.
deny contains "Violation: prompt_injection: the intent_score reaches intent_from; state the task without what turns the tool to another purpose." if {
	not prompt_injection_low
}

prompt_injection_low if {
	is_number(input.intent_score)
	input.intent_score < prompt_injection_settings.intent_from
}

# METADATA
# title: Suspected instructions to a tool that acts
deny contains "Violation: prompt_injection: injection_suspicions in the arguments of a tool that acts; take the quoted text out, or hand over a reference to it." if {
	prompt_injection_settings.deny_suspicions
	object.get(input, "injection_suspicions", []) != []
	not input.names_say[input.tool_type].plainly_reads
}
