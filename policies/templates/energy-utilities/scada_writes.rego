# Template: scada_writes
# Domain: energy-utilities
# Severity: critical
# Frameworks: NERC-CIP, FERC, IEC-62443
# Tags: scada, grid
# Tier: mixed
# Tool surface: scada_write, write_setpoint, open_breaker, dnp3_operate, modbus_write_register, write_opcua_node
# Summary: Control of the grid. A command to a device in the field names its switching order and waits for the operator; protection settings are no agent's.
# Purpose: In Ukraine (2015, 2016) breakers were opened by whoever held the mouse. NERC CIP-007 and CIP-010 want each change authorised, and a lineman's life hangs on the order.
# Inputs: switching_order, work_order and their like; mode, environment; tag, point, setting_group; at any depth.
# Edit: tools, protection_tools, point_fields, protection_words, order_fields, mode_fields, harmless_modes.

package gate.authz

import rego.v1

import data.gate.lib

scada_writes_defaults := {
	"tools": [
		"breaker_close", "breaker_open", "breaker_operate", "breaker_trip", "capacitor_bank_switch", "coil_write", "control_command_send",
		"disconnector_operate", "dnp_operate", "dnp_write", "modbus_write", "opcua_method_call", "opcua_write", "point_operate",
		"recloser_operate", "register_write", "rtu_command", "rtu_write", "scada_command", "scada_control", "scada_operate", "scada_set",
		"scada_update", "scada_write", "setpoint_change", "setpoint_set", "setpoint_update", "setpoint_write", "tap_changer_operate",
		"tap_changer_set",
	],
	"protection_tools": [
		"protection_disable", "protection_setting_update", "protection_setting_write", "recloser_disable", "relay_disable",
		"relay_setting_change", "relay_setting_update", "relay_setting_write",
	],
	"point_fields": [
		"address", "asset", "device", "node", "node_id", "path", "point", "point_name", "register", "setting", "setting_group", "tag",
		"tag_name",
	],
	"protection_words": ["anti_islanding", "protection", "protective_relay", "relay_setting", "trip_setting", "underfrequency"],
	"order_fields": [
		"change_ticket", "clearance_number", "operating_instruction", "switching_order", "switching_order_id", "work_order",
		"work_order_id", "work_permit",
	],
	"mode_fields": ["environment", "mode", "target_env"],
	"harmless_modes": [
		"digital_twin", "dts", "emulator", "lab", "offline", "plcsim", "sim", "simulation", "simulator", "test_bench", "training", "twin",
	],
}

scada_writes_settings := object.union(scada_writes_defaults, given) if given := data.gate.scada_writes

else := scada_writes_defaults

watches contains "scada_writes" if lib.tool_changes(scada_writes_settings.tools)

watches contains "scada_writes_protection" if lib.tool_changes(scada_writes_settings.protection_tools)

# METADATA
# title: Protection
deny contains "Violation: scada_writes: the command (tool, point) changes protection of the grid; a protection engineer sets it at the relay, under a change of settings." if {
	scada_writes_protects
	not scada_writes_simulated
}

# METADATA
# title: No order
deny contains "Violation: scada_writes: no order (switching_order, work_order) says to operate this device; name the order of the control room." if {
	lib.watched.scada_writes
	not scada_writes_simulated
	not lib.given(scada_writes_settings.order_fields)
}

# METADATA
# title: Under an order
review contains "Review: scada_writes: a device in the field would move under an order (switching_order); approve it as its operator, after select and read-back." if {
	lib.watched.scada_writes
	not scada_writes_simulated
	lib.given(scada_writes_settings.order_fields)
}

scada_writes_protects if lib.watched.scada_writes_protection

scada_writes_protects if {
	lib.watched.scada_writes
	lib.mentions(scada_writes_settings.point_fields, scada_writes_settings.protection_words)
}

scada_writes_simulated if lib.among(scada_writes_settings.mode_fields, scada_writes_settings.harmless_modes)
