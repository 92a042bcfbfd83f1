import type pg from 'pg';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { CHAIN_VERSION } from '../../domain/ledger/canonical-bytes.js';
import {
  type AppendCall,
  type ChainedRow,
  type ChainHead,
  chainRows,
  commitTime,
  headAfter,
  judge,
  type StoredRow,
} from '../../domain/ledger/chain.js';
import {
  brokenTail,
  type ChainStore,
  type CommitOutcome,
  ENTRY_COLUMNS,
  headSealHolds,
  outcomeOf,
  type RawSidecar,
  sealedByKey,
  sealHead,
  sidecarContext,
  type Steps,
  STORED_ROW_COLUMNS,
  storedRow,
  vacuumedStoredRow,
} from '../../domain/ledger/chain-store.js';
import { CURSOR_COLUMNS, readCursor, readVacuumedRow, VACUUMED_COLUMNS } from '../../domain/ledger/vacuum/cursor.js';
import { cursorColumns, hiddenAt, NEWEST_CURSOR, renderingSql, VACUUMED_ROW } from './chain-sql.js';
import type { Cell } from '../../domain/ledger/cells.js';

/** A statement that hangs longer than this is abandoned with its connection; callers then offer the rows again. */
const STATEMENT_LIMIT_MS = 10_000;
const UNIQUE_VIOLATION = '23505';
const INTEGER_COLUMNS = ['seq', 'chain_version', 'authorized', 'cost_micros'];

/** Up to this many rows are sent as plain values, which is a tenth faster; larger commits are sent as one array per column. */
const MAX_ROWS_AS_VALUES = 8;
interface Statement {
  readonly name: string;
  readonly text: string;
}
const statements = new Map<string, Statement>();
const typeOf = (column: string): string => (INTEGER_COLUMNS.includes(column) ? 'bigint' : 'text');

/**
 * One statement, so one round trip and one durable commit. The head moves only if it is still the one that the rows were chained to, the
 * newest entry agrees with it, and none of the ids was vacuumed; entries are inserted only if the head moved. Comparing the seal too
 * matters after a vacuum, which seals the head anew: a write that waited for it must not miss what it removed. A row of a tenant that has gone
 * is hidden from the beginning. Parameters: the new head (1
 * to 3), the expected head (4 to 6), the ids of the rows (7), arrays of sidecars if there are any (8 to 11), then the rows.
 */
function writeStatement(rows: number, withSidecars: boolean): Statement {
  const asValues = rows <= MAX_ROWS_AS_VALUES;
  const name = `gate-ledger-write-${asValues ? rows : 'many'}${withSidecars ? '-sidecars' : ''}`;
  const known = statements.get(name);
  if (known) return known;
  const first = withSidecars ? 12 : 8;
  const parameter = (row: number, column: number) => `$${first + row * ENTRY_COLUMNS.length + column}`;
  const source = asValues
    ? `(values ${Array.from(
        { length: rows },
        (_, row) => `(${ENTRY_COLUMNS.map((name, column) => `${parameter(row, column)}::${typeOf(name)}`).join(', ')})`,
      ).join(', ')})`
    : `unnest(${ENTRY_COLUMNS.map((name, column) => `${parameter(0, column)}::${typeOf(name)}[]`).join(', ')})`;
  const sidecars = `, sidecars as (
    insert into entry_payloads (entry_seq, kind, entry_id, sealed)
    select s.* from moved, unnest($8::bigint[], $9::text[], $10::text[], $11::bytea[]) as s
  )`;
  const statement = {
    name,
    text: `
  with moved as (
    update ledger_head set length = $1, head_hash = $2, head_seal = $3
     where id = 1 and length = $4 and head_hash = $5 and head_seal is not distinct from $6::bytea
       and not exists (select 1 from ledger_vacuumed_rows where id = any($7::text[]))
       and ($4 = 0 or exists (select 1 from ledger_entries where seq = $4 and entry_hash = $5))
    returning 1
  ), entries as (
    insert into ledger_entries (${ENTRY_COLUMNS.join(', ')}, deleted_at)
    select r.*, ${hiddenAt('r.tenant')} from moved, ${source} as r (${ENTRY_COLUMNS.join(', ')})
  )${withSidecars ? sidecars : ''}
  select 1 from moved`,
  };
  statements.set(name, statement);
  return statement;
}

/** The cast throws on text that is not JSON; the page is then read column by column. */
const RENDERING = renderingSql({
  digits: (column) => `coalesce(${column}::bigint::text, 'null')`,
  quoted: (column) => `coalesce(to_json(${column})::text, 'null')`,
  holdsObject: (column) => `left(${column}, 1) = '{' and ${column}::json is not null`,
});
const RENDERED = `
  select seq, id, prev_hash, entry_hash, concat(${RENDERING}), payload_sha256, brain_evidence_sha256
    from ledger_entries where seq between $1 and $2 and chain_version = ${CHAIN_VERSION} order by seq`;

