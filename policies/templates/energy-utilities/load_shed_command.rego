# Template: load_shed_command
# Domain: energy-utilities
# Severity: critical
# Frameworks: NERC-EOP, NERC-CIP, FERC
# Tags: grid, emergency
# Tier: mixed
# Tool surface: shed_load, curtail_load, open_feeder, trip_feeder, dispatch_demand_response
# Summary: Shedding load. No directive, no shed; feeders of hospitals, water and emergency services stay on; the rest waits for the system operator.
# Purpose: In February 2021 Texas shed feeders that fed the gas plants of its own generators. NERC EOP-011 keeps critical load out of the plan and gives the word to a certified operator.
# Inputs: directive_id, eea_level and their like; load_class, critical_load; mode; at any depth.
# Edit: tools, demand_tools, harmless_tools, directive_fields, critical_switches, class_fields, critical_words, mode_fields, harmless_modes.

package gate.authz

import rego.v1

import data.gate.lib

load_shed_command_defaults := {
	"tools": [
		"feeder_disconnect", "feeder_drop", "feeder_open", "feeder_trip", "load_curtail", "load_drop", "load_interrupt", "load_shed",
		"load_shedding", "outage_rotate", "rolling_blackout", "substation_deenergize",
	],
	"demand_tools": [
		"curtailment_dispatch", "demand_response_dispatch", "demand_response_trigger", "dr_event_dispatch", "interruptible_load_call",
	],
	"harmless_tools": ["balancer", "forecast", "notification", "notify", "plan", "report", "simulate", "study"],
	"directive_fields": ["directive", "directive_id", "eea_level", "operating_instruction", "rc_directive", "reliability_directive"],
	"critical_switches": ["critical", "critical_customer", "critical_load", "includes_critical_load", "life_support"],
	"class_fields": [
		"customer_class", "customer_type", "feeder", "feeder_class", "feeder_name", "load_class", "load_type", "priority", "serves", "tag",
	],
	"critical_words": [
		"critical", "dialysis", "emergency_service", "fire_station", "gas_compressor", "hospital", "life_support", "nuclear", "police",
		"prison", "wastewater", "water_pump", "water_treatment",
	],
	"mode_fields": ["environment", "mode", "target_env"],
	"harmless_modes": ["drill", "dts", "sim", "simulation", "simulator", "tabletop", "training"],
}

load_shed_command_settings := object.union(load_shed_command_defaults, given) if given := data.gate.load_shed_command

else := load_shed_command_defaults

watches contains "load_shed_command" if {
	lib.tool_changes(load_shed_command_settings.tools)
	not lib.tool_is(load_shed_command_settings.harmless_tools)
}

watches contains "load_shed_command_demand" if {
	lib.tool_changes(load_shed_command_settings.demand_tools)
	not lib.tool_is(load_shed_command_settings.harmless_tools)
}

# METADATA
# title: Critical load
deny contains "Violation: load_shed_command: the load (load_class, critical_load) is critical; choose feeders of the rotation plan that serve none." if {
	load_shed_command_real
	load_shed_command_critical
}

# METADATA
# title: No directive
deny contains "Violation: load_shed_command: no directive (directive_id, eea_level) orders the shed; the system operator gives it, and the call names it." if {
	load_shed_command_real
	not lib.given(load_shed_command_settings.directive_fields)
}

# METADATA
# title: Under a directive
review contains "Review: load_shed_command: customers lose power under a directive (directive_id); approve it as the certified system operator." if {
	load_shed_command_real
	lib.given(load_shed_command_settings.directive_fields)
}

# METADATA
# title: Demand response
review contains "Review: load_shed_command: contracted load (tool) would be called; approve it where the programme's terms and hours allow it." if {
	lib.watched.load_shed_command_demand
	not lib.among(load_shed_command_settings.mode_fields, load_shed_command_settings.harmless_modes)
}

load_shed_command_real if {
	lib.watched.load_shed_command
	not lib.among(load_shed_command_settings.mode_fields, load_shed_command_settings.harmless_modes)
}

load_shed_command_critical if lib.switched_on(load_shed_command_settings.critical_switches)

load_shed_command_critical if lib.mentions(load_shed_command_settings.class_fields, load_shed_command_settings.critical_words)
