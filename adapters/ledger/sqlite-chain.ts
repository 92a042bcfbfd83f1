import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { CHAIN_VERSION } from '../../domain/ledger/canonical-bytes.js';
import {
  type AppendCall,
  type ChainHead,
  chainRows,
  commitTime,
  headAfter,
  judge,
  type StoredRow,
} from '../../domain/ledger/chain.js';
import {
  brokenTail,
  type ChainBounds,
  type ChainReader,
  type ChainStore,
  type CommitOutcome,
  ENTRY_COLUMNS,
  headSealHolds,
  outcomeOf,
  type RawEntry,
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
import { assertWritable } from '../store/writable.js';
import { cursorColumns, hiddenAt, NEWEST_CURSOR, renderingSql, VACUUMED_ROW } from './chain-sql.js';
import type { Cell } from '../../domain/ledger/cells.js';
import { beginAlone } from '../store/begin-alone.js';

type Statement = ReturnType<DatabaseSyncInstance['prepare']>;

/** All text columns of an entry. Their bytes are counted, because the driver stops reading text at a NUL. */
const TEXT_COLUMNS = ENTRY_COLUMNS.filter(
  (column) => !['seq', 'chain_version', 'authorized', 'cost_micros'].includes(column),
);

const RENDERING = renderingSql({
  quoted: (column) => `json_quote(${column})`,
  digits: (column) => `case typeof(${column}) when 'integer' then ${column} when 'null' then 'null' else '?' end`,
  holdsObject: (column) => `substr(${column}, 1, 1) = '{' and json_valid(${column})`,
});

/** A hash, or NULL where bytes stand behind it, of which the driver tells nothing when the first of them is a NUL. */
const wholeHash = (column: string): string => `case octet_length(${column}) when 64 then ${column} end`;

/** Rows as arrays and integers as bigint, so that no value is converted. */
function rawRows(connection: DatabaseSyncInstance, query: string): Statement {
  const statement = connection.prepare(query);
  statement.setReturnArrays(true);
  statement.setReadBigInts(true);
  return statement;
}

/** The reading side; works on a read-only connection. */
export function sqliteChainReader(connection: DatabaseSyncInstance): ChainReader {
  const head = rawRows(
    connection,
    `select (select length from ledger_head where id = 1), (select ${wholeHash('head_hash')} from ledger_head where id = 1),
       (select head_seal from ledger_head where id = 1), (select min(seq) from ledger_entries), (select max(seq) from ledger_entries),
       ${cursorColumns('v')} from ${NEWEST_CURSOR}`,
  );
  const cursors = rawRows(connection, `select ${CURSOR_COLUMNS.join(', ')} from ledger_vacuum_cursors order by seq`);
  const vacuumed = rawRows(
    connection,
    `select ${VACUUMED_COLUMNS.join(', ')} from ledger_vacuumed_rows where seq between ? and ? order by seq limit ?`,
  );
  const page = rawRows(
    connection,
    `select ${ENTRY_COLUMNS.join(', ')}, octet_length(concat(${TEXT_COLUMNS.join(', ')}))
       from ledger_entries where seq between ? and ? order by seq`,
  );
  // As bytes: as text, the driver would read invalid UTF-8 as U+FFFD.
  const rendered = rawRows(
    connection,
    `select seq, id, prev_hash, ${wholeHash('entry_hash')}, cast(concat(${RENDERING}) as blob),
            payload_sha256, brain_evidence_sha256
       from ledger_entries where seq between ? and ? and chain_version = ${CHAIN_VERSION} order by seq`,
  );
  const bytes = rawRows(
    connection,
    `select ${TEXT_COLUMNS.map((column) => `cast(${column} as blob)`).join(', ')} from ledger_entries where seq = ? and id = ?`,
  );
  const next = rawRows(connection, 'select min(seq) from ledger_entries where seq > ?');
  const sidecars = rawRows(
    connection,
    `select entry_seq, kind, entry_id, octet_length(sealed), purged_at, purge_seal
       from entry_payloads where entry_seq between ? and ? order by entry_seq, kind`,
  );
  const allSealed = rawRows(
    connection,
    'select entry_seq, kind, sealed from entry_payloads where entry_seq between ? and ? and sealed is not null',
  );
  const sealed = rawRows(connection, 'select sealed from entry_payloads where entry_seq = ? and kind = ?');

  /** The driver reads invalid UTF-8 as U+FFFD, so when that character occurs, only the bytes show which it was. */
  function sameBytes(cells: readonly Cell[]): boolean {
    const stored = bytes.get(cells[0] as bigint, cells[2] as string) as (Uint8Array | null)[] | undefined;
    const texts = cells.filter((_, index) => TEXT_COLUMNS.includes(ENTRY_COLUMNS[index] as string));
    return (
      stored !== undefined &&
      texts.every((text, index) => text === null || Buffer.from(String(text)).equals(stored[index] ?? Buffer.alloc(0)))
    );
  }

  function rawEntry(row: Cell[]): RawEntry {
    const cells = row.slice(0, -1);
    let length = 0;
    let replaced = false;
    for (const cell of cells) {
      if (typeof cell !== 'string') continue;
      length += Buffer.byteLength(cell);
      replaced ||= cell.includes('\ufffd');
    }
    return { cells, exact: BigInt(length) === row.at(-1) && (!replaced || sameBytes(cells)) };
  }

  return {
    bounds() {
      const [length, hash, seal, first, last, ...cursor] = head.get() as unknown as Cell[];
      return Promise.resolve({
        head: length === null ? null : { length: Number(length), hash: String(hash), seal: seal as Uint8Array | null },
        first: first === null ? null : Number(first),
        last: last === null ? null : Number(last),
        cursor: readCursor(cursor),
      } satisfies ChainBounds);
    },
    page: (from, to) => Promise.resolve((page.all(from, to) as unknown as Cell[][]).map(rawEntry)),
    rendered: (from, to) =>
      Promise.resolve().then(() =>
        (rendered.all(from, to) as unknown as Cell[][]).map(
          ([seq, id, prevHash, entryHash, hashed, payload, evidence]) => ({
            seq: Number(seq),
            id: String(id),
            prevHash: String(prevHash),
            entryHash: String(entryHash),
            hashed: hashed as Uint8Array | null,
            committed: { payload: payload as string | null, brain_evidence: evidence as string | null },
          }),
        ),
      ),
    nextSeq(seq) {
      const [found] = next.get(seq) as unknown as Cell[];
      return Promise.resolve(found === null ? null : Number(found));
    },
    sidecars: (from, to) =>
      Promise.resolve(
        (sidecars.all(from, to) as unknown as Cell[][]).map(
          ([seq, kind, entryId, sealedBytes, purgedAt, purgeSeal]) =>
            ({
              seq: Number(seq),
              kind: kind as RawSidecar['kind'],
              entryId: String(entryId),
              sealedBytes: Number(sealedBytes ?? 0),
              purgedAt: purgedAt as string | null,
              purgeSeal: purgeSeal as Uint8Array | null,
            }) satisfies RawSidecar,
        ),
      ),
    sealedSidecars: (from, to) => Promise.resolve(sealedByKey(allSealed.all(from, to) as unknown as Cell[][])),
    sealedSidecar(seq, kind) {
      const row = sealed.get(seq, kind) as unknown as Cell[] | undefined;
      return Promise.resolve((row?.[0] ?? null) as Uint8Array | null);
    },
    cursors: () =>
      Promise.resolve((cursors.all() as unknown as Cell[][]).map(readCursor).filter((cursor) => cursor !== null)),
    vacuumed: (from, to, limit) =>
      Promise.resolve((vacuumed.all(from, to, limit) as unknown as Cell[][]).map(readVacuumedRow)),
  };
}

interface Tail {
  readonly head: ChainHead;
  /** The newest commit time of an unsigned entry; `null` when there is none. */
  readonly committedAt: string | null;
}

/** Appends inside a transaction that the caller opens and commits. `save` writes the retained head once. */
export interface SqliteChainWriter {
  append(calls: readonly AppendCall[], nowMs: number): CommitOutcome;
  /** Writes the retained head of what was appended. Must run before the commit. */
  save(): void;
  /** Forgets what was appended, after the caller rolled back. */
  forget(): void;
  /** Returns the retained head. Throws unless it is the newest entry. */
  check(): ChainHead;
}

export function sqliteChainWriter(connection: DatabaseSyncInstance, keys: KeyRing): SqliteChainWriter {
  const tail = rawRows(
    connection,
    `select h.length, h.head_hash, h.head_seal, e.seq, e.entry_hash
       from ledger_head h left join (select seq, entry_hash from ledger_entries order by seq desc limit 1) e
      where h.id = 1`,
  );
  const newestUnsigned = rawRows(
    connection,
    'select timestamp from ledger_entries where signature is null order by seq desc limit 1',
  );
  const byId = rawRows(connection, `select ${STORED_ROW_COLUMNS.join(', ')} from ledger_entries where id = ?`);
  const byVacuumedId = rawRows(connection, `${VACUUMED_ROW} where v.id = ?`);
  // One of a tenant that has gone is hidden from the beginning.
  const insertEntry = connection.prepare(
    `insert into ledger_entries (${ENTRY_COLUMNS.join(', ')}, deleted_at)
       values (${ENTRY_COLUMNS.map((_, index) => `?${index + 1}`).join(', ')}, ${hiddenAt(`?${ENTRY_COLUMNS.indexOf('tenant') + 1}`)})`,
  );
  const insertSidecar = connection.prepare(
    'insert into entry_payloads (entry_seq, kind, entry_id, sealed) values (?, ?, ?, ?)',
  );
  const moveHead = connection.prepare('update ledger_head set length = ?, head_hash = ?, head_seal = ? where id = 1');
  /** The seal that this process wrote last, which need not be verified again. */
  let ownSeal: Buffer | null = null;

  /** The head and commit time that this process left. */
  let own: Tail | null = null;

  function checkedTail(): ChainHead {
    const row = tail.get() as unknown as Cell[] | undefined;
    if (!row) throw brokenTail('the retained head is missing');
    const [length, hash, seal, seq, entryHash] = row as [bigint, string, Uint8Array | null, ...Cell[]];
    const head = { length: Number(length), hash, seal };
    if (Number(seq ?? 0) !== head.length || (entryHash !== null && entryHash !== hash))
      throw brokenTail('the newest entry is not the retained head');
    if (!(ownSeal !== null && seal !== null && ownSeal.equals(seal)) && !headSealHolds(keys, head))
      throw brokenTail('the seal of the retained head does not hold');
    return head;
  }

  function tailToExtend(): Tail {
    const head = checkedTail();
    if (own?.head.hash === head.hash) return own;
    const [committedAt] = (newestUnsigned.get() ?? [null]) as [string | null];
    return { head, committedAt };
  }

  function lookUp(ids: Iterable<string>): Map<string, StoredRow> {
    const stored = new Map<string, StoredRow>();
    for (const id of ids) {
      const cells = byId.get(id) as unknown as Cell[] | undefined;
      const gone = cells ? undefined : (byVacuumedId.get(id) as unknown as Cell[] | undefined);
      if (cells) stored.set(id, storedRow(cells));
      else if (gone) stored.set(id, vacuumedStoredRow(gone));
    }
    return stored;
  }

  /** The tail after the rows of the open transaction; `null` while it has none. */
  let open: Tail | null = null;

  return {
    append(calls, nowMs) {
      const { head, committedAt: last } = open ?? tailToExtend();
      const stored = lookUp(new Set(calls.flatMap((call) => call.map((row) => row.id))));
      const judgement = judge(calls, stored);
      const raised = lookUp(judgement.alarms.map((alarm) => alarm.id));
      const committedAt = commitTime(nowMs, last);
      const rows = chainRows(
        head,
        [...judgement.rows, ...judgement.alarms.filter((alarm) => !raised.has(alarm.id))],
        committedAt,
      );
      for (const row of rows) {
        insertEntry.run(row.seq, CHAIN_VERSION, row.id, row.timestamp, row.prevHash, ...row.values, row.entryHash);
        if (row.sidecar) {
          const { kind, text } = row.sidecar;
          insertSidecar.run(row.seq, kind, row.id, keys.seal(text, sidecarContext(row.id, kind)));
        }
      }
      if (rows.length > 0) open = { head: headAfter(head, rows), committedAt };
      return outcomeOf(judgement, rows, stored);
    },
    save() {
      if (!open) return;
      ownSeal = sealHead(keys, open.head);
      moveHead.run(open.head.length, open.head.hash, ownSeal);
      own = open;
      open = null;
    },
    forget() {
      open = null;
      own = null;
      ownSeal = null;
    },
    check: () => open?.head ?? checkedTail(),
  };
}

/** The chain in a SQLite file. A commit is one synchronous transaction; `begin immediate` keeps a second process from forking the chain. */
export function sqliteChain(connection: DatabaseSyncInstance, keys: KeyRing): ChainStore {
  const writer = sqliteChainWriter(connection, keys);
  return {
    ...sqliteChainReader(connection),
    async commit(calls, nowMs) {
      // Nothing is durable yet. After a crash before COMMIT returns, SQLite drops the transaction at the next open.
      beginAlone(connection);
      try {
        const outcome = writer.append(calls, nowMs);
        writer.save();
        // From here on the rows, their sidecars and the head are durable together (WAL, synchronous FULL). A caller that missed the answer
        // sends the same ids again and gets `retained`.
        connection.exec('COMMIT');
        return outcome;
      } catch (error) {
        writer.forget();
        try {
          connection.exec('ROLLBACK');
        } catch {
          // The failed COMMIT ended the transaction itself.
        }
        throw error;
      }
    },
    async exclusively<Result>(steps: (head: ChainHead) => Steps<Result>) {
      beginAlone(connection);
      try {
        const taken = steps(writer.check());
        let step = taken.next();
        while (!step.done) {
          const statement = rawRows(connection, step.value.text);
          step = taken.next(statement.all(...step.value.values) as unknown as Cell[][]);
        }
        connection.exec('COMMIT');
        return step.value;
      } catch (error) {
        try {
          connection.exec('ROLLBACK');
        } catch {
          // The failed COMMIT ended the transaction itself.
        }
        throw error;
      }
    },
    async probe() {
      await assertWritable(connection);
      beginAlone(connection);
      try {
        writer.check();
      } finally {
        connection.exec('ROLLBACK');
      }
    },
    async close() {
      // Then the file alone holds the whole chain and can be copied or verified.
      connection.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    },
  };
}
