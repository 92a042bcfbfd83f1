# Template: sim_port_controls
# Domain: telecom
# Severity: critical
# Frameworks: FCC, CPNI, FCC-23-95
# Tags: sim-swap, port-out
# Tier: mixed
# Tool surface: swap_sim, activate_esim, port_out_number, reveal_port_pin, remove_number_lock
# Summary: SIM swaps and port-outs. A locked number stays, nobody is moved on a text code or without secure authentication, and every move waits for a person.
# Purpose: Whoever has the number has the bank account. FCC 23-95 (47 CFR 64.2010(h), 52.37) wants secure authentication, a lock that holds, and a notice before the change.
# Inputs: auth_method, customer_authenticated; account_lock, number_lock; imei, iccid; at any depth.
# Edit: tools, lock_tools, harmless_tools, locked_fields, method_fields, secure_methods.

package gate.authz

import rego.v1

import data.gate.lib

sim_port_controls_defaults := {
	"tools": [
		"device_swap_line", "esim_activate", "esim_issue", "esim_profile_download", "esim_reissue", "esim_transfer", "iccid_change",
		"iccid_update", "imsi_change", "imsi_update", "line_transfer_sim", "msisdn_change", "number_port", "number_port_out",
		"number_transfer", "phone_number_port", "port_out", "port_pin_generate", "port_pin_reset", "port_pin_reveal", "porting_pin_get",
		"sim_activate", "sim_change", "sim_pair", "sim_replace", "sim_swap", "sim_transfer", "transfer_pin_generate", "transfer_pin_get",
	],
	"lock_tools": [
		"number_lock_disable", "number_lock_remove", "number_unlock", "port_block_remove", "port_freeze_lift", "port_freeze_remove",
		"port_lock_disable", "port_protection_disable", "sim_lock_remove", "sim_protection_disable", "sim_protection_remove",
		"sim_swap_block_remove",
	],
	"harmless_tools": ["eligibility", "kit_order", "port_in", "request_status", "stock", "ticket"],
	"locked_fields": [
		"account_lock", "fraud_hold", "locked", "number_lock", "number_locked", "port_block", "port_freeze", "port_lock", "sim_lock",
		"sim_protection",
	],
	"method_fields": ["auth_method", "authentication_method", "verification_method", "verified_by"],
	"secure_methods": [
		"account_pin", "app_push", "biometric", "government_id_in_store", "hardware_key", "in_store_id", "passcode", "passkey", "password",
		"pin",
	],
}

sim_port_controls_settings := object.union(sim_port_controls_defaults, given) if given := data.gate.sim_port_controls

else := sim_port_controls_defaults

watches contains "sim_port_controls_move" if {
	lib.tool_is(sim_port_controls_settings.tools)
	not lib.tool_is(sim_port_controls_settings.harmless_tools)
}

watches contains "sim_port_controls_lock" if lib.tool_changes(sim_port_controls_settings.lock_tools)

# METADATA
# title: A locked number
deny contains "Violation: sim_port_controls: the customer locked the number (number_lock, port_freeze); the customer takes the lock off in the app or in a shop first." if {
	lib.watched.sim_port_controls_move
	lib.switched_on(sim_port_controls_settings.locked_fields)
}

# METADATA
# title: Not authenticated
deny contains "Violation: sim_port_controls: no secure authentication is said (auth_method); ask for the account PIN, a passkey or an ID in a shop, never a code by text or facts of a life." if {
	sim_port_controls_watched
	not lib.among(sim_port_controls_settings.method_fields, sim_port_controls_settings.secure_methods)
}

# METADATA
# title: A move
review contains "Review: sim_port_controls: a number or its lock would move after authentication (auth_method); approve it where the customer was told on the old line." if {
	sim_port_controls_watched
	lib.among(sim_port_controls_settings.method_fields, sim_port_controls_settings.secure_methods)
}

sim_port_controls_watched if lib.watched.sim_port_controls_move

sim_port_controls_watched if lib.watched.sim_port_controls_lock
