import { sql, type Migration } from 'kysely';
import { dialectOf } from './dialect.js';

/**
 * Why: incident cases, the notifications to the authority, and agents whose silence is expected (docs/architecture/ledger-reads.md#cases).
 * None of it is chain state. `version` counts the changes of a case; a change is stored only on top of the version it was made from. There
 * is at most one notification per case and severity, unless the previous one failed for good. Locks: new tables only.
 */
export const cases: Migration = {
  async up(db) {
    const { text, integer, strict } = dialectOf(db);
    await sql`
      create table if not exists cases (
        id ${text} not null primary key,
        title ${text} not null,
        status ${text} not null check (status in ('open', 'contained', 'closed')),
        severity ${text},
        regulatory_deadline ${text},
        agent_ids ${text} not null,
        correlation_ids ${text} not null,
        created_at ${text} not null,
        updated_at ${text} not null,
        version ${integer} not null
      ) ${strict}`.execute(db);
    await sql`create index if not exists cases_newest on cases (created_at, id)`.execute(db);
    await sql`
      create table if not exists case_timeline (
        case_id ${text} not null references cases (id),
        version ${integer} not null,
        at ${text} not null,
        kind ${text} not null,
        actor ${text} not null,
        detail ${text} not null,
        primary key (case_id, version)
      ) ${strict}`.execute(db);
    await sql`
      create table if not exists authority_notifications (
        id ${text} not null primary key,
        case_id ${text} not null references cases (id),
        severity ${text} not null,
        regulatory_deadline ${text} not null,
        classified_at ${text} not null,
        status ${text} not null check (status in ('pending', 'delivered', 'failed')),
        attempts ${integer} not null,
        next_attempt_at ${text} not null,
        last_error ${text},
        delivered_at ${text}
      ) ${strict}`.execute(db);
    await sql`
      create unique index if not exists authority_notifications_once on authority_notifications (case_id, severity)
      where status <> 'failed'`.execute(db);
    await sql`
      create index if not exists authority_notifications_due on authority_notifications (next_attempt_at)
      where status = 'pending'`.execute(db);
    await sql`
      create table if not exists silence_allowlist (
        agent_id ${text} not null primary key,
        reason ${text} not null,
        source ${text} not null,
        created_at ${text} not null,
        created_by ${text} not null
      ) ${strict}`.execute(db);
  },
};
