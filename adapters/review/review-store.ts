import { isDeepStrictEqual } from 'node:util';
import type { Compilable, Selectable } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { Json, JsonObject } from '../../contracts/json.js';
import type { ListedReview, NewReview, PendingRequest } from '../../contracts/review.js';
import { hilMigrations } from '../../migrations/hil.js';
import type { SandboxReport } from '../../contracts/sandbox.js';
import { canonicalDigest, canonicalJson, sha256Hex } from '../../domain/crypto/digest.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { errorText, GateError } from '../../domain/errors.js';
import { openStore, type Store, type StoreKind, type StoreTarget } from '../store/database.js';
import { askOf } from '../store/jobs.js';
import { type Ask, statement } from '../store/statement.js';
import { createKeyedQueue } from '../../domain/keyed-queue.js';
import { overwriteDeleted } from '../store/overwriting.js';
import { assertWritable } from '../store/writable.js';
import { type Ready, writeTogether } from '../store/write-together.js';
import { ONE_APPROVER, type QuorumRule, requiredApprovers } from '../../domain/review/quorum.js';
import { retentionDates, tamperedDates } from '../../domain/review/retention.js';
import { minimizePayload } from '../../domain/review/minimize.js';
import type { Dispositions, ReviewLimits, Reviews, ReviewStore } from '../../domain/review/ports.js';
import type { RuleDecision } from '../../domain/review/rule-decision.js';
import { chatLinkStoreOver } from './chat-link-store.js';
import { noticeStoreOver } from '../notification/notice-store.js';
import { sealReviews } from './seal-reviews.js';
import {
  HEAD_COLUMNS,
  LISTED_COLUMNS,
  type ReviewHead,
  reviewIdOf,
  reviewSealing,
  storedSettlement,
  type StoredReview,
  type WithDataKey,
} from '../../domain/review/sealed-review.js';
import { changeSealOver } from './change-seal.js';
import { NEXT_CHANGE, nextChange, reviewChanges } from './changes.js';
import { legalHolds } from './legal-holds.js';
import { passkeyStore } from './passkeys.js';
import { reviewRetention, type RowChange } from './retention.js';
import { sinceLast } from './since-last.js';
import { reviewStats } from './stats.js';
import { reviewSummaries } from './summaries.js';
import { tenantStatesOver } from './tenant-states.js';
import { storable } from '../../domain/review/storable.js';
import { deadlineOf, escalationOf, mayMove } from '../../domain/review/transitions.js';
import { waitingRoom } from './waiting-room.js';
import {
  type Annotations,
  type Content,
  FORSAKEN_AFTER_MS,
  NO_CONTENT,
  view,
} from '../../domain/review/review-view.js';
import type { ReviewTables } from './tables.js';
import { roomFor } from '../../domain/room-for.js';
type Row = Selectable<StoredReview> & WithDataKey;
/** A row without its request, with what opens the line of its report. */
type Listed = ReviewHead & Pick<Row, 'sandbox_report' | 'data_key'>;

export interface ReviewStoreOptions {
  readonly target: StoreTarget;
  readonly payloadKeys: KeyRing;
  readonly clock?: () => number;
  /** How many people a review needs; one when absent. */
  readonly quorum?: QuorumRule;
  /** The share of its time after which a row that nobody has decided is escalated; never when absent or 0. */
  readonly escalateShare?: number;
  /** How much one agent may have waiting; unlimited when absent. */
  readonly perAgent?: ReviewLimits;
  /** For a store that this process alone writes: `forget` is to be called when it undid what stood. */
  readonly alone?: (forget: () => void) => void;
  /** Where it is written down, outside the store, which tenants have left. */
  readonly dispositions?: Pick<Dispositions, 'record'> | undefined;
}

const STORED_COLUMNS = [...LISTED_COLUMNS, 'payload', 'attempt_ms'] as const satisfies (keyof StoredReview)[];
const selecting = (column: 'id' | 'correlation_id') =>
  statement<Row>(`select ${STORED_COLUMNS.join(', ')}, wrapped as data_key
    from reviews left join review_keys on review_id = id where ${column} = ?`);
