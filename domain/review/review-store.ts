import type { Selectable } from 'kysely';
import type { Json, JsonObject } from '../../contracts/json.js';
import type {
  ListedReview,
  NewReview,
  PendingRequest,
  ReviewOrder,
  ReviewStatus,
  SettledReview,
} from '../../contracts/review.js';
import { hilMigrations } from '../../migrations/hil.js';
import { canonicalDigest, canonicalJson, sha256Hex, uuidFromDigest } from '../crypto/digest.js';
import type { KeyRing } from '../crypto/key-ring.js';
import { GateError } from '../errors.js';
import { openStore, type Store, type StoreTarget } from '../store/database.js';
import { createTurns } from '../store/turns.js';
import { backlogFull } from './backlog.js';
import { minimizePayload } from './minimize.js';
import type { Reviews } from './ports.js';
import { storable } from './storable.js';
import { deadlineOf, TTL_SWEEP } from './transitions.js';

/** The table of `migrations/hil.ts`. Postgres gives its bigint columns back as text. */
interface ReviewTable {
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
  /** JSON of what is shown and never searched by: reasons, scores, cost, callback. */
  annotations: string;
  /** Sealed with the payload keys under the row id; `null` once withdrawn. */
  payload: Uint8Array | null;
  payload_bytes: number;
  payload_key_id: string;
  minimized_payload: string;
  protected_at: string;
  created_ms: number | string;
  deadline_ms: number | string;
  ttl_seconds: number;
  status: ReviewStatus;
  /** Canonical JSON of the SettledReview that closed the row. */
  settled: string | null;
  withdrawn_at: string | null;
  attempt_ms: number | string | null;
}
export interface ReviewTables {
  reviews: ReviewTable;
}
type Row = Selectable<ReviewTable>;
/** What a list is made of: a row without its payload. */
type Head = Omit<Row, 'payload' | 'attempt_ms'>;

interface Annotations {
  readonly review_reasons: string[];
  readonly brain_scores: JsonObject | null;
  readonly projected_cost_micros: number | null;
  readonly callback_url: string | null;
}

export interface ListReviews {
  readonly tenant: string | readonly string[];
  readonly status?: ReviewStatus | readonly ReviewStatus[];
  readonly limit?: number;
  /** Row id; the page starts behind that row. */
  readonly before?: string;
  /** By when they were made; `newest` first where nothing is said. */
  readonly sort?: ReviewOrder;
  readonly agent_id?: string;
}

export interface ReviewStore {
  /**
   * The row of this correlation id, made unless it is there (spec 4.4). The same payload, agent and tenant bring back the first row
   * unchanged, whatever its status; anything else is `pending_conflict`. A withdrawn row gives way to a later create; a create that is
   * not later is a straggler of the withdrawn call and is `not_pending`. `invalid_request` for text no store can hold;
   * `review_backlog_full` for a row more, or bytes more, than one agent may have waiting.
   */
  createOnce(review: NewReview): Promise<{ row: PendingRequest; created: boolean }>;
  /**
   * Hides a row that nobody decided and drops its payload, unless an attempt that began after `attemptMs` opened it (again). Idempotent;
   * `already_decided` once it is settled.
   */
  withdraw(correlationId: string, attemptMs?: number): Promise<void>;
  /**
   * Compare-and-set from pending; the same settlement again returns the row, another one is `already_decided` with how the row stands.
   * The deadline is not judged here: what the workflow settled is what happened. `not_found`, `not_pending` (withdrawn).
   */
  settle(settled: SettledReview): Promise<PendingRequest>;
  /** `null` for an unknown row, a withdrawn one, and one of another tenant alike. `payload_unavailable` when it does not decrypt. */
  get(id: string, tenant?: string): Promise<PendingRequest | null>;
  byCorrelation(correlationId: string, tenant?: string): Promise<PendingRequest | null>;
  /**
   * In the order asked for, without payloads: `request_payload` is the minimized one and `payload_summary` is true, so that no row's size
   * keeps another from being seen; `get` has the whole. `next_before` is where to go on, `null` at the end. `invalid_request` when `before`
   * names no row of the tenant.
   */
  list(query: ListReviews): Promise<{ rows: ListedReview[]; next_before: string | null }>;
  /** Over all tenants, for metrics: how many rows wait, and since when the oldest does. */
  backlog(): Promise<{ pending: number; oldest_created_ms: number | null }>;
  ready(): Promise<void>;
  close(): Promise<void>;
}

