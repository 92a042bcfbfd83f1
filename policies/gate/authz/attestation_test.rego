package gate.authz_test

import rego.v1

spiffe := "spiffe://gate.local/tenant/acme/agent/files-bot/instance/a"

attested(change) := object.union(
	{"tool_type": "wire_transfer", "agent_spiffe": spiffe},
	{"attestation": object.union({"status": "verified", "spiffeId": spiffe, "expiresAt": "2026-11-18T10:10:00.000Z"}, change)},
)

test_a_wire_of_an_attested_platform_waits if {
	parked(attested({}), "Wire transfers require human approval")
}

test_a_wire_of_no_attested_platform_is_denied if {
	denied({"tool_type": "wire_transfer", "agent_spiffe": spiffe, "attestation": null}, "attested")
	denied({"tool_type": "wire_transfer", "agent_spiffe": spiffe, "attestation": {}}, "attested")
	denied(attested({"status": "rejected"}), "attested")
	denied(attested({"expiresAt": "2026-11-18T10:00:00.000Z"}), "attested")
	denied(attested({"expiresAt": "2026-11-18T09:59:59Z"}), "attested")
	denied(attested({"spiffeId": "spiffe://gate.local/tenant/acme/agent/other/instance/a"}), "attested")
}

test_other_tools_need_none if {
	passes({"tool_type": "list_files", "attestation": null})
	passes({"tool_type": "list_wire_transfers", "attestation": null})
}

test_where_nobody_asks_a_wire_waits if {
	parked({"tool_type": "wire_transfer", "agent_spiffe": spiffe}, "Wire transfers require human approval")
}
