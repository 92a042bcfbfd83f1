import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { canonicalDigest, canonicalJson, digestOf, uuidFromDigest } from '../crypto/digest.js';
import { type KeyRing, keyRing } from '../crypto/key-ring.js';
import { rowContent } from '../crypto/row-content.js';
import type { ModificationDiff, ReviewStatus, SettledReview } from '../../contracts/review.js';
import type { SandboxReport } from '../../contracts/sandbox.js';

/** What the MAC of an earlier Gate covered. Such a row has no retention dates. */
const EARLIER_AUTHENTICATED = [
  'id',
  'version',
  'correlation_id',
  'tenant',
  'agent_id',
  'agent_spiffe',
  'method',
  'risk_summary',
  'state_namespace',
  'approval_tier',
  'original_payload_digest',
  'annotations',
  'payload_bytes',
  'payload_key_id',
  'minimized_payload',
  'protected_at',
  'created_ms',
  'deadline_ms',
  'ttl_seconds',
  'status',
  'settled',
  'withdrawn_at',
] as const satisfies readonly (keyof StoredReview)[];
const RETENTION_COLUMNS = [
  'payload_expires_ms',
  'metadata_expires_ms',
  'purged',
  'hold',
] as const satisfies readonly (keyof StoredReview)[];
/** The columns that a review's MAC covers, in this order: everything that is shown of it or decides what happens to it. */
export const REVIEW_AUTHENTICATED = [...EARLIER_AUTHENTICATED, ...RETENTION_COLUMNS] as const;
/**
 * Not covered: payload and report are sealed separately, with the row's own key, and bound by their digests; `decided_ms`, `decided_by` and `modified` repeat for statistics what
 * `settled` says; `change_seq` says only that something changed; for `attempt_ms` see SECURITY.md.
 */
export const REVIEW_NOT_AUTHENTICATED = [
  'mac',
  'payload',
  'sandbox_report',
  'attempt_ms',
  'decided_ms',
  'decided_by',
  'modified',
  'change_seq',
] as const satisfies readonly (keyof StoredReview)[];

/** The columns of a list: a row without its payload. */
export const HEAD_COLUMNS = [...REVIEW_AUTHENTICATED, 'mac'] as const;
export type ReviewHead = Pick<StoredReview, (typeof HEAD_COLUMNS)[number]>;
/** A row of a list, with the report that it shows a line of. */
export const LISTED_COLUMNS = [...HEAD_COLUMNS, 'sandbox_report'] as const;

/** The key of one row as it is stored; `null` for a row of an earlier Gate, and once the row's content was erased. */
export interface WithDataKey {
  readonly data_key: Uint8Array | null;
}
/** What opens a row's content: the id, and the row's own key. */
type Lock = Pick<StoredReview, 'id'> & WithDataKey;

/** A settlement as its column holds it: what was changed in the call is sealed like the call. An earlier Gate wrote it in clear. */
export type StoredSettlement = Omit<SettledReview, 'modification'> & {
  readonly modification?: {
    readonly diff?: ModificationDiff;
    readonly sealed_diff?: string;
    readonly reviewed_digest: string;
  };
};
export const storedSettlement = (text: string): StoredSettlement => JSON.parse(text) as StoredSettlement;

const NUMBERS = ['version', 'payload_bytes', 'created_ms', 'deadline_ms', 'ttl_seconds'] as const;
const CONTENT = rowContent(REVIEW_AUTHENTICATED, [...NUMBERS, 'payload_expires_ms', 'metadata_expires_ms']);
const EARLIER_CONTENT = rowContent(EARLIER_AUTHENTICATED, NUMBERS);
const MAC_FORM = 'gate.review-row/2';
const EARLIER_MAC_FORM = 'gate.review-row/1';
const MAC_USE = 'review-row';

/** The context a payload is sealed for. An earlier Gate used the row's id alone, so its payloads and this version's cannot be confused. */
const payloadPlace = (id: string): string => `${id}/review`;
const earlierPlace = (id: string): string => id;
const reportPlace = (id: string): string => `${id}/sandbox`;
const diffPlace = (id: string): string => `${id}/modification`;
const carriedPlace = (id: string): string => `${id}/carried-modification`;
const keyPlace = (id: string): string => `${id}/key`;

