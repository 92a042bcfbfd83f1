# Template: secret_rotation_window
# Domain: devops
# Severity: critical
# Frameworks: SOC2, ISO-27001
# Tags: secrets, change-management
# Tier: mixed
# Tool surface: rotate_secret, rotate_key, put_secret_value, cancel_rotate_secret
# Summary: Secrets. They are rotated within the window, or because of an incident, which a person looks at; stopping the rotation is refused.
# Purpose: A secret that changes while nobody watches takes every service down that holds the old one; one that never changes is what a thief keeps.
# Inputs: current_time; incident_id, environment, rotation_enabled and their like, at any depth.
# Edit: rotate_tools, stop_tools, environment_fields, harmless_environments, incident_fields, enabled_fields, window.

package gate.authz

import rego.v1

import data.gate.lib

secret_rotation_window_defaults := {
	"rotate_tools": [
		"api_key_rotate", "certificate_rotate", "credential_rotate", "key_rotate", "password_rotate", "secret_put_value",
		"secret_rotate", "secret_update", "secret_value_put", "secret_version_add", "token_rotate",
	],
	"stop_tools": ["rotate_cancel", "rotation_cancel", "rotation_disable", "rotation_stop"],
	"environment_fields": ["cluster", "context", "env", "environment", "stage", "target_env", "workspace"],
	"harmless_environments": ["ci", "dev", "development", "local", "preview", "qa", "sandbox", "stage", "staging", "test"],
	"incident_fields": ["emergency_change", "incident", "incident_id", "incident_number", "leak_report"],
	"enabled_fields": ["auto_rotate", "automatic_rotation", "rotation_enabled"],
	"window": {"weekdays": ["Monday", "Tuesday", "Wednesday", "Thursday"], "from_hour": 9, "to_hour": 16, "utc_offset_minutes": 0},
}

secret_rotation_window_settings := object.union(secret_rotation_window_defaults, given) if given := data.gate.secret_rotation_window

else := secret_rotation_window_defaults

watches contains "secret_rotation_window" if lib.tool_changes(secret_rotation_window_settings.rotate_tools)

watches contains "secret_rotation_window_stop" if lib.tool_changes(secret_rotation_window_settings.stop_tools)

# METADATA
# title: Outside the window
deny contains "Violation: secret_rotation_window: a secret changes outside its window (current_time) without an incident (incident_id); rotate it within the window, or name the incident." if {
	secret_rotation_window_late
	not lib.given(secret_rotation_window_settings.incident_fields)
}

# METADATA
# title: An incident
review contains "Review: secret_rotation_window: a secret changes outside its window (current_time) because of an incident (incident_id); approve it where those who hold the old value are told." if {
	secret_rotation_window_late
	lib.given(secret_rotation_window_settings.incident_fields)
}

# METADATA
# title: The rotation ends
deny contains "Violation: secret_rotation_window: the rotation of a secret is stopped (rotation_enabled); change its schedule instead, or let the secret's owner retire it." if secret_rotation_window_stops

secret_rotation_window_late if {
	lib.watched.secret_rotation_window
	not lib.between(secret_rotation_window_settings.window)
	not lib.among(secret_rotation_window_settings.environment_fields, secret_rotation_window_settings.harmless_environments)
}

secret_rotation_window_stops if lib.watched.secret_rotation_window_stop

secret_rotation_window_stops if {
	lib.watched.secret_rotation_window
	some value in lib.values(secret_rotation_window_settings.enabled_fields)
	lib.is_no(value)
}