export interface ReviewStoreOptions {
  readonly target: StoreTarget;
  readonly payloadKeys: KeyRing;
  readonly clock?: () => number;
  /** What one agent may have waiting at once; without it as much as it likes. */
  readonly perAgent?: ReviewLimits;
}

export interface ReviewLimits {
  readonly rows: number;
  readonly bytes: number;
}
const PAYLOAD_LIFE_SECONDS: Readonly<Record<string, number>> = { auto: 86_400, standard: 604_800, strict: 2_592_000 };
const METADATA_LIFE_SECONDS = 2_592_000;

/** A row's id follows from its correlation id, so a create met twice can only be one row. */
export const reviewIdOf = (correlationId: string): string => uuidFromDigest('hil', correlationId.toLowerCase());

/**
 * HIL's rows in SQLite or Postgres. Payloads are encrypted under their row id; `expired` is computed from the stored deadline whenever
 * a row is read, never from a workflow or sweeper being alive (DESIGN 1). A store that fails is `store_unavailable`.
 */
export async function openReviewStore({ target, ...options }: ReviewStoreOptions): Promise<ReviewStore> {
  return reviewStoreOver(await openStore<ReviewTables>(target, hilMigrations), options);
}

/** The review rows over a store that is open and migrated. Takes the store over: `close` closes it. */
export function reviewStoreOver(
  store: Store<ReviewTables>,
  { payloadKeys, clock = Date.now, perAgent }: Omit<ReviewStoreOptions, 'target'>,
): ReviewStore {
  const { db } = store;
  const oneAtATime = createTurns();

  const stored = (column: 'id' | 'correlation_id', value: string): Promise<Row | undefined> =>
    asked(() => db.selectFrom('reviews').selectAll().where(column, '=', value).executeTakeFirst());

  async function read(
    column: 'id' | 'correlation_id',
    value: string,
    tenant: string | undefined,
  ): Promise<PendingRequest | null> {
    const row = await stored(column, value.toLowerCase());
    if (!row || row.withdrawn_at !== null || (tenant !== undefined && row.tenant !== tenant)) return null;
    return view(row, opened(row), clock());
  }

  function opened(row: Row): JsonObject {
    let payload: JsonObject;
    try {
      if (row.payload === null) throw new Error('the payload is gone');
      payload = JSON.parse(payloadKeys.open(row.payload, row.id).toString('utf8')) as JsonObject;
    } catch (cause) {
      throw new GateError('payload_unavailable', undefined, { cause });
    }
    // What is shown is what the digest says, which is what is signed, which is compared with what would run.
    if (canonicalDigest(payload) !== row.original_payload_digest) throw new GateError('review_tampered');
    return payload;
  }

  /** Throws unless this agent may have one row more waiting. A row that is there already, or was withdrawn, is judged by what it adds. */
  async function assertRoom({ id, tenant, agent_id, payload_bytes }: ReviewTable, limits: ReviewLimits): Promise<void> {
    const waiting = await asked(() =>
      db
        .selectFrom('reviews')
        .select(({ fn }) => [fn.countAll().as('rows'), fn.sum('payload_bytes').as('bytes')])
        .where('tenant', '=', tenant)
        .where('agent_id', '=', agent_id)
        .where('status', '=', 'pending')
        .where('deadline_ms', '>', clock())
        .where('withdrawn_at', 'is', null)
        .where('id', '!=', id)
        .executeTakeFirstOrThrow(),
    );
    const rows = Number(waiting.rows) + 1;
    const bytes = Number(waiting.bytes ?? 0) + payload_bytes;
    if (rows <= limits.rows && bytes <= limits.bytes) return;
    throw backlogFull(
      tenant,
      agent_id,
      rows > limits.rows
        ? `${limits.rows} calls of this agent wait for a decision already`
        : `the calls of this agent that wait for a decision would hold more than ${limits.bytes} bytes`,
    );
  }

  /** Where one unreadable payload must not stand in the way of the rest. */
  function viewAnyway(row: Row): PendingRequest {
    const now = clock();
    try {
      return view(row, opened(row), now);
    } catch {
      return view(row, null, now);
    }
  }

  /** The stored form of a new review; its `created_at` is the workflow's, so that row and timer share one deadline. */
  function newRow(review: NewReview): ReviewTable {
    const digest = `sha256:${sha256Hex(canonicalOr400('request_payload', review.request_payload))}`;
    // Sealed as it came, not as it is hashed: the approver sees the arguments in the order the agent wrote them.
    const payload = JSON.stringify(review.request_payload);
    const id = reviewIdOf(review.correlation_id);
    const now = new Date(clock()).toISOString();
    const created_at = review.created_at ?? now;
    const annotations: Annotations = {
      review_reasons: review.review_reasons,
      brain_scores: review.brain_scores ?? null,
      projected_cost_micros: review.projected_cost_micros ?? null,
      callback_url: review.callback_url ?? null,
    };
    return {
      id,
      correlation_id: review.correlation_id.toLowerCase(),
      tenant: storable('tenant', review.tenant),
      agent_id: storable('agent_id', review.agent_id),
      agent_spiffe: storable('agent_spiffe', review.agent_spiffe ?? null),
      method: storable('method', review.method),
      risk_summary: storable('risk_summary', review.risk_summary),
      state_namespace: review.state_namespace,
      approval_tier: review.approval_tier ?? null,
      original_payload_digest: digest,
      annotations: JSON.stringify(annotations),
      payload: payloadKeys.seal(payload, id),
      payload_bytes: Buffer.byteLength(payload),
      payload_key_id: payloadKeys.activeKeyId,
      minimized_payload: JSON.stringify(minimizePayload(review.request_payload, digest)),
      protected_at: now,
      created_ms: Date.parse(created_at),
      deadline_ms: deadlineOf({ created_at, ttl_seconds: review.ttl_seconds }),
      ttl_seconds: review.ttl_seconds,
      status: 'pending',
      settled: null,
      withdrawn_at: null,
      attempt_ms: review.attempt_ms ?? null,
    };
  }

  async function create(review: NewReview, row: ReviewTable): Promise<{ row: PendingRequest; created: boolean }> {
    const inserted = await asked(() =>
      db
        .insertInto('reviews')
        .values(row)
        .onConflict((conflict) => conflict.column('correlation_id').doNothing())
        .executeTakeFirst(),
    );
    if (inserted.numInsertedOrUpdatedRows === 1n)
      return { row: view(row, review.request_payload, clock()), created: true };
    const replaced = await asked(() =>
      db
        .updateTable('reviews')
        .set(row)
        .where('id', '=', row.id)
        .where('withdrawn_at', 'is not', null)
        .where('created_ms', '<', row.created_ms)
        .executeTakeFirst(),
    );
    if (replaced.numUpdatedRows === 1n) return { row: view(row, review.request_payload, clock()), created: true };
    // The row is this attempt's now: an older one that fails after this may not take it back.
    if (row.attempt_ms !== null)
      await asked(() =>
        db
          .updateTable('reviews')
          .set({ attempt_ms: row.attempt_ms })
          .where('id', '=', row.id)
          .where('withdrawn_at', 'is', null)
          .where((where) => where.or([where('attempt_ms', 'is', null), where('attempt_ms', '<', row.attempt_ms)]))
          .execute(),
      );
    const first = await stored('id', row.id);
    if (!first || first.withdrawn_at !== null)
      throw new GateError('not_pending', 'This review was withdrawn; its call was answered 503.');
    const same = (['original_payload_digest', 'agent_id', 'tenant'] as const).every(
      (field) => first[field] === row[field],
    );
    if (!same) throw new GateError('pending_conflict');
    return { row: viewAnyway(first), created: false };
  }

  return {
    async createOnce(review) {
      const row = newRow(review);
      if (!perAgent) return create(review, row);
      // Counting and adding are two statements; creates of one agent at once would each see room for themselves.
      return oneAtATime(`${row.tenant}/${row.agent_id}`, async () => {
        const there = await stored('id', row.id);
        if (!there || there.withdrawn_at !== null) await assertRoom(row, perAgent);
        return create(review, row);
      });
    },

    async withdraw(correlationId, attemptMs) {
      const id = reviewIdOf(correlationId);
      let open = db
        .updateTable('reviews')
        .set({ withdrawn_at: new Date(clock()).toISOString(), payload: null })
        .where('id', '=', id)
        .where('status', '=', 'pending')
        .where('withdrawn_at', 'is', null);
      if (attemptMs !== undefined)
        open = open.where((where) => where.or([where('attempt_ms', 'is', null), where('attempt_ms', '<=', attemptMs)]));
      const hidden = await asked(() => open.executeTakeFirst());
      if (hidden.numUpdatedRows === 1n) return;
      const row = await stored('id', id);
      if (row?.settled) throw alreadyDecided(viewAnyway(row));
    },

    async settle(settled) {
      const text = canonicalOr400('settlement', settled);
      await asked(() =>
        db
          .updateTable('reviews')
          .set({ status: settled.status, settled: text })
          .where('id', '=', settled.pending_id)
          .where('status', '=', 'pending')
          .where('withdrawn_at', 'is', null)
          .execute(),
      );
      const row = await stored('id', settled.pending_id);
      if (!row) throw new GateError('not_found');
      if (row.withdrawn_at !== null) throw new GateError('not_pending');
      if (row.settled !== text) throw alreadyDecided(viewAnyway(row));
      return viewAnyway(row);
    },

    get: (id, tenant) => read('id', id, tenant),
    byCorrelation: (correlationId, tenant) => read('correlation_id', correlationId, tenant),

    async list({ tenant, status = 'pending', limit = 200, before, agent_id, sort = 'newest' }) {
      const [behind, direction] = sort === 'newest' ? (['<', 'desc'] as const) : (['>', 'asc'] as const);
      const now = clock();
      const tenants = typeof tenant === 'string' ? [tenant] : tenant;
      const statuses = typeof status === 'string' ? [status] : status;
      let page = db
        .selectFrom('reviews')
        .select(HEAD_COLUMNS)
        .where('tenant', 'in', [...tenants])
        .where('withdrawn_at', 'is', null)
        .where((where) =>
          where.or(
            statuses.flatMap((one) => {
              if (one === 'pending') return [where.and([where('status', '=', one), where('deadline_ms', '>', now)])];
              const written = where('status', '=', one);
              return one === 'expired'
                ? [written, where.and([where('status', '=', 'pending'), where('deadline_ms', '<=', now)])]
                : [written];
            }),
          ),
        );
      if (agent_id !== undefined) page = page.where('agent_id', '=', agent_id);
      if (before !== undefined) {
        // Also a row that was withdrawn meanwhile: its place in the order stays.
        const cursor = await stored('id', before.toLowerCase());
        if (!cursor || !tenants.includes(cursor.tenant))
          throw new GateError('invalid_request', 'before: names no row of this list');
        page = page.where((where) =>
          where.or([
            where('created_ms', behind, cursor.created_ms),
            where.and([where('created_ms', '=', cursor.created_ms), where('id', behind, cursor.id)]),
          ]),
        );
      }
      const found = await asked(() =>
        page
          .orderBy('created_ms', direction)
          .orderBy('id', direction)
          .limit(limit + 1)
          .execute(),
      );
      const rows = found.slice(0, limit);
      return {
        rows: rows.map((row): ListedReview => ({ ...view(row, null, now, 'summary'), payload_summary: true })),
        next_before: rows.length < found.length ? (rows.at(-1)?.id ?? null) : null,
      };
    },

    async backlog() {
      const { count, oldest } = await asked(() =>
        db
          .selectFrom('reviews')
          .select(({ fn }) => [fn.countAll().as('count'), fn.min('created_ms').as('oldest')])
          .where('status', '=', 'pending')
          .where('deadline_ms', '>', clock())
          .where('withdrawn_at', 'is', null)
          .executeTakeFirstOrThrow(),
      );
      return { pending: Number(count), oldest_created_ms: oldest === null ? null : Number(oldest) };
    },

    async ready() {
      await asked(() => db.selectFrom('reviews').select('id').limit(1).execute());
    },

    close: () => store.close(),
  };
}

