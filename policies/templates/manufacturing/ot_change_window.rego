# Template: ot_change_window
# Domain: manufacturing
# Severity: critical
# Frameworks: IEC-62443, NIST-CSF, NIST-800-82
# Tags: plc, change-management
# Tier: deny
# Tool surface: plc_write, write_opcua_node, download_plc_program, update_plc_firmware, modbus_write_register, deploy_hmi
# Summary: Changes of controllers. A program, firmware or value goes to a machine under an approved change and within the plant's window; elsewhere it goes to the twin.
# Purpose: A controller restarted in mid-shift scraps the batch or moves an arm beside a person. IEC 62443-2-1 asks for management of change before anything is downloaded.
# Inputs: change_id, moc_number, work_order and their like; current_time; environment, mode; at any depth.
# Edit: tools, download_tools, change_fields, window, place_fields, harmless_places.

package gate.authz

import rego.v1

import data.gate.lib

ot_change_window_defaults := {
	"tools": [
		"coil_write", "controller_firmware_update", "controller_program_update", "dcs_write", "drive_parameter_set",
		"drive_parameter_write", "firmware_flash_plc", "hmi_deploy", "hmi_publish", "ladder_logic_update", "ladder_logic_write",
		"machine_parameter_set", "machine_parameter_update", "machine_setpoint_write", "modbus_write", "opcua_method_call", "opcua_write",
		"plc_coil_set", "plc_deploy", "plc_firmware_update", "plc_program_upload", "plc_restart", "plc_set", "plc_stop", "plc_update",
		"plc_write", "profinet_write", "register_write", "robot_program_deploy", "robot_program_update", "robot_program_upload",
		"scada_write",
	],
	"download_tools": [
		"controller_program_download", "firmware_download_plc", "logic_download_plc", "plc_download", "plc_program_download",
		"recipe_download_plc", "robot_program_download",
	],
	"change_fields": [
		"change_id", "change_number", "change_request", "change_ticket", "mcr_number", "moc", "moc_id", "moc_number", "work_order",
		"work_order_id",
	],
	"window": {
		"weekdays": ["Saturday", "Sunday"],
		"from_hour": 6,
		"to_hour": 18,
		"utc_offset_minutes": 0,
	},
	"place_fields": ["env", "environment", "mode", "target_env"],
	"harmless_places": [
		"dev", "digital_twin", "emulator", "lab", "offline", "plcsim", "sim", "simulation", "simulator", "test_bench", "twin",
	],
}

ot_change_window_settings := object.union(ot_change_window_defaults, given) if given := data.gate.ot_change_window

else := ot_change_window_defaults

watches contains "ot_change_window" if lib.tool_changes(ot_change_window_settings.tools)

watches contains "ot_change_window" if lib.tool_is(ot_change_window_settings.download_tools)

# METADATA
# title: No change
deny contains "Violation: ot_change_window: no approved change (change_id, moc_number) says to write to this controller; name it, or run it on the twin (environment)." if {
	ot_change_window_real
	not lib.given(ot_change_window_settings.change_fields)
}

# METADATA
# title: Outside the window
deny contains "Violation: ot_change_window: current_time is outside the window of changes; schedule it within window, or run it on the twin (environment)." if {
	ot_change_window_real
	not lib.between(ot_change_window_settings.window)
}

ot_change_window_real if {
	lib.watched.ot_change_window
	not lib.among(ot_change_window_settings.place_fields, ot_change_window_settings.harmless_places)
}