const selectBy = { id: selecting('id'), correlation_id: selecting('correlation_id') };
const inserting = (kind: StoreKind) =>
  statement(
    `insert into reviews (${STORED_COLUMNS.join(', ')}, change_seq)
       values (${STORED_COLUMNS.map(() => '?').join(', ')}, ${NEXT_CHANGE[kind]})
       on conflict (correlation_id) do nothing`,
  );
const insertReview = { sqlite: inserting('sqlite'), postgres: inserting('postgres') };
const insertKey = statement('insert into review_keys (review_id, wrapped) values (?, ?)');
/** The index `reviews_undecided` answers this alone. Its condition is repeated here word for word, or SQLite would not use it. */
const selectBacklog = statement<{ count: number | string; oldest: number | string | null }>(
  `select count(*) as "count", min(created_ms) as oldest from reviews
     where deadline_ms > ? and status = 'pending' and withdrawn_at is null`,
);
const COUNT_OPERATOR_ROWS = statement<{ count: number | string }>(
  `select count(*) as "count" from reviews where tenant = ? and state_namespace <> 'demo' and withdrawn_at is null`,
);
/** Characters of a name that an index of Postgres takes in any script, beside its other columns. */
const MAX_INDEXED = 256;
/** Row versions remembered per process. */
const SEEN_REVIEWS = 10_000;
const ATTEMPTS = 5;

/**
 * HIL's rows in SQLite or Postgres. Payloads are encrypted under their row id. A row is `expired` once its call is: the call's record owns
 * the deadline, and HIL's clock ends no wait (docs/architecture/reviews.md#deadline). A store fault is `store_unavailable`.
 */
export async function openReviewStore({ target, ...options }: ReviewStoreOptions): Promise<ReviewStore> {
  const store = await openStore<ReviewTables>(target, hilMigrations);
  try {
    await sealReviews(store, options.payloadKeys, options.clock);
  } catch (error) {
    await store.close();
    throw error;
  }
  return reviewStoreOver(store, options);
}