/** The port over a store in the same process. */
export const reviewsOf = (store: ReviewStore): Reviews => ({
  createOnce: async (review) => (await store.createOnce(review)).row,
  withdraw: (correlationId, attemptMs) => store.withdraw(correlationId, attemptMs),
  settle: (settled) => store.settle(settled),
});

/** `already_decided` with how the row stands (review sheet 6.2). */
const alreadyDecided = ({ status, decided_by, decided_at }: PendingRequest): GateError =>
  new GateError('already_decided', undefined, { fields: { status, decided_by, decided_at } });

const HEAD_COLUMNS = [
  'id',
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
] as const satisfies readonly (keyof Head)[];

/** What closed the row: what was written, or the deadline once it has passed. */
function settlementOf(row: Head, now: number): SettledReview | null {
  if (row.settled !== null) return JSON.parse(row.settled) as SettledReview;
  if (now < Number(row.deadline_ms)) return null;
  return {
    pending_id: row.id,
    status: 'expired',
    decided_at: iso(row.deadline_ms),
    decided_by: TTL_SWEEP,
    decision_reason: null,
    decided_via: TTL_SWEEP,
    principal: null,
  };
}

/** The row as it is shown at `now`. `payload` is the opened request, `null` when it cannot be opened or, for a summary, was not. */
function view(row: Head, payload: JsonObject | null, now: number, form: 'whole' | 'summary' = 'whole'): PendingRequest {
  const settled = settlementOf(row, now);
  const principal = settled?.principal ?? null;
  const minimized = JSON.parse(row.minimized_payload) as JsonObject;
  const tier = row.approval_tier ?? 'standard';
  const closes = settled ? Date.parse(settled.decided_at) : Number(row.deadline_ms);
  const payloadExpires = closes + (PAYLOAD_LIFE_SECONDS[tier] ?? METADATA_LIFE_SECONDS) * 1000;
  const missing = payload === null && form === 'whole';
  const availability = now >= payloadExpires ? 'minimized' : missing ? 'unavailable' : 'available';
  return {
    id: row.id,
    correlation_id: row.correlation_id,
    tenant: row.tenant,
    agent_id: row.agent_id,
    agent_spiffe: row.agent_spiffe,
    method: row.method,
    request_payload: availability === 'available' && payload !== null ? payload : minimized,
    risk_summary: row.risk_summary,
    ...(JSON.parse(row.annotations) as Annotations),
    created_at: iso(row.created_ms),
    ttl_seconds: row.ttl_seconds,
    status: settled?.status ?? 'pending',
    decided_at: settled?.decided_at ?? null,
    decided_by: settled?.decided_by ?? null,
    decision_reason: settled?.decision_reason ?? null,
    decided_via: settled?.decided_via ?? null,
    approver_provenance: principal?.method ?? (settled ? 'system' : null),
    approver_assertion: principal && {
      subject: principal.subject,
      tenant: principal.tenant,
      method: principal.method,
      credential: principal.credential,
    },
    credential_kind: principal?.credential_kind ?? null,
    original_payload_digest: row.original_payload_digest,
    payload_bytes: row.payload_bytes,
    modification_diff: null,
    modified_payload: null,
    approval_tier: row.approval_tier,
    state_namespace: row.state_namespace,
    retention: {
      retention_policy: 'gate.hil-retention/v1',
      retention_purpose: settled ? 'terminal-payload-review' : 'active-review-and-execution',
      retention_tier: tier,
      payload_protection: 'aes-256-gcm',
      payload_key_id: row.payload_key_id,
      protected_at: row.protected_at,
      payload_retention_expires_at: iso(payloadExpires),
      metadata_retention_expires_at: iso(closes + METADATA_LIFE_SECONDS * 1000),
      payload_availability: availability,
      minimization_profile: 'hil-request-v1',
      minimized_payload: minimized,
    },
  };
}

const iso = (ms: number | string): string => new Date(Number(ms)).toISOString();

async function asked<Result>(query: () => Promise<Result>): Promise<Result> {
  try {
    return await query();
  } catch (cause) {
    throw new GateError('store_unavailable', undefined, { cause });
  }
}

function canonicalOr400(field: string, value: Json): string {
  try {
    return canonicalJson(value);
  } catch (cause) {
    throw new GateError('invalid_request', `${field}: has no canonical form`, { cause });
  }
}