interface KnownHead {
  readonly head: ChainHead;
  readonly seal: Buffer | null;
  /** The newest commit time of an unsigned entry; `null` when there is none. */
  readonly committedAt: string | null;
}

/**
 * The chain in one schema of a Postgres database. Any number of processes may append: each commit is a compare-and-set on the head row, so
 * that writers take turns and never fork the chain.
 */
export function postgresChain(pool: pg.Pool, keys: KeyRing): ChainStore {
  let writer: pg.PoolClient | null = null;
  /** The head after this process's last commit. Only a guess, which the write statement checks. */
  let known: KnownHead | null = null;

  async function connect(): Promise<pg.PoolClient> {
    if (writer) return writer;
    const client = await pool.connect();
    try {
      // A commit that returned must survive a crash of the server, whatever the database's default.
      const { rows } = await client.query<{ encoding: string }>(
        `select current_setting('server_encoding') as encoding,
                case when current_setting('synchronous_commit') = 'off' then set_config('synchronous_commit', 'on', false) end,
                set_config('plan_cache_mode', 'force_generic_plan', false)`,
      );
      if (rows[0]?.encoding !== 'UTF8')
        throw new Error(`the database must be encoded in UTF8, not ${rows[0]?.encoding}`);
    } catch (error) {
      client.release(true);
      throw error;
    }
    // A connection that breaks between two commits is replaced at the next one.
    client.on('error', () => drop(client));
    writer = client;
    return client;
  }

  function drop(client: pg.PoolClient): void {
    if (writer !== client) return;
    writer = null;
    known = null;
    client.release(true);
  }

  async function checkedTail(client: pg.PoolClient): Promise<KnownHead> {
    // Two statements on purpose: the second one sees what was committed while the first one waited for the lock.
    const { rows } = await run(client, 'select length, head_hash, head_seal from ledger_head where id = 1 for update');
    if (!rows[0]) throw brokenTail('the retained head is missing');
    const [length, hash, seal] = rows[0] as [string, string, Buffer | null];
    const head = { length: Number(length), hash, seal };
    const tail = await run(
      client,
      `select seq, entry_hash, (select timestamp from ledger_entries where signature is null order by seq desc limit 1)
         from ledger_entries order by seq desc limit 1`,
    );
    const [seq, entryHash, committedAt] = (tail.rows[0] ?? [0, head.hash, null]) as [string, string, string | null];
    if (Number(seq) !== head.length || entryHash !== hash)
      throw brokenTail('the newest entry is not the retained head');
    if (!headSealHolds(keys, head)) throw brokenTail('the seal of the retained head does not hold');
    return { head, seal, committedAt };
  }

  async function lookUp(client: pg.PoolClient, ids: readonly string[]): Promise<Map<string, StoredRow>> {
    if (ids.length === 0) return new Map();
    const { rows } = await run(
      client,
      `select ${STORED_ROW_COLUMNS.join(', ')} from ledger_entries where id = any($1)`,
      [ids],
    );
    const stored = new Map(rows.map((cells) => [cells[0] as string, storedRow(cells)]));
    // Asked after the entries: an id that is vacuumed between the two queries is found by the second.
    const gone = await run(client, `${VACUUMED_ROW} where v.id = any($1)`, [ids]);
    for (const cells of gone.rows) stored.set(cells[0] as string, vacuumedStoredRow(cells));
    return stored;
  }

  /**
   * The head after the rows; `null` when it did not move. Once it moved, the rows are durable. When this throws, only a lookup of the ids
   * shows whether they were stored.
   */
  async function write(
    client: pg.PoolClient,
    { head: from, seal: seenSeal }: KnownHead,
    rows: readonly ChainedRow[],
    committedAt: string,
  ): Promise<KnownHead | null> {
    const to = headAfter(from, rows);
    const seal = sealHead(keys, to);
    const ids = rows.map((row) => row.id);
    const values: unknown[] = [to.length, to.hash, seal, from.length, from.hash, seenSeal, ids];
    const sidecars = rows.flatMap((row) => (row.sidecar ? [{ ...row.sidecar, id: row.id, seq: row.seq }] : []));
    if (sidecars.length > 0)
      values.push(
        sidecars.map((sidecar) => sidecar.seq),
        sidecars.map((sidecar) => sidecar.kind),
        sidecars.map((sidecar) => sidecar.id),
        sidecars.map((sidecar) => keys.seal(sidecar.text, sidecarContext(sidecar.id, sidecar.kind))),
      );
    const cells = rows.map(cellsOf);
    if (rows.length <= MAX_ROWS_AS_VALUES) values.push(...cells.flat());
    else values.push(...ENTRY_COLUMNS.map((_, column) => cells.map((row) => row[column])));
    const result = await run(client, writeStatement(rows.length, sidecars.length > 0), values);
    return result.rows.length === 1 ? { head: to, seal, committedAt } : null;
  }

  /** The usual commit: no row is known, and the head is where this process left it. `null` when the statement finds otherwise. */
  async function commitAtKnownHead(
    client: pg.PoolClient,
    at: KnownHead,
    calls: readonly AppendCall[],
    nowMs: number,
  ): Promise<CommitOutcome | null> {
    const stored = new Map<string, StoredRow>();
    const judgement = judge(calls, stored);
    const committedAt = commitTime(nowMs, at.committedAt);
    const rows = chainRows(at.head, [...judgement.rows, ...judgement.alarms], committedAt);
    try {
      const next = rows.length > 0 ? await write(client, at, rows, committedAt) : at;
      if (next === null) return null;
      known = next;
    } catch (error) {
      // An id or a seq exists already: repeated rows, or another writer. The whole statement was rolled back.
      if ((error as { code?: string }).code === UNIQUE_VIOLATION) return null;
      throw error;
    }
    return outcomeOf(judgement, rows, stored);
  }

  /** The careful commit: locks the head row, and looks up the tail and every id. */
  async function commitUnderLock(
    client: pg.PoolClient,
    calls: readonly AppendCall[],
    nowMs: number,
  ): Promise<CommitOutcome> {
    await run(client, 'begin');
    try {
      const at = await checkedTail(client);
      const stored = await lookUp(client, [...new Set(calls.flatMap((call) => call.map((row) => row.id)))]);
      const judgement = judge(calls, stored);
      const raised = await lookUp(
        client,
        judgement.alarms.map((alarm) => alarm.id),
      );
      const committedAt = commitTime(nowMs, at.committedAt);
      const rows = chainRows(
        at.head,
        [...judgement.rows, ...judgement.alarms.filter((alarm) => !raised.has(alarm.id))],
        committedAt,
      );
      const next = rows.length > 0 ? await write(client, at, rows, committedAt) : at;
      if (next === null) throw brokenTail('the retained head moved under its lock');
      await run(client, 'commit');
      known = next;
      return outcomeOf(judgement, rows, stored);
    } catch (error) {
      // Without a rollback the server keeps the transaction open, so the connection is closed, which rolls back too.
      await run(client, 'rollback').catch(() => drop(client));
      throw error;
    }
  }

  async function attempt(calls: readonly AppendCall[], nowMs: number): Promise<CommitOutcome> {
    const client = await connect();
    try {
      const quick = known && (await commitAtKnownHead(client, known, calls, nowMs));
      return quick ?? (await commitUnderLock(client, calls, nowMs));
    } catch (error) {
      known = null;
      if (!saidByServer(error) || isLost(error)) drop(client);
      throw error;
    }
  }

  const read = async (name: string, text: string, values: unknown[] = []): Promise<Cell[][]> =>
    (await pool.query<Cell[]>({ name, text, values, rowMode: 'array' })).rows;

  return {
    async commit(calls, nowMs) {
      const reused = writer !== null;
      try {
        return await attempt(calls, nowMs);
      } catch (error) {
        // A lost connection says nothing about its commit. The second attempt looks up every id first: rows that were stored after all come
        // back as `retained`, and the others are stored now.
        if (!reused || writer !== null) throw error;
        return await attempt(calls, nowMs);
      }
    },
    async exclusively<Result>(steps: (head: ChainHead) => Steps<Result>) {
      const client = await pool.connect();
      client.on('error', ignoreLoss);
      let ended = false;
      try {
        await run(client, 'begin');
        // Every append moves the head row, so locking it until the end of the transaction keeps appends out.
        const taken = steps((await checkedTail(client)).head);
        let step = taken.next();
        while (!step.done) {
          let index = 0;
          const text = step.value.text.replaceAll('?', () => `$${++index}`);
          step = taken.next((await run(client, text, [...step.value.values])).rows);
        }
        await run(client, 'commit');
        ended = true;
        return step.value;
      } finally {
        if (ended) released(client);
        else await undone(client);
      }
    },
    async probe() {
      const client = await pool.connect();
      client.on('error', ignoreLoss);
      try {
        await run(client, 'begin');
        await checkedTail(client);
      } finally {
        await undone(client);
      }
    },
    async bounds() {
      const [row] = await read(
        'gate-ledger-bounds',
        `select (select length from ledger_head where id = 1), (select head_hash from ledger_head where id = 1),
           (select head_seal from ledger_head where id = 1), (select min(seq) from ledger_entries), (select max(seq) from ledger_entries),
           ${cursorColumns('v')} from ${NEWEST_CURSOR}`,
      );
      const [length, hash, seal, first, last, ...cursor] = row as Cell[];
      return {
        head: length === null ? null : { length: Number(length), hash: String(hash), seal: seal as Uint8Array | null },
        first: first === null ? null : Number(first),
        last: last === null ? null : Number(last),
        cursor: readCursor(cursor),
      };
    },
    async page(from, to) {
      const rows = await read(
        'gate-ledger-page',
        `select ${ENTRY_COLUMNS.join(', ')} from ledger_entries where seq between $1 and $2 order by seq`,
        [from, to],
      );
      return rows.map((cells) => ({ cells, exact: true }));
    },
    async rendered(from, to) {
      const rows = await read('gate-ledger-rendered', RENDERED, [from, to]);
      return rows.map(([seq, id, prevHash, entryHash, hashed, payload, evidence]) => ({
        seq: Number(seq),
        id: String(id),
        prevHash: String(prevHash),
        entryHash: String(entryHash),
        hashed: hashed as string | null,
        committed: { payload: payload as string | null, brain_evidence: evidence as string | null },
      }));
    },
    async nextSeq(seq) {
      const [row] = await read('gate-ledger-next', 'select min(seq) from ledger_entries where seq > $1', [seq]);
      return row?.[0] ? Number(row[0]) : null;
    },
    async sidecars(from, to) {
      const rows = await read(
        'gate-ledger-sidecars',
        `select entry_seq, kind, entry_id, octet_length(sealed), purged_at, purge_seal
           from entry_payloads where entry_seq between $1 and $2 order by entry_seq, kind`,
        [from, to],
      );
      return rows.map(([seq, kind, entryId, sealedBytes, purgedAt, purgeSeal]) => ({
        seq: Number(seq),
        kind: kind as RawSidecar['kind'],
        entryId: String(entryId),
        sealedBytes: Number(sealedBytes ?? 0),
        purgedAt: purgedAt as string | null,
        purgeSeal: purgeSeal as Uint8Array | null,
      }));
    },
    async sealedSidecars(from, to) {
      return sealedByKey(
        await read(
          'gate-ledger-sidecars-sealed',
          'select entry_seq, kind, sealed from entry_payloads where entry_seq between $1 and $2 and sealed is not null',
          [from, to],
        ),
      );
    },
    async sealedSidecar(seq, kind) {
      const [row] = await read(
        'gate-ledger-sidecar',
        'select sealed from entry_payloads where entry_seq = $1 and kind = $2',
        [seq, kind],
      );
      return (row?.[0] ?? null) as Uint8Array | null;
    },
    async cursors() {
      const rows = await read(
        'gate-ledger-cursors',
        `select ${CURSOR_COLUMNS.join(', ')} from ledger_vacuum_cursors order by seq`,
      );
      return rows.map(readCursor).filter((cursor) => cursor !== null);
    },
    async vacuumed(from, to, limit) {
      const rows = await read(
        'gate-ledger-vacuumed',
        `select ${VACUUMED_COLUMNS.join(', ')} from ledger_vacuumed_rows where seq between $1 and $2 order by seq limit $3`,
        [from, to, limit],
      );
      return rows.map(readVacuumedRow);
    },
    close() {
      if (writer) drop(writer);
      return Promise.resolve();
    },
  };
}

