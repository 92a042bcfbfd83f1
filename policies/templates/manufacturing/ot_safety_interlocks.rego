# Template: ot_safety_interlocks
# Domain: manufacturing
# Severity: critical
# Frameworks: IEC-61511, ISO-13849, OSHA-1910-147, IEC-62443
# Tags: safety, interlocks
# Tier: deny
# Tool surface: bypass_interlock, force_io, reset_estop, mute_light_curtain, write_opcua_node, suppress_alarm
# Summary: Safety functions. No agent bypasses, forces, mutes or resets one, nor writes to what belongs to one; a person does it at the machine, under a permit.
# Purpose: In 2017 TRITON rewrote a safety controller from the network. A defeated interlock is how people lose hands; lock-out (29 CFR 1910.147) is done by who stands there.
# Inputs: the tool; tag, node, address and their like; priority, alarm_class; mode; at any depth.
# Edit: bypass_tools, write_tools, alarm_tools, point_fields, safety_words, alarm_fields, grave_words, place_fields, harmless_places.

package gate.authz

import rego.v1

import data.gate.lib

ot_safety_interlocks_defaults := {
	"bypass_tools": [
		"bypass_interlock", "bypass_permissive", "bypass_sis", "bypass_trip", "defeat_interlock", "disable_estop", "disable_guard",
		"disable_interlock", "disable_light_curtain", "force_interlock", "force_io", "force_output", "guard_bypass", "guard_override",
		"guard_unlock", "inhibit_trip", "interlock_override", "interlock_reset", "interlock_set", "interlock_update", "interlock_write",
		"light_curtain_bypass", "light_curtain_mute", "lockout_clear", "lockout_release", "lockout_remove", "override_permissive",
		"override_trip", "reset_e_stop", "reset_emergency_stop", "reset_estop", "safety_bypass", "safety_controller_write",
		"safety_function_disable", "safety_override", "safety_plc_download", "safety_plc_write", "safety_relay_reset", "sis_override",
		"sis_update", "sis_write", "unlock_guard",
	],
	"write_tools": [
		"coil_write", "dcs_write", "machine_parameter_set", "modbus_write", "opcua_method_call", "opcua_write", "plc_download",
		"plc_program_download", "plc_set", "plc_update", "plc_write", "profinet_write", "register_write", "scada_write", "setpoint_set",
		"setpoint_update", "setpoint_write", "tag_value_set", "tag_value_write",
	],
	"alarm_tools": [
		"alarm_disable", "alarm_inhibit", "alarm_limit_update", "alarm_mute", "alarm_setpoint_update", "alarm_shelve", "alarm_silence",
		"alarm_suppress",
	],
	"point_fields": [
		"address", "alarm", "alarm_name", "block", "controller", "device", "function_block", "node", "node_id", "path", "plc", "point",
		"program", "project", "register", "routine", "source", "tag", "tag_name", "task", "variable",
	],
	"safety_words": [
		"burner_management", "e_stop", "emergency_stop", "estop", "gas_detector", "guard_lock", "guard_switch", "interlock",
		"light_curtain", "lockout", "muting", "overpressure", "overspeed", "safety", "sif", "sil", "sis", "two_hand",
	],
	"alarm_fields": ["alarm_class", "class", "priority", "severity"],
	"grave_words": ["critical", "emergency", "highest", "safety"],
	"place_fields": ["env", "environment", "mode", "target_env"],
	"harmless_places": ["digital_twin", "emulator", "offline", "plcsim", "sim", "simulation", "simulator", "twin"],
}

ot_safety_interlocks_settings := object.union(ot_safety_interlocks_defaults, given) if given := data.gate.ot_safety_interlocks

else := ot_safety_interlocks_defaults

watches contains "ot_safety_interlocks_bypass" if lib.tool_changes(ot_safety_interlocks_settings.bypass_tools)

watches contains "ot_safety_interlocks_write" if lib.tool_is(ot_safety_interlocks_settings.write_tools)

watches contains "ot_safety_interlocks_alarm" if lib.tool_changes(ot_safety_interlocks_settings.alarm_tools)

# METADATA
# title: A defeated function
deny contains "Violation: ot_safety_interlocks: the tool defeats a safety function; stop the machine and have an authorised person do it there, under a bypass permit." if {
	lib.watched.ot_safety_interlocks_bypass
	ot_safety_interlocks_real
}

# METADATA
# title: A write into a function
deny contains "Violation: ot_safety_interlocks: what is written (tag, node) belongs to a safety function; change it in the safety program, by its engineer, with validation." if {
	lib.watched.ot_safety_interlocks_write
	ot_safety_interlocks_real
	lib.mentions(ot_safety_interlocks_settings.point_fields, ot_safety_interlocks_settings.safety_words)
}

# METADATA
# title: A silenced alarm
deny contains "Violation: ot_safety_interlocks: the alarm (alarm, priority) is one of safety; acknowledge it, and leave shelving to the operator at the panel." if {
	lib.watched.ot_safety_interlocks_alarm
	ot_safety_interlocks_real
	ot_safety_interlocks_grave
}

ot_safety_interlocks_grave if lib.mentions(ot_safety_interlocks_settings.alarm_fields, ot_safety_interlocks_settings.grave_words)

ot_safety_interlocks_grave if lib.mentions(ot_safety_interlocks_settings.point_fields, ot_safety_interlocks_settings.safety_words)

ot_safety_interlocks_real if not lib.among(ot_safety_interlocks_settings.place_fields, ot_safety_interlocks_settings.harmless_places)
