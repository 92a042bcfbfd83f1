import { type StoredReview, storedSettlement } from './sealed-review.js';
import { statusTold } from '../decision/transitions.js';

/** How long what a review holds is kept (docs/architecture/reviews.md#payload-and-retention). */
export const RETENTION_POLICY = 'gate.hil-retention/v1';

const PAYLOAD_LIFE_SECONDS: Readonly<Record<string, number>> = { auto: 86_400, standard: 604_800, strict: 2_592_000 };
/** Nothing of a review is kept for longer. */
export const METADATA_LIFE_SECONDS = 2_592_000;

type Tiered = Pick<StoredReview, 'approval_tier'>;
type Dated = Pick<StoredReview, 'payload_expires_ms' | 'metadata_expires_ms'>;

export const retentionTier = ({ approval_tier }: Tiered): string => approval_tier || 'standard';

/** When the payload and the rest of a row may go that ended, or at the latest ends, at this time. */
export const retentionDates = (row: Tiered, endsMs: number) => ({
  payload_expires_ms: endsMs + (PAYLOAD_LIFE_SECONDS[retentionTier(row)] ?? METADATA_LIFE_SECONDS) * 1000,
  metadata_expires_ms: endsMs + METADATA_LIFE_SECONDS * 1000,
});

/**
 * The dates of a row that ends now. Under a legal hold they only become earlier: the row of a tenant that left, or of a demonstration that was
 * cleaned up, goes when its hold is released, whatever happens to it until then.
 */
export function datesOfEnd(row: Tiered & Dated & Pick<StoredReview, 'hold'>, endsMs: number) {
  const dates = retentionDates(row, endsMs);
  if (row.hold === null) return dates;
  const earlier = (date: number | string | null, other: number) => Math.min(Number(date ?? Infinity), other);
  return {
    payload_expires_ms: earlier(row.payload_expires_ms, dates.payload_expires_ms),
    metadata_expires_ms: earlier(row.metadata_expires_ms, dates.metadata_expires_ms),
  };
}

/** A row whose words are not Gate's own is kept for an investigation, and no longer than any other. */
export const tamperedDates = (nowMs: number) => retentionDates({ approval_tier: 'strict' }, nowMs);

/** What is left in the place of a payload. */
export interface Tombstone {
  readonly contract: 'hil-payload-purged/v1';
  readonly purged_at: string;
  readonly trigger: DeletionTrigger;
}
export type DeletionTrigger =
  | 'payload_deadline'
  | 'metadata_deadline'
  | 'hold_released'
  | 'tenant_offboard'
  | 'namespace_cleanup';

/** A row under a legal hold keeps everything until the hold is released. */
export interface LegalHold {
  readonly hold_id: string;
  readonly by: string;
  readonly since: string;
}
export const legalHoldOf = ({ hold }: Pick<StoredReview, 'hold'>): LegalHold | null =>
  hold === null ? null : (JSON.parse(hold) as LegalHold);
export const tombstoneOf = ({ purged }: Pick<StoredReview, 'purged'>): Tombstone | null =>
  purged === null ? null : (JSON.parse(purged) as Tombstone);

/** What of a row is past its date, held or not. A withdrawn row has nothing to keep its request for. */
export function overdue(
  row: Dated & Pick<StoredReview, 'payload' | 'withdrawn_at'>,
  nowMs: number,
): 'row' | 'payload' | null {
  const past = (date: number | string | null) => date !== null && Number(date) <= nowMs;
  if (past(row.metadata_expires_ms)) return 'row';
  return row.payload !== null && (past(row.payload_expires_ms) || row.withdrawn_at !== null) ? 'payload' : null;
}

/** What stays of a deletion for good: no value of the call, and nobody's name. */
export interface Deletion {
  readonly id: string;
  readonly at_ms: number;
  readonly pending_id: string;
  readonly tenant: string;
  readonly trigger: DeletionTrigger;
  readonly disposition: 'payload_purged' | 'row_deleted';
  /** How the review had ended. */
  readonly state: string;
  readonly retention_policy: string;
  /** `null` where the row was not Gate's own, and could say anything. */
  readonly retention_tier: string | null;
  readonly original_payload_sha256: string | null;
}

export function deletionOf(
  row: Tiered & Pick<StoredReview, 'id' | 'tenant' | 'status' | 'settled' | 'withdrawn_at' | 'original_payload_digest'>,
  { id, at_ms, trigger, disposition }: Pick<Deletion, 'id' | 'at_ms' | 'trigger' | 'disposition'>,
): Deletion {
  const own = row.status !== 'tampered';
  return {
    id,
    at_ms,
    pending_id: row.id,
    tenant: row.tenant,
    trigger,
    disposition,
    state: own ? wordOfEnd(row) : row.status,
    retention_policy: RETENTION_POLICY,
    retention_tier: own ? retentionTier(row) : null,
    original_payload_sha256: own ? row.original_payload_digest : null,
  };
}

/** How a review of Gate's own ended, in the word that is told of it everywhere. */
const wordOfEnd = ({
  status,
  settled,
  withdrawn_at,
}: Pick<StoredReview, 'status' | 'settled' | 'withdrawn_at'>): string => {
  if (withdrawn_at !== null) return 'withdrawn';
  return settled === null ? status : statusTold(storedSettlement(settled));
};