/** Returns the connection to the pool, which handles its errors from then on. */
function released(client: pg.PoolClient, lost = false): void {
  client.off('error', ignoreLoss);
  client.release(lost);
}

const undone = (client: pg.PoolClient): Promise<void> =>
  run(client, 'rollback').then(
    () => released(client),
    () => released(client, true),
  );

const ignoreLoss = (): void => {
  // The query in flight rejects with the same error.
};

/** Recognises a server error by a field it always has. Importing its class would load the driver at every start, even without a server. */
const saidByServer = (error: unknown): error is pg.DatabaseError =>
  error instanceof Error && typeof (error as Partial<pg.DatabaseError>).severity === 'string';

/** Classes 08 and 57P: the server closed the connection. */
const isLost = (error: pg.DatabaseError): boolean => /^(?:08|57P)/.test(error.code ?? '');

interface TimedQuery extends pg.QueryArrayConfig {
  readonly query_timeout: number;
}

function run(
  client: pg.PoolClient,
  statement: string | Statement,
  values: unknown[] = [],
): Promise<pg.QueryArrayResult<Cell[]>> {
  const text = typeof statement === 'string' ? { text: statement } : statement;
  const query: TimedQuery = { ...text, values, rowMode: 'array', query_timeout: STATEMENT_LIMIT_MS };
  return client.query<Cell[]>(query);
}

/** Values of ENTRY_COLUMNS. */
const cellsOf = ({ seq, id, timestamp, prevHash, values, entryHash }: ChainedRow): (string | number | null)[] => [
  seq,
  CHAIN_VERSION,
  id,
  timestamp,
  prevHash,
  ...values,
  entryHash,
];
