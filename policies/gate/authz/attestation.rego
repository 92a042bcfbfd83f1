# Summary: Attestation. Where the deployment asks for it, money is wired only from a platform that said what it measured.
# Tier: deny

package gate.authz

import rego.v1

# METADATA
# title: Attestation
# description: The deployment asks what the platforms of agents measured, and of this one it knows nothing that counts now.
deny contains "Violation: this tool needs an agent whose platform was attested." if {
	tool_says.wires_money
	not platform_attested
}

# Nobody asks.
platform_attested if not "attestation" in object.keys(input)

# By whole seconds, as either may have a fraction.
platform_attested if {
	input.attestation.status == "verified"
	input.attestation.spiffeId == input.agent_spiffe
	substring(input.attestation.expiresAt, 0, 19) > substring(input.current_time, 0, 19)
}
