import { DatabaseSync } from '@photostructure/sqlite';

/** One tool execution that counts for the invoice. */
export interface QualifiedEvent {
  readonly agent_key: string;
  /** RFC 3339 with milliseconds, so that text sorts as time. */
  readonly occurred_at: string;
  /** Identifies the execution, however often it is reported. */
  readonly stage_identity: string;
  readonly entry_id: string;
  readonly entry_hash: string;
  readonly late: boolean;
}

/** Takes events in any order, keeps the first of each agent and stage identity, and returns them sorted. */
export interface EventSorter {
  add(events: readonly QualifiedEvent[]): void;
  /** Pages sorted by agent key, time, stage identity and entry id. */
  ordered(): AsyncGenerator<QualifiedEvent[]>;
  close(): void;
}

const PAGE_ROWS = 2_000;
const COLUMNS = 'agent_key, occurred_at, stage_identity, entry_id, entry_hash, late';

/**
 * Sorts in a private temporary SQLite database, so that a month of executions need not fit into memory. SQLite keeps it in memory up to 64
 * MiB, moves it to a temporary file beyond that, and removes it when it is closed or the process ends.
 */
export function eventSorter(): EventSorter {
  const database = new DatabaseSync('');
  database.exec(`
    pragma journal_mode = off; pragma cache_size = -65536;
    create table events (
      agent_key text not null, stage_identity text not null, occurred_at text not null, entry_id text not null,
      entry_hash text not null, late integer not null, primary key (agent_key, stage_identity)
    ) strict, without rowid;
    create index in_order on events (agent_key, occurred_at, stage_identity, entry_id);
    begin`);
  const insert = database.prepare(`insert into events (${COLUMNS}) values (?, ?, ?, ?, ?, ?) on conflict do nothing`);
  const next = database.prepare(
    `select ${COLUMNS} from events where (agent_key, occurred_at, stage_identity, entry_id) > (?, ?, ?, ?)
      order by agent_key, occurred_at, stage_identity, entry_id limit ${PAGE_ROWS}`,
  );
  return {
    add(events) {
      for (const { agent_key, occurred_at, stage_identity, entry_id, entry_hash, late } of events)
        insert.run(agent_key, occurred_at, stage_identity, entry_id, entry_hash, late ? 1 : 0);
    },
    async *ordered() {
      let after: [string, string, string, string] = ['', '', '', ''];
      for (;;) {
        const rows = next.all(...after) as (Omit<QualifiedEvent, 'late'> & { late: number })[];
        const last = rows.at(-1);
        if (!last) return;
        yield rows.map((row) => ({ ...row, late: row.late === 1 }));
        after = [last.agent_key, last.occurred_at, last.stage_identity, last.entry_id];
        // Reading is synchronous; let appends run in between.
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    close: () => database.close(),
  };
}
