import { DatabaseSync } from '@photostructure/sqlite';

/** One tool execution that counts. */
export interface QualifiedEvent {
  readonly agent_key: string;
  /** RFC 3339 with milliseconds, so that text sorts as time. */
  readonly occurred_at: string;
  /** What names the execution, however often it is reported. */
  readonly stage_identity: string;
  readonly entry_id: string;
  readonly entry_hash: string;
  readonly late: boolean;
}

/** Takes events as they come, keeps the first of each agent's stage identity, and gives them back in order. */
export interface EventSorter {
  add(events: readonly QualifiedEvent[]): void;
  /** By agent key, time, stage identity and entry id, page by page. */
  ordered(): AsyncGenerator<QualifiedEvent[]>;
  close(): void;
}

const PAGE_ROWS = 2_000;
const COLUMNS = 'agent_key, occurred_at, stage_identity, entry_id, entry_hash, late';

/**
 * Sorts in a private database of SQLite's own, which lies in memory while it is small, goes to a temporary file beyond 64 MiB, and is gone
 * when it is closed, however that comes about: the executions of a month need not fit into memory.
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
        // Reading is synchronous; appends get their turn.
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    close: () => database.close(),
  };
}
