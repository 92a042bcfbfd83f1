import type { AppendReceipt } from '../../contracts/ledger.js';
import { sha256Hex, uuidFromDigest } from '../crypto/digest.js';
import { GateError } from '../errors.js';
import { canonicalEntry, CHAIN_VERSION, contentIndex, type ContentField } from './canonical-bytes.js';
import { entryHash, GENESIS_HASH } from './entry-hash.js';
import { prepareRow, type PreparedRow } from './entry.js';

/** The newest entry, which the next one points back to. */
export interface ChainHead {
  readonly length: number;
  readonly hash: string;
}
export const EMPTY_CHAIN: ChainHead = { length: 0, hash: GENESIS_HASH };

/** A row with its place in the chain. */
export interface ChainedRow extends PreparedRow {
  readonly seq: number;
  readonly timestamp: string;
  readonly prevHash: string;
  readonly entryHash: string;
}

/** A stored entry, as far as a repeated append needs it. */
export type StoredRow = {
  readonly id: string;
  readonly seq: number;
  readonly entryHash: string;
} & (
  | { readonly content: string }
  // Vacuumed: position and hash show whether offered content is the entry's.
  | { readonly content: null; readonly timestamp: string; readonly prevHash: string }
);

/** The rows of one call to `append`. All of them become adjacent entries, or none does. */
export type AppendCall = readonly PreparedRow[];
export type CallVerdict =
  | { readonly accepted: true; readonly ids: readonly string[] }
  | { readonly accepted: false; readonly error: GateError };

export interface Judgement {
  readonly verdicts: readonly CallVerdict[];
  /** New rows in chain order. */
  readonly rows: readonly PreparedRow[];
  /** Alarm rows about refused calls. Each is appended after the rows, unless an entry with its id exists. */
  readonly alarms: readonly PreparedRow[];
}

/**
 * Decides about the calls of one transaction, in order. A row whose id is known, from the store or from earlier in the transaction, is the
 * same row when its content is equal. With other content its call is refused, but no other call, and an alarm row records the conflict.
 */
export function judge(calls: readonly AppendCall[], stored: ReadonlyMap<string, StoredRow>): Judgement {
  const rows: PreparedRow[] = [];
  const fresh = new Map<string, PreparedRow>();
  const alarms = new Map<string, PreparedRow>();
  const verdicts = calls.map((call): CallVerdict => {
    const own = new Map<string, PreparedRow>();
    for (const row of call) {
      const kept = own.get(row.id) ?? fresh.get(row.id) ?? stored.get(row.id);
      if (!kept) {
        own.set(row.id, row);
      } else if (!holdsContent(kept, row.content)) {
        // When a call contradicts itself, no entry exists that an alarm could refer to.
        if (!own.has(row.id)) {
          const alarm = conflictAlarm(row, kept.content);
          alarms.set(alarm.id, alarm);
        }
        return { accepted: false, error: conflict(row.id) };
      }
    }
    for (const [id, row] of own) fresh.set(id, row);
    rows.push(...own.values());
    return { accepted: true, ids: call.map((row) => row.id) };
  });
  return { verdicts, rows, alarms: [...alarms.values()].filter((alarm) => !fresh.has(alarm.id)) };
}

function holdsContent(kept: PreparedRow | StoredRow, content: string): boolean {
  if (kept.content !== null) return kept.content === content;
  const { id, seq, timestamp, prevHash } = kept;
  const position = { chainVersion: CHAIN_VERSION, id, timestamp, seq, prevHash };
  return entryHash(prevHash, canonicalEntry(position, content)) === kept.entryHash;
}

const conflict = (id: string): GateError =>
  new GateError('ledger_entry_conflict', `an entry ${id} with other content exists; nothing was appended`, {
    fields: { id },
  });

/** The id is deterministic: offering the same content again raises no second alarm. */
function conflictAlarm(offered: PreparedRow, keptContent: string | null): PreparedRow {
  const offeredSha256 = sha256Hex(offered.content);
  const text = (field: ContentField) => offered.values[contentIndex(field)] as string;
  return prepareRow({
    id: uuidFromDigest('alarm.row_conflict', offered.id, offeredSha256),
    agent_id: 'gate-ledger',
    method: 'alarm.row_conflict',
    event_kind: 'alarm.row_conflict',
    intent_category: text('intent_category'),
    authorized: false,
    reasoning:
      'An append offered other content for an entry that exists. The entry stands; nothing of the append was stored.',
    policy_decision: {
      entry_id: offered.id,
      kept_content_sha256: keptContent === null ? null : sha256Hex(keptContent),
      offered_content_sha256: offeredSha256,
    },
    state_namespace: text('state_namespace') === 'demo' ? 'demo' : 'operator',
    correlation_id: text('correlation_id'),
    tenant: text('tenant') ?? 'system',
  });
}

/** Appends rows to the head, in order. Signed rows keep their signer's timestamp; all others get the commit time. */
export function chainRows(head: ChainHead, rows: readonly PreparedRow[], committedAt: string): ChainedRow[] {
  let { length: seq, hash: prevHash } = head;
  return rows.map(({ id, timestamp: signedAt, values, content, sidecar }) => {
    seq += 1;
    const timestamp = signedAt ?? committedAt;
    const canonical = canonicalEntry({ chainVersion: CHAIN_VERSION, id, timestamp, seq, prevHash }, content);
    const chained = {
      id,
      values,
      content,
      sidecar,
      seq,
      timestamp,
      prevHash,
      entryHash: entryHash(prevHash, canonical),
    };
    prevHash = chained.entryHash;
    return chained;
  });
}

export const headAfter = (head: ChainHead, rows: readonly ChainedRow[]): ChainHead => {
  const last = rows.at(-1);
  return last ? { length: last.seq, hash: last.entryHash } : head;
};

/**
 * The answer to each call: its receipts in the order of its rows, or its refusal. Each new entry is `created` only for the first call that
 * brought it.
 */
export function answers(
  { verdicts }: Judgement,
  chained: readonly ChainedRow[],
  stored: ReadonlyMap<string, StoredRow>,
): (AppendReceipt[] | GateError)[] {
  const created = new Map(chained.map((row) => [row.id, row]));
  const told = new Set<string>();
  return verdicts.map((verdict) => {
    if (!verdict.accepted) return verdict.error;
    return verdict.ids.map((id) => {
      const { seq, entryHash: hash } = (created.get(id) ?? stored.get(id)) as ChainedRow | StoredRow;
      const status = created.has(id) && !told.has(id) ? ('created' as const) : ('retained' as const);
      told.add(id);
      return { status, id, seq, entry_hash: hash, chain_version: CHAIN_VERSION };
    });
  });
}

/**
 * The commit time as the chain writes it: `YYYY-MM-DDTHH:MM:SS.mmmZ`, never before `last`, the time of the newest unsigned entry. Signers'
 * times do not move the chain's clock.
 */
export function commitTime(nowMs: number, last: string | null): string {
  const now = new Date(nowMs).toISOString();
  return last !== null && last > now ? last : now;
}