/** Names a row's own key in what it seals. */
const DATA_KEY = 'row';
const DATA_KEY_BYTES = 32;
const dataKey = (key: Buffer): KeyRing => keyRing(new Map([[DATA_KEY, key]]));

/** Lists are asked for again and again: rows that held stay for a minute, up to about 16 MiB of them. */
const HELD = { maxSize: 16 * 2 ** 20, ttl: 60_000 };
type Values = readonly ReviewHead[keyof ReviewHead][];
const sizeOf = (values: Values): number =>
  values.reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 8), 500);

/** The id is derived from the correlation id, so a repeated create gives one row. */
export const reviewIdOf = (correlationId: string): string => uuidFromDigest('hil', correlationId.toLowerCase());

/** Converts between a review and its stored form; the same in every store. */
export function reviewSealing(keys: KeyRing) {
  const macOf = (row: ReviewHead) => keys.authenticate(CONTENT.messageOf(MAC_FORM, row), MAC_USE);
  const earlier = (row: ReviewHead) => RETENTION_COLUMNS.every((column) => row[column] === null);
  const held = new LRUCache<string, Values>({ ...HELD, sizeCalculation: sizeOf });
  /** A row that held and is read again as it was, its MAC among the rest, is not hashed again. */
  function holds(mac: string, row: ReviewHead): boolean {
    const known = held.get(row.id);
    if (known && HEAD_COLUMNS.every((column, index) => row[column] === known[index])) return true;
    const holdsNow =
      keys.authentic(mac, CONTENT.messageOf(MAC_FORM, row), MAC_USE) ||
      (earlier(row) && keys.authentic(mac, EARLIER_CONTENT.messageOf(EARLIER_MAC_FORM, row), MAC_USE));
    if (holdsNow)
      held.set(
        row.id,
        HEAD_COLUMNS.map((column) => row[column]),
      );
    return holdsNow;
  }

  /** A row that was read opens its key once for all that is opened of it. */
  const rings = new WeakMap<Uint8Array, { readonly id: string; readonly ring: KeyRing }>();
  /** A row of an earlier Gate was sealed with the payload keys themselves. */
  function ringOf({ id, data_key }: Lock): KeyRing {
    if (data_key === null) return keys;
    const known = rings.get(data_key);
    if (known?.id === id) return known.ring;
    const ring = dataKey(keys.open(data_key, keyPlace(id)));
    rings.set(data_key, { id, ring });
    return ring;
  }

  return {
    /** A new key for a row: it seals what the row holds of a call, and nothing opens that once the key is gone. */
    newKey(id: string) {
      const key = randomBytes(DATA_KEY_BYTES);
      const ring = dataKey(key);
      return {
        wrapped: keys.seal(key, keyPlace(id)),
        sealPayload: (text: string) => ring.seal(text, payloadPlace(id)),
        /** In the form that its digest is of. */
        sealReport: (report: SandboxReport) => ring.seal(canonicalJson(report), reportPlace(id)),
      };
    },
    openPayload: (sealed: Uint8Array, row: Lock) => ringOf(row).open(sealed, payloadPlace(row.id)),
    /** `null` where the request has gone with its key: what goes at a date is not sealed with a key that stays. */
    sealDiff: (diff: ModificationDiff, row: Lock & Pick<StoredReview, 'payload'>) =>
      row.data_key === null && row.payload === null
        ? null
        : ringOf(row).seal(JSON.stringify(diff), diffPlace(row.id)).toString('base64'),
    /** Changed values for the engine. In a place of its own: what came through the engine is never what the row holds. */
    sealCarried: (diff: ModificationDiff, row: Lock) =>
      ringOf(row).seal(JSON.stringify(diff), carriedPlace(row.id)).toString('base64'),
    /** Throws where nothing opens it. */
    openCarried: (sealed: string, row: Lock): unknown =>
      JSON.parse(ringOf(row).open(Buffer.from(sealed, 'base64'), carriedPlace(row.id)).toString('utf8')),
    /** What was changed in the call; `null` where nothing was, or what it was cannot be opened. */
    openDiff(settled: string | null, row: Lock): ModificationDiff | null {
      const { diff, sealed_diff } = (settled === null ? undefined : storedSettlement(settled).modification) ?? {};
      if (sealed_diff === undefined) return diff ?? null;
      try {
        const opened = ringOf(row).open(Buffer.from(sealed_diff, 'base64'), diffPlace(row.id));
        return JSON.parse(opened.toString('utf8')) as ModificationDiff;
      } catch {
        return null;
      }
    },
    /** The report, if it is the one of this digest; otherwise `null`. */
    openReport(sealed: Uint8Array, row: Lock, digest: string): SandboxReport | null {
      try {
        const text = ringOf(row).open(sealed, reportPlace(row.id));
        const report = JSON.parse(text.toString('utf8')) as SandboxReport;
        // One of an earlier Gate is sealed in another form.
        return digestOf(text) === digest || canonicalDigest(report) === digest ? report : null;
      } catch {
        return null;
      }
    },
    /** Seals a payload of an earlier Gate for this version. Throws when it cannot be opened. */
    resealed: (sealed: Uint8Array, id: string) => keys.seal(keys.open(sealed, earlierPlace(id)), payloadPlace(id)),

    withMac: <Row extends ReviewHead>(row: Row): Row => ({ ...row, mac: macOf(row) }),
    /** A change to a verified row, with the next version and its MAC. */
    changed: <Change extends Partial<StoredReview>>(row: ReviewHead, change: Change, atLeast = 0) => {
      const version = Math.max(Number.isSafeInteger(Number(row.version)) ? Number(row.version) : 0, atLeast) + 1;
      return { ...change, version, mac: macOf({ ...row, ...change, version }) };
    },
    /**
     * Why a row is not what Gate wrote, or is older than this process has seen; `null` when it is fine. Throws only when the ring lacks the
     * key.
     */
    fault(row: ReviewHead, atLeast = 0): string | null {
      if (row.mac === null || row.version === null) return 'the review has no mac';
      if (!holds(row.mac, row)) return 'the review was changed outside Gate: its mac does not hold';
      return Number(row.version) < atLeast
        ? `an older review was put back: version ${Number(row.version)}, ${atLeast} was seen`
        : null;
    },
  };
}

