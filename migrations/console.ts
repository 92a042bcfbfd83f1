import { type Migration, sql } from 'kysely';
import { dialectOf, hasColumn } from './dialect.js';

/**
 * 0001: who is signed in (docs/architecture/console.md#sessions). A session is found by a keyed HMAC of its cookie, so that whoever reads the
 * table cannot act as anybody. A new table; locks nothing that exists.
 */
const sessions: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists console_sessions (
      id ${text} not null primary key, subject ${text} not null, tenant ${text} not null, mode ${text} not null,
      role ${text} not null, opened_ms ${integer} not null, seen_ms ${integer} not null, until_ms ${integer} not null,
      mac ${text} not null
    ) ${strict}`.execute(db);
    await sql`create index if not exists console_sessions_until on console_sessions (until_ms)`.execute(db);
  },
};

/** 0002: when a session ends whatever its person does, as its provider said; null where only idleness ends it. Adds a column; reads no row. */
const ends: Migration = {
  async up(db) {
    if (!(await hasColumn(db, 'console_sessions', 'ends_ms')))
      await sql`alter table console_sessions add column ends_ms ${dialectOf(db).integer}`.execute(db);
  },
};

/**
 * 0003: sign-ins that began at a SAML provider, and the assertions that were used (docs/architecture/console.md#sign-in-by-saml). Both are found
 * by keyed HMACs, and short-lived. New tables; locks nothing that exists.
 */
const saml: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists console_saml_requests (
      id ${text} not null primary key, request ${text} not null, browser ${text} not null, return_to ${text} not null,
      until_ms ${integer} not null, mac ${text} not null
    ) ${strict}`.execute(db);
    await sql`create index if not exists console_saml_requests_until on console_saml_requests (until_ms)`.execute(db);
    await sql`create table if not exists console_saml_assertions (
      id ${text} not null primary key, until_ms ${integer} not null
    ) ${strict}`.execute(db);
    await sql`create index if not exists console_saml_assertions_until on console_saml_assertions (until_ms)`.execute(
      db,
    );
  },
};

/**
 * 0004: searches that people keep (docs/architecture/console.md#saved-searches), each of one person of one tenant. `query` is the JSON of what the
 * address of the audit page says. A new table; locks nothing that exists.
 */
const searches: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`create table if not exists console_searches (
      tenant ${text} not null, subject ${text} not null, name ${text} not null, query ${text} not null,
      saved_ms ${integer} not null, primary key (tenant, subject, name)
    ) ${strict}`.execute(db);
  },
};

/**
 * 0005: people at the command line (docs/architecture/console.md#the-command-line). `kind` says what keeps a session, a browser or the command
 * line, and `asked_from` the address that asked for the latter; those of before are browsers'. A grant is what a command line asks for; both of
 * its codes are kept as keyed HMACs. Adds columns and a table; reads no row.
 */
const commandLine: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    if (!(await hasColumn(db, 'console_sessions', 'kind')))
      await sql`alter table console_sessions add column kind ${text} not null default 'browser'`.execute(db);
    if (!(await hasColumn(db, 'console_sessions', 'asked_from')))
      await sql`alter table console_sessions add column asked_from ${text}`.execute(db);
    await sql`create table if not exists console_device_grants (
      id ${text} not null primary key, user_code ${text} not null unique, state ${text} not null,
      asked_ms ${integer} not null, until_ms ${integer} not null, asked_from ${text} not null,
      interval_secs ${integer} not null, polled_ms ${integer}, session_id ${text}, token_id ${text}, mac ${text} not null
    ) ${strict}`.execute(db);
    await sql`create index if not exists console_device_grants_until on console_device_grants (until_ms)`.execute(db);
  },
};

/**
 * 0006: when a person first looked at what a command line asks for, so that it is not forgotten for others of its address
 * (docs/architecture/console.md#the-command-line). Adds a column; reads no row.
 */
const seenGrants: Migration = {
  async up(db) {
    const { integer } = dialectOf(db);
    if (!(await hasColumn(db, 'console_device_grants', 'seen_ms')))
      await sql`alter table console_device_grants add column seen_ms ${integer}`.execute(db);
  },
};

/**
 * 0007: the teams of a person, as the provider said them at the sign-in (docs/architecture/console.md#federated); null where there is none. Adds a
 * column; reads no row.
 */
const teams: Migration = {
  async up(db) {
    if (!(await hasColumn(db, 'console_sessions', 'teams')))
      await sql`alter table console_sessions add column teams ${dialectOf(db).text}`.execute(db);
  },
};

export const consoleMigrations: Record<string, Migration> = {
  '0001_sessions': sessions,
  '0002_ends': ends,
  '0003_saml': saml,
  '0004_searches': searches,
  '0005_command_line': commandLine,
  '0006_seen_grants': seenGrants,
  '0007_teams': teams,
};
