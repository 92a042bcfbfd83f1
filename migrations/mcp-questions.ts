import { sql, type Migration } from 'kysely';
import { dialectOf } from './dialect.js';

/**
 * 0001: what tools ask of the clients of their calls, where the process that sends a call and the one that holds its client's request are apart. Question
 * and answer are sealed; both go once nobody waits for them. A new table and its indexes; locks nothing.
 */
const questions: Migration = {
  async up(db) {
    const { text, integer, bytes, strict } = dialectOf(db);
    await sql`create table if not exists mcp_questions (
      id ${text} not null primary key,
      correlation_id ${text} not null,
      question ${bytes} not null,
      answer ${bytes},
      asked_ms ${integer} not null,
      until_ms ${integer} not null,
      held_ms ${integer} not null
    ) ${strict}`.execute(db);
    await sql`create index if not exists mcp_questions_until on mcp_questions (until_ms)`.execute(db);
    await sql`create index if not exists mcp_questions_of_call on mcp_questions (correlation_id)`.execute(db);
  },
};

/**
 * 0002: what tools say of their calls while they work, between the same processes: some of it in a row, sealed, taken by whoever tells the client. A new table and
 * its index; locks nothing.
 */
const notes: Migration = {
  async up(db) {
    const { text, integer, bytes, strict } = dialectOf(db);
    await sql`create table if not exists mcp_notes (
      correlation_id ${text} not null,
      at_ms ${integer} not null,
      notes ${bytes} not null,
      primary key (correlation_id, at_ms)
    ) ${strict}`.execute(db);
    await sql`create index if not exists mcp_notes_at on mcp_notes (at_ms)`.execute(db);
  },
};

export const mcpQuestionMigrations: Record<string, Migration> = {
  '0001_mcp_questions': questions,
  '0002_mcp_notes': notes,
};