/** The table of `migrations/hil.ts`. Postgres returns its bigint columns as text. */
export interface StoredReview {
  id: string;
  correlation_id: string;
  tenant: string;
  agent_id: string;
  agent_spiffe: string | null;
  method: string;
  risk_summary: string;
  state_namespace: 'operator' | 'demo';
  approval_tier: string | null;
  original_payload_digest: string;
  /** JSON of what is shown but never searched: reasons, scores, cost, callback. */
  annotations: string;
  /** Sealed with the row's own key, under the row id; `null` once withdrawn or purged. */
  payload: Uint8Array | null;
  /** The sandbox's report, sealed in the same way: it quotes the payload, and goes with it. */
  sandbox_report: Uint8Array | null;
  payload_bytes: number;
  payload_key_id: string;
  minimized_payload: string;
  protected_at: string;
  created_ms: number | string;
  deadline_ms: number | string;
  ttl_seconds: number;
  status: ReviewStatus;
  /** Canonical JSON of the SettledReview that closed the row; what it changed in the call is sealed. */
  settled: string | null;
  withdrawn_at: string | null;
  /** When the payload may go, and when the row. `null` in rows of an earlier Gate until a sweep has met them. */
  payload_expires_ms: number | string | null;
  metadata_expires_ms: number | string | null;
  /** JSON of the tombstone in the place of a payload that went at its date. */
  purged: string | null;
  /** JSON of the legal hold. */
  hold: string | null;
  attempt_ms: number | string | null;
  /** Of `settled`, for statistics; no row that is shown is read from these. */
  decided_ms: number | string | null;
  decided_by: string | null;
  modified: number | null;
  /** Grows over all rows, with every change that has a version. */
  change_seq: number | string | null;
  /** Grows with every change. Like `mac`, it is `null` in rows of an earlier Gate until this version opens the store. */
  version: number | string | null;
  /** Covers everything that is shown or decided by (`REVIEW_AUTHENTICATED`), with a key derived from the payload keys. */
  mac: string | null;
}
