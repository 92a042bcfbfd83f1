import { callMigrations } from '../migrations/calls.js';
import { consoleMigrations } from '../migrations/console.js';
import { hilMigrations } from '../migrations/hil.js';
import { ledgerMigrations } from '../migrations/ledger.js';
import { mcpSessionMigrations } from '../migrations/mcp-sessions.js';
import { mcpTaskMigrations } from '../migrations/mcp-tasks.js';
import { toolClassMigrations } from '../migrations/tool-classes.js';
import { toolPinMigrations } from '../migrations/tool-pins.js';

/** The migrations of every store in lite's one file. */
export const liteMigrations = {
  ledger: ledgerMigrations,
  calls: callMigrations,
  hil: hilMigrations,
  console: consoleMigrations,
  pins: toolPinMigrations,
  tool_classes: toolClassMigrations,
  mcp_sessions: mcpSessionMigrations,
  mcp_tasks: mcpTaskMigrations,
};