/** The review rows over an open, migrated and sealed store. Takes ownership: `close` closes it. */
export function reviewStoreOver(
  store: Store<ReviewTables>,
  {
    payloadKeys,
    clock = Date.now,
    quorum = ONE_APPROVER,
    escalateShare = 0,
    perAgent,
    alone,
    dispositions,
  }: Omit<ReviewStoreOptions, 'target'>,
): ReviewStore {
  const { db } = store;
  if (store.sqlite) overwriteDeleted(store.sqlite);
  const oneAtATime = createKeyedQueue();
  const sealing = reviewSealing(payloadKeys);
  const seen = new LRUCache<string, number>(roomFor(SEEN_REVIEWS));
  const listeners: Parameters<ReviewStore['onTampered']>[0][] = [];
  const escalations: Parameters<ReviewStore['onEscalated']>[0][] = [];
  const watchers: (() => void)[] = [];
  const changed = () => {
    for (const watcher of watchers) watcher();
  };

  // A version that was rolled back never existed: the stored row is not older than it.
  alone?.(() => seen.clear());

  const ask = askOf(store);
  const askSafely: Ask = (...of) => asked(() => ask(...of));
  const room = perAgent && waitingRoom({ ask: askSafely, clock, limits: perAgent, alone });

  const tenants = tenantStatesOver({ store, ask: askSafely, keys: payloadKeys, clock, dispositions });

  const stored = async (column: 'id' | 'correlation_id', value: string): Promise<Row | undefined> =>
    (await asked(() => ask(selectBy[column], value))).rows[0];

  async function read(
    column: 'id' | 'correlation_id',
    value: string,
    tenant: string | undefined,
  ): Promise<PendingRequest | null> {
    const row = await stored(column, value.toLowerCase());
    if (!row || (tenant !== undefined && row.tenant !== tenant)) return null;
    const holds = await held(row);
    return holds.withdrawn_at === null ? shown(holds, contentOf(holds, opened(holds))) : null;
  }

  const rowOf = async (id: string): Promise<Row | null> => {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const row = await stored('id', id);
      const known = row && (await checked(row));
      // Changed between two looks: then its content is not that of its columns.
      if (!known || Number(known.version) === Number(row?.version)) return known ?? null;
    }
    throw new GateError('store_unavailable', 'the review changes faster than it can be read');
  };

  /** Why the row is not Gate's own. A row whose key is missing can be neither shown nor decided, but does not count as tampered. */
  function faultIn(row: ReviewHead): string | null {
    try {
      return sealing.fault(row, seen.get(row.id));
    } catch (cause) {
      throw new GateError('payload_unavailable', undefined, { cause });
    }
  }

  /** The row, if it is what Gate wrote last; otherwise it is closed as `tampered` at once. */
  async function checked<Some extends ReviewHead>(row: Some): Promise<Some> {
    const why = faultIn(row);
    if (why === null) return remembered(row);
    // A read that overlaps a change may have seen an older row, so read once more.
    const again = await asked(() =>
      db.selectFrom('reviews').select(HEAD_COLUMNS).where('id', '=', row.id).executeTakeFirst(),
    );
    if (!again) return { ...row, status: 'tampered' };
    if (faultIn(again) === null) return remembered({ ...row, ...again });
    const to = { status: 'tampered' as const, withdrawn_at: null, purged: null, ...tamperedDates(clock()) };
    const closed = sealing.changed(again, to, seen.get(row.id));
    const told = { ...closed, change_seq: nextChange(store.kind) };
    await asked(() => db.updateTable('reviews').set(told).where('id', '=', row.id).execute());
    changed();
    for (const listener of listeners) listener(again, why);
    return remembered({ ...row, ...again, ...closed });
  }
  const remembered = <Some extends ReviewHead>(row: Some): Some => {
    seen.set(row.id, Math.max(Number(row.version), seen.get(row.id) ?? 0));
    return row;
  };
  /** For lists: a row whose key is missing hides no other. */
  const checkedForList = <Some extends ReviewHead>(row: Some): Promise<Some> =>
    checked(row).catch((error: unknown): Some => {
      if (error instanceof GateError && error.code === 'payload_unavailable') return { ...row, status: 'tampered' };
      throw error;
    });
  async function headsOf(ids: readonly string[]): Promise<ReviewHead[]> {
    if (ids.length === 0) return [];
    const rows = await asked(() =>
      db
        .selectFrom('reviews')
        .select(HEAD_COLUMNS)
        .where('id', 'in', [...ids])
        .execute(),
    );
    const byId = new Map(rows.map((row) => [row.id, row]));
    return Promise.all(ids.flatMap((id) => byId.get(id) ?? []).map(checkedForList));
  }
  /** The same, but throws `review_tampered` for a tampered row. */
  async function held<Some extends ReviewHead>(row: Some): Promise<Some> {
    const known = await checked(row);
    if (known.status === 'tampered') throw new GateError('review_tampered');
    return known;
  }

  /**
   * Changes the row if it is still the one that was read, and its key with it: another one, or none any more. False when somebody else
   * changed the row first.
   */
  async function change(
    row: Row,
    to: Partial<StoredReview>,
    { key, also = [], quiet = false }: RowChange = {},
  ): Promise<boolean> {
    const sealed = sealing.changed(row, to);
    const update = db
      .updateTable('reviews')
      .set({ ...sealed, ...(!quiet && { change_seq: nextChange(store.kind) }) })
      .where('id', '=', row.id)
      .where('version', '=', row.version)
      // The MAC does not cover this column: check that no newer attempt has taken over the row.
      .where('attempt_ms', row.attempt_ms === null ? 'is' : '=', row.attempt_ms);
    const keyed = key === undefined ? [] : [forgetKey(row.id), ...(key === null ? [] : [keepKey(row.id, key)])];
    const more = [...keyed, ...also];
    const changedIt = await asked(async () =>
      more.length === 0
        ? (await update.executeTakeFirst()).numUpdatedRows === 1n
        : writeTogether(store, [update, ...more]),
    );
    if (!changedIt) return false;
    room?.changed(row);
    remembered({ ...row, ...sealed });
    if (!quiet) changed();
    return true;
  }
  /** Deletes the row if it is still the one that was read. */
  async function remove(row: Row, also: readonly Compilable[]): Promise<boolean> {
    const deletion = db.deleteFrom('reviews').where('id', '=', row.id).where('version', '=', row.version);
    if (!(await asked(() => writeTogether(store, [deletion, forgetKey(row.id), ...also])))) return false;
    room?.changed(row);
    seen.delete(row.id);
    return true;
  }
  const retention = reviewRetention({ store, ask: askSafely, clock, rowOf, change, remove });
  const keepKey = (id: string, wrapped: Uint8Array): Ready => ({ of: insertKey, values: [id, wrapped] });
  const forgetKey = (id: string) => db.deleteFrom('review_keys').where('review_id', '=', id);

  /** The request; `null` once it went at its date. */
  function opened(row: Row): JsonObject | null {
    let payload: JsonObject;
    if (row.purged !== null) return null;
    try {
      if (row.payload === null) throw new Error('the payload is gone');
      payload = JSON.parse(sealing.openPayload(row.payload, row).toString('utf8')) as JsonObject;
    } catch (cause) {
      throw new GateError('payload_unavailable', undefined, { cause });
    }
    // What is shown must match the digest that is signed, and later compared with what would run.
    if (canonicalDigest(payload) !== row.original_payload_digest) throw new GateError('review_tampered');
    return payload;
  }

  /** What the sandbox said, if the row is Gate's own and the report the row's. */
  function reportOf(row: Listed): SandboxReport | null {
    if (row.status === 'tampered' || row.sandbox_report === null) return null;
    const { sandbox_report_digest: digest = null } = JSON.parse(row.annotations) as Annotations;
    return digest === null ? null : sealing.openReport(row.sandbox_report, row, digest);
  }

  const contentOf = (row: Row, payload: JsonObject | null): Content => ({
    payload,
    report: reportOf(row),
    diff: row.status === 'tampered' ? null : sealing.openDiff(row.settled, row),
  });
  const shown = (row: Row, content: Content, now = clock()): PendingRequest => view(row, content, now);

  /** For lists: one unreadable payload must not block the others. */
  function viewAnyway(row: Row): PendingRequest {
    const now = clock();
    try {
      return shown(row, contentOf(row, opened(row)), now);
    } catch {
      return shown(row, contentOf(row, null), now);
    }
  }

  /** The settlement of a row as it was given. */
  function settledText(row: Row): string {
    const { modification, ...settled } = storedSettlement(row.settled ?? '');
    const diff = sealing.openDiff(row.settled, row);
    const { reviewed_digest } = modification ?? {};
    return canonicalJson({
      ...settled,
      ...(modification && { modification: { reviewed_digest, diff } }),
    } as JsonObject);
  }

  /** The stored form of a new review. Its `created_at` is the workflow's, so that row and timer share one deadline. */
  function newRow(review: NewReview): Row & { readonly data_key: Uint8Array } {
    const digest = `sha256:${sha256Hex(canonicalOr400('request_payload', review.request_payload))}`;
    // Sealed as received, not in canonical form, so that the approver sees the arguments in the agent's order.
    const payload = JSON.stringify(review.request_payload);
    const id = reviewIdOf(review.correlation_id);
    const { wrapped, ...seals } = sealing.newKey(id);
    const now = new Date(clock()).toISOString();
    const created_at = review.created_at ?? now;
    const deadlineMs = deadlineOf({ created_at, ttl_seconds: review.ttl_seconds });
    const report = review.sandbox_report ?? null;
    const annotations: Annotations = {
      review_reasons: review.review_reasons,
      brain_scores: review.brain_scores ?? null,
      projected_cost_micros: review.projected_cost_micros ?? null,
      callback_url: review.callback_url ?? null,
      sandbox_report: report && { operation_class: report.operation_class, severity: report.severity },
      sandbox_report_digest: report && canonicalDigest(report),
      policy_bundle_sha256: review.policy_bundle_sha256 ?? null,
      required_approvers: requiredApprovers(review, quorum),
      approvals: [],
      escalates_at: isoOrNull(escalationOf({ created_at, ttl_seconds: review.ttl_seconds }, escalateShare)),
    };
    return sealing.withMac({
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
      data_key: wrapped,
      payload: seals.sealPayload(payload),
      sandbox_report: report && seals.sealReport(report),
      payload_bytes: Buffer.byteLength(payload),
      payload_key_id: payloadKeys.activeKeyId,
      minimized_payload: JSON.stringify(minimizePayload(review.request_payload, digest)),
      protected_at: now,
      created_ms: Date.parse(created_at),
      deadline_ms: deadlineMs,
      ttl_seconds: review.ttl_seconds,
      status: 'pending',
      settled: null,
      withdrawn_at: null,
      ...retentionDates({ approval_tier: review.approval_tier ?? null }, deadlineMs),
      purged: null,
      hold: null,
      attempt_ms: review.attempt_ms ?? null,
      decided_ms: null,
      decided_by: null,
      modified: null,
      change_seq: null,
      version: 1,
      mac: null,
    });
  }

  async function create(
    review: NewReview,
    row: ReturnType<typeof newRow>,
  ): Promise<{ row: PendingRequest; created: boolean }> {
    const { data_key, ...columns } = row;
    const insert = { of: insertReview[store.kind], values: STORED_COLUMNS.map((column) => columns[column]) };
    // Row and key stand together: no request is without the key that can be taken from it.
    const content = { payload: review.request_payload, report: review.sandbox_report ?? null, diff: null };
    if (await asked(() => writeTogether(store, [insert, keepKey(row.id, data_key)]))) {
      room?.added(row);
      changed();
      return { row: shown(remembered(row), content), created: true };
    }
    const there = await stored('id', row.id);
    let first = there && (await held(there));
    if (first && first.withdrawn_at !== null && Number(first.created_ms) < Number(row.created_ms)) {
      // Whoever holds the row holds what it becomes.
      if (await change(first, { ...columns, hold: first.hold }, { key: data_key }))
        return { row: shown(row, content), created: true };
      first = await stored('id', row.id);
    }
    // The row now belongs to this attempt; an older attempt that fails later cannot withdraw it.
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
    const now = await stored('id', row.id);
    first = now && (await held(now));
    if (!first || first.withdrawn_at !== null)
      throw new GateError('not_pending', 'This review was withdrawn; its call was answered 503.');
    const standing = first;
    const same = (['original_payload_digest', 'agent_id', 'tenant'] as const).every(
      (field) => standing[field] === row[field],
    );
    if (!same) throw new GateError('pending_conflict');
    return { row: viewAnyway(standing), created: false };
  }

  async function withdraw(correlationId: string, attemptMs?: number): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const row = await stored('id', reviewIdOf(correlationId));
      // A row that Gate did not write is shown as tampered and cannot be decided. It stays for the investigation.
      if (!row || (await checked(row)).status === 'tampered') return;
      const known = await held(row);
      if (known.withdrawn_at !== null) return;
      if (!mayMove(known.status, null)) throw alreadyDecided(viewAnyway(known));
      if (attemptMs !== undefined && known.attempt_ms !== null && Number(known.attempt_ms) > attemptMs) return;
      const now = clock();
      const withdrawn = { withdrawn_at: new Date(now).toISOString(), ...retentionDates(known, now) };
      const gone = { ...withdrawn, payload: null, sandbox_report: null };
      if (await (known.hold === null ? change(known, gone, { key: null }) : change(known, withdrawn))) return;
    }
    throw new GateError('store_unavailable', 'the review changes faster than it can be withdrawn');
  }

  /**
   * The door may have been closed while the row was stored: either whoever closed it found the row, or this finds the door closed and takes the
   * row back.
   */
  async function whileOpen<Created extends { row: PendingRequest }>(created: Created): Promise<Created> {
    try {
      await tenants.assertOpen(created.row.tenant);
      return created;
    } catch (error) {
      await withdraw(created.row.correlation_id).catch(() => undefined);
      throw error;
    }
  }

  /** Adds to what a pending row shows; `add` returns `null` where it is there already. `null` for a row that is gone. */
  async function annotatePending(
    id: string,
    add: (told: Annotations) => Partial<Annotations> | null,
  ): Promise<{ row: PendingRequest; changed: boolean } | null> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const row = await stored('id', id);
      if (!row) return null;
      const known = await held(row);
      if (known.withdrawn_at !== null) return null;
      const told = JSON.parse(known.annotations) as Annotations;
      const added = known.status === 'pending' ? add(told) : null;
      if (added === null) return { row: viewAnyway(known), changed: false };
      const to = { annotations: JSON.stringify({ ...told, ...added } satisfies Annotations) };
      if (await change(known, to)) return { row: viewAnyway({ ...known, ...to }), changed: true };
    }
    throw new GateError('store_unavailable', 'the review changes faster than it can be written');
  }

  return {
    notices: noticeStoreOver(store, { keys: payloadKeys, clock }),
    chatLinks: chatLinkStoreOver(store, { keys: payloadKeys, clock }),
    changeSeal: changeSealOver({ sealing, rowOf }),

    async createOnce(review) {
      const row = newRow(review);
      await tenants.assertOpen(row.tenant);
      if (!room) return whileOpen(await create(review, row));
      // Counting and inserting are two statements, so concurrent creates of one agent must run one at a time.
      return oneAtATime(`${row.tenant}/${row.agent_id}`, async () => {
        const there = await stored('id', row.id);
        if (!there || there.withdrawn_at !== null) await room.assertFor(row);
        return whileOpen(await create(review, row));
      });
    },

    withdraw,

    async voted(id, approvals) {
      const written = await annotatePending(id, (told) =>
        isDeepStrictEqual(told.approvals ?? [], approvals) ? null : { approvals },
      );
      return written?.row ?? null;
    },

    async escalated(id, at) {
      const written = await annotatePending(id, (told) => (told.escalated_at == null ? { escalated_at: at } : null));
      if (written?.changed) for (const listener of escalations) listener(written.row);
    },
    onEscalated: (listener) => void escalations.push(listener),

    async note(id, tenant, write) {
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        const row = await stored('id', id.toLowerCase());
        if (!row || (tenant !== undefined && row.tenant !== tenant)) throw new GateError('not_found');
        const known = await held(row);
        if (known.withdrawn_at !== null) throw new GateError('not_found');
        const shown = viewAnyway(known);
        const told = JSON.parse(known.annotations) as Annotations;
        const noted: Annotations = { ...told, ...write(shown) };
        if (isDeepStrictEqual(noted, told)) return shown;
        const to = { annotations: JSON.stringify(noted) };
        if (await change(known, to)) return viewAnyway({ ...known, ...to });
      }
      throw new GateError('store_unavailable', 'the review changes faster than it can be written');
    },

    async settle({ request_id, approvals, modification, ...settled }) {
      const textWith = (change: Json | undefined) =>
        canonicalOr400('settlement', {
          ...settled,
          ...(request_id !== undefined && { request_id }),
          ...(approvals !== undefined && { approvals: approvals.map((given) => ({ ...given })) }),
          ...(change !== undefined && { modification: change }),
        });
      const text = textWith(modification);
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        const row = await stored('id', settled.pending_id);
        if (!row) throw new GateError('not_found');
        const known = await held(row);
        if (known.withdrawn_at !== null) throw new GateError('not_pending');
        if (known.settled !== null && settledText(known) === text) return viewAnyway(known);
        if (!mayMove(known.status, settled.status)) throw alreadyDecided(viewAnyway(known));
        const to = {
          status: settled.status,
          // The changed values are sealed like the call.
          settled:
            modification === undefined
              ? text
              : textWith({
                  reviewed_digest: modification.reviewed_digest,
                  sealed_diff: sealing.sealDiff(modification.diff, known),
                }),
          ...retentionDates(known, Date.parse(settled.decided_at)),
          decided_ms: Date.parse(settled.decided_at),
          decided_by: settled.decided_by.slice(0, MAX_INDEXED),
          modified: modification === undefined ? null : 1,
        };
        if (await change(known, to)) return viewAnyway({ ...known, ...to });
      }
      throw new GateError('store_unavailable', 'the review changes faster than it can be settled');
    },

    get: (id, tenant) => read('id', id, tenant),
    byCorrelation: (correlationId, tenant) => read('correlation_id', correlationId, tenant),
    sinceLast: sinceLast({
      ask: askSafely,
      async opened(id, form) {
        const row = await rowOf(id);
        if (!row || row.withdrawn_at !== null) return null;
        return form === 'whole' ? viewAnyway(row) : view(row, NO_CONTENT, clock(), 'summary');
      },
    }),

    async list({ tenant, status = 'pending', limit = 200, before, agent_id, sort = 'newest' }) {
      const [behind, direction] = sort === 'newest' ? (['<', 'desc'] as const) : (['>', 'asc'] as const);
      const now = clock();
      const forsaken = now - FORSAKEN_AFTER_MS;
      const tenants = typeof tenant === 'string' ? [tenant] : tenant;
      const statuses = typeof status === 'string' ? [status] : status;
      let page = db
        .selectFrom('reviews')
        .leftJoin('review_keys', 'review_id', 'id')
        .select([...LISTED_COLUMNS, 'wrapped as data_key'])
        .where('tenant', 'in', [...tenants])
        .where('withdrawn_at', 'is', null)
        .where((where) =>
          where.or(
            statuses.flatMap((one) => {
              if (one === 'pending')
                return [where.and([where('status', 'in', [one, 'tampered']), where('deadline_ms', '>', forsaken)])];
              const written = where('status', '=', one);
              return one === 'expired'
                ? [written, where.and([where('status', '=', 'pending'), where('deadline_ms', '<=', forsaken)])]
                : [written];
            }),
          ),
        );
      if (agent_id !== undefined) page = page.where('agent_id', '=', agent_id);
      if (before !== undefined) {
        // A withdrawn row still has its place in the order.
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
      const rows = await Promise.all(found.slice(0, limit).map(checkedForList));
      return {
        rows: rows.map((row): ListedReview => {
          const content = { ...NO_CONTENT, report: reportOf(row) };
          return { ...view(row, content, now, 'summary'), payload_summary: true };
        }),
        next_before: rows.length < found.length ? (rows.at(-1)?.id ?? null) : null,
      };
    },

    summaries: reviewSummaries({ ask: askSafely, keys: payloadKeys, clock, heads: headsOf }),

    changes: () => reviewChanges({ ask: askSafely, kind: store.kind, clock, heads: headsOf }),
    onChange: (listener) => void watchers.push(listener),

    stats: reviewStats({ ask: askSafely, clock }),

    async backlog() {
      const { rows } = await askSafely(selectBacklog, clock() - FORSAKEN_AFTER_MS);
      const { count = 0, oldest = null } = rows[0] ?? {};
      return { pending: Number(count), oldest_created_ms: oldest === null ? null : Number(oldest) };
    },

    onTampered: (listener) => void listeners.push(listener),

    sweep: () => asked(retention.sweep),

    hold: legalHolds({ db, keys: payloadKeys, clock, asked, rowOf, change, retention }),

    assertOpen: tenants.assertOpen,
    async assertRoom({ tenant, agent_id, request_payload }) {
      await room?.assertFor({ tenant, agent_id, payload_bytes: Buffer.byteLength(JSON.stringify(request_payload)) });
    },
    tenants: tenants.states,
    erase: (rows, trigger, untilMs) => asked(() => retention.erase(rows, trigger, untilMs)),
    async operatorRows(tenant) {
      const { rows } = await askSafely(COUNT_OPERATOR_ROWS, tenant);
      return Number(rows[0]?.count ?? 0);
    },
    passkeys: passkeyStore({ store, keys: payloadKeys, asked, alone }),

    async ready() {
      await assertWritable(store.sqlite).catch((cause: unknown) => {
        throw new GateError('store_unavailable', errorText(cause), { cause });
      });
      await asked(() => db.selectFrom('reviews').select('id').limit(1).execute());
    },

    close: () => store.close(),
  };
}

/** The port over a store in the same process. */
export const reviewsOf = (store: ReviewStore, decideByRule: RuleDecision): Reviews => ({
  decideByRule,
  createOnce: async (review) => (await store.createOnce(review)).row,
  byCorrelation: (correlationId, tenant) => store.byCorrelation(correlationId, tenant),
  withdraw: (correlationId, attemptMs) => store.withdraw(correlationId, attemptMs),
  settle: (settled) => store.settle(settled),
  escalated: (id, at) => store.escalated(id, at),
  assertOpen: (tenant) => store.assertOpen(tenant),
  openedChange: (id, sealed) => store.changeSeal.opened(id, sealed),
  onTampered: (listener) => store.onTampered(listener),
});

const isoOrNull = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

/** `already_decided` with the row's state (docs/architecture/reviews.md#decisions). */
const alreadyDecided = ({ status, decided_by, decided_at }: PendingRequest): GateError =>
  new GateError('already_decided', undefined, { fields: { status, decided_by, decided_at } });

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
