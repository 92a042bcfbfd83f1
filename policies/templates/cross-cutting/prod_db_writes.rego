# Template: prod_db_writes
# Domain: cross-cutting
# Severity: critical
# Frameworks: SOC2, ISO-27001
# Tags: database, change-management
# Tier: mixed
# Tool surface: database_write, db_update, insert_row, run_migration
# Summary: Production databases. A write needs a change reference, and then a person; a change of the schema keeps to its window.
# Purpose: The floor parks writes to production. This says what the person who decides needs to see, and stops what nobody ordered.
# Inputs: arguments target_env, environment, change_ticket and their like, at any depth; current_time.
# Edit: write_tools, schema_tools, environment_fields, harmless_environments, ticket_fields, ticket_pattern, schema_window.

package gate.authz

import rego.v1

import data.gate.lib

prod_db_writes_defaults := {
	"write_tools": [
		"database_alter", "database_insert", "database_patch", "database_update", "database_upsert", "database_write", "db_execute", "db_insert",
		"db_patch", "db_update", "db_upsert", "db_write", "record_update", "row_insert", "row_update", "table_alter", "table_update",
	],
	"schema_tools": ["column_add", "database_migrate", "db_migrate", "index_create", "migration_apply", "migration_run", "schema_change", "table_alter"],
	"environment_fields": ["cluster", "database_url", "env", "environment", "stage", "target_env"],
	"harmless_environments": ["ci", "dev", "development", "local", "preview", "qa", "sandbox", "stage", "staging", "test"],
	"ticket_fields": ["change_id", "change_request", "change_ticket", "issue", "jira", "ticket", "ticket_id"],
	"ticket_pattern": "[0-9]",
	"schema_window": {
		"weekdays": ["Monday", "Tuesday", "Wednesday", "Thursday"],
		"from_hour": 9,
		"to_hour": 16,
		"utc_offset_minutes": 0,
	},
}

prod_db_writes_settings := object.union(prod_db_writes_defaults, given) if given := data.gate.prod_db_writes

else := prod_db_writes_defaults

watches contains "prod_db_writes" if lib.tool_changes(prod_db_writes_settings.write_tools)

watches contains "prod_db_writes" if lib.tool_changes(prod_db_writes_settings.schema_tools)

watches contains "prod_db_writes_schema" if lib.tool_changes(prod_db_writes_settings.schema_tools)

# METADATA
# title: A write that nobody ordered
deny contains "Violation: prod_db_writes: a write to a production database without a change reference (change_ticket); name the approved change." if {
	prod_db_writes_touches
	not prod_db_writes_ordered
}

# METADATA
# title: A write that was ordered
review contains "Review: prod_db_writes: a write to a production database under a change reference (change_ticket); approve it where the change says this." if {
	prod_db_writes_touches
	prod_db_writes_ordered
}

# METADATA
# title: A schema outside its window
deny contains "Violation: prod_db_writes: a change of a production schema outside its window (current_time); run it within schema_window." if {
	lib.watched.prod_db_writes_schema
	prod_db_writes_touches
	not lib.between(prod_db_writes_settings.schema_window)
}

# Says where it goes, and not that this is harmless. What says nothing of it is left to the floor.
prod_db_writes_touches if {
	lib.watched.prod_db_writes
	count(lib.values(prod_db_writes_settings.environment_fields)) > 0
	not lib.among(prod_db_writes_settings.environment_fields, prod_db_writes_settings.harmless_environments)
}

prod_db_writes_ordered if {
	some value in lib.values(prod_db_writes_settings.ticket_fields)
	lib.says_something(value)
	regex.match(prod_db_writes_settings.ticket_pattern, lib.as_text(value))
}
