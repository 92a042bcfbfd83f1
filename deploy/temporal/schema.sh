#!/bin/sh
# Brings the engine's two databases to the schema of this server version; `gate prepare database` made them. Safe to repeat.
set -eu
SQL_PASSWORD="$(cat /run/gate/postgres-password)"
export SQL_PASSWORD
for database in temporal temporal_visibility; do
  schema=temporal
  [ "$database" = temporal ] || schema=visibility
  tool="temporal-sql-tool --plugin postgres12 --endpoint ${POSTGRES_HOST:-postgres} --port ${POSTGRES_PORT:-5432} --user temporal --database $database"
  $tool setup-schema --version 0.0
  $tool update-schema --schema-dir "${SCHEMA_DIR:-/etc/temporal/schema}/postgresql/v12/$schema/versioned"
done
