import { setImmediate as turn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { CallInput, CallState, ReachedRecord } from '../../contracts/call.js';
import type { HeldRows } from '../../contracts/ledger.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { GateError } from '../../domain/errors.js';
import { callCount } from '../../domain/mcp/batch.js';
import type { Store } from '../store/database.js';
import { all, get, type Job, type Jobs, run } from '../store/jobs.js';
import { askedAtOnce, contradictionOf, idsAgainst } from '../../domain/call/contradiction.js';
import type { KeptCalls } from '../../domain/call/kept-calls.js';
import { keptRequests, type OpenedRequest } from '../../domain/call/kept-requests.js';
import { profileJobs } from './agent-profiles.js';
import { decoyHitJobs } from './decoy-hits.js';
import { grantUseJobs } from './grant-uses.js';
import { createRecordNotifier } from './notifier.js';
import { HANDED_MS, type StoppedCalls } from '../../domain/call/at-stop.js';
import {
  type CallRecord,
  escalatedAt,
  escalationDue,
  NotAsStaged,
  type VerdictEvidence,
} from '../../domain/call/record.js';
import { agentFlows } from './agent-flows.js';
import { type AgentLimits, type FlowOwner, type FlowSettings, NO_TRUST } from '../../domain/information-flow/flow.js';
import { type SetbackTables, setbacksOver } from './setbacks.js';
import {
  historyOf,
  newestSteps,
  type OpenedRecord,
  type ReadRecord,
  recordAfter,
  recordOf,
  recordSealing,
  type RecordRow,
  stepsOf,
} from '../../domain/call/sealed-record.js';
import {
  dropSpendCalls,
  dropSpendTotals,
  holdsSpend,
  NotBorne,
  openSpend,
  overBudget,
  paySpend,
  reserveSpend,
  settleSpend,
  settleUnjudged,
  type SpendRow,
  spentBy,
  spentByAgents,
} from './spend.js';
import * as statements from './statements.js';
import { costOf, ONLY_PAID } from '../../domain/call/cost.js';
import { monthOf } from '../../domain/spend/spend.js';
import { CALL_MOVES, type CallMove, OPEN_STATES, TAMPERED } from '../../domain/call/transitions.js';
import { reconciledOutcome } from '../../domain/call/reconciliation.js';
import { WALK_START, type WalkPlace } from '../../domain/call/walk.js';
import type { Admission, CallStore, DueCall, FollowUp, MovePatch, OpenCall } from '../../domain/call/ports.js';
import { roomFor } from '../../domain/room-for.js';

export interface StoredCallsOptions {
  readonly jobs: Jobs;
  readonly setbacks: Store<SetbackTables>;
  readonly keys: KeyRing;
  readonly kept: KeptCalls;
  readonly replica: string;
  readonly now?: (() => number) | undefined;
  readonly ledger?: HeldRows | undefined;
  /** What is trusted of what agents read. */
  readonly flows?: FlowSettings | undefined;
  readonly onTooManyAnswers?: ((owner: FlowOwner) => void) | undefined;
  readonly flowLimits?: AgentLimits | undefined;
  /** What the database's clock says; absent where it has none of its own. */
  readonly clockMs?: (() => Promise<number | null>) | undefined;
  /** How long the ledger's answer about an open call is valid; as long as it is remembered, if nobody else moves calls. */
  readonly vouchedMs?: number;
  /** For a store that may roll back committed state: `forget` must be called when it does. */
  readonly onUndone?: (forget: () => void) => void;
  /** Awaited after a purge that deleted records or requests. */
  readonly onPurged?: () => Promise<unknown>;
}

/** The number of calls whose versions, and whose check against the ledger, each process remembers. */
const SEEN_RECORDS = 50_000;
/** How often a verdict's insert is tried when neither the insert nor the read after it finds a record. */
const ATTEMPTS = 5;
/** Records that a walk opens before it lets others run: each takes about half a millisecond. */
const OPENED_AT_ONCE = 8;
/** A purged call is remembered for twelve times its record's retention: a year where records live thirty days. */
const TOMBSTONE_LIVES = 12;
/** The time up to which tombstones may be deleted, from the time up to which records may. */
const tombstonesUntil = (recordsMs: number, nowMs: number): number =>
  Math.min(recordsMs, nowMs) - TOMBSTONE_LIVES * Math.max(0, nowMs - recordsMs);

/**
 * Moves with an outside effect that a rolled-back record would not know of: the tool is called, the next of a batch is, a callback is sent. A decision is on disk
 * with its review row, and its run waits for that.
 */
const IRREVOCABLE: ReadonlySet<CallMove> = new Set<CallMove>(['claim', 'step', 'expire']);

/** Seconds until the blocking hit leaves the window; the whole window if waiting for hits would not help. */
const secondsUntilGone = (hitMs: number | undefined, windowMs: number, atMs: number): number =>
  Math.max(1, Math.ceil(((hitMs ?? atMs) + windowMs - atMs) / 1000));

const agentKey = ({ tenant, agent }: { readonly tenant: string; readonly agent: string }) => `${tenant}/${agent}`;

/** Whether this is the record that a step left, and not an earlier or later one of its call. */
const isOf = ({ record }: OpenedRecord, reached: ReachedRecord | undefined): boolean =>
  reached?.version !== undefined && record.version === reached.version && record.updated_ms === reached.updated_ms;

/** The result of a read or a move: the record that stands now, and whether this job closed it. */
interface Looked {
  readonly opened: OpenedRecord;
  readonly closed: boolean;
  /** Keeps in memory what the call's answer brought in. */
  readonly answered?: () => void;
  /** Since when the call counts in its agent's history, and which tools of a batch do. */
  readonly counts?: {
    readonly at: number;
    readonly tools: readonly string[] | undefined;
    readonly learned: () => void;
  };
}

/** `CallStore` as jobs over any one store (`adapters/store/jobs.ts`). */
export function storedCalls({
  jobs,
  setbacks,
  keys,
  kept,
  replica,
  now = Date.now,
  ledger,
  flows: flowSettings = NO_TRUST,
  onTooManyAnswers,
  flowLimits,
  clockMs = () => Promise.resolve(null),
  vouchedMs,
  onUndone,
  onPurged,
}: StoredCallsOptions): CallStore {
  const sealing = recordSealing(keys);
  const seen = new LRUCache<string, number>(roomFor(SEEN_RECORDS));
  /** Calls that began in this process, or about which the ledger was asked a moment ago. */
  const vouched = new LRUCache<string, true>({
    ...roomFor(SEEN_RECORDS),
    ...(vouchedMs !== undefined && { ttl: vouchedMs }),
  });
  const asked = ledger && askedAtOnce(ledger);
  const requests = keptRequests();
  const flows = agentFlows({
    jobs,
    keys,
    settings: flowSettings,
    now,
    alone: kept.alone,
    onTooMany: onTooManyAnswers,
    limits: flowLimits,
  });
  const profiles = profileJobs(keys, kept.alone);
  const decoyHits = decoyHitJobs();
  const grants = grantUseJobs(keys);
  const listeners: ((record: CallRecord) => void)[] = [];
  const moves: ((record: CallRecord) => void)[] = [];
  onUndone?.(() => {
    kept.clear(true);
    seen.clear();
    vouched.clear();
    requests.clear();
    flows.forget();
    profiles.forget();
  });

  const atLeast = (id: string) => seen.get(id) ?? 0;
  /** Only committed versions are remembered; a version that was rolled back never existed. */
  const remember = (opened: OpenedRecord): CallRecord => {
    const { correlation_id: id, version } = opened.record;
    seen.set(id, Math.max(version, atLeast(id)));
    kept.hold(opened);
    return opened.record;
  };
  const changed = (opened: OpenedRecord): CallRecord => {
    const record = remember(opened);
    for (const listener of moves) listener(record);
    notifier.changed(record);
    return record;
  };
  const told = (opened: OpenedRecord): CallRecord => {
    const { record } = opened;
    kept.drop(record.correlation_id);
    remember(opened);
    requests.forget(record.correlation_id);
    for (const listener of [...listeners, ...moves]) listener(record);
    notifier.changed(record);
    return record;
  };

  /** Closes the row; `told` informs the listeners once that is committed. */
  function* close(row: RecordRow, why: string): Job<Looked> {
    const closed = sealing.condemned(row, why, now(), atLeast(row.correlation_id));
    yield* run(statements.condemnRecord, ...statements.CONDEMNED.map((column) => closed[column]), row.correlation_id);
    const again = sealing.read(closed);
    if (again.fault !== undefined) throw new Error(again.fault);
    yield* settled(again.record);
    return { opened: again, closed: true };
  }

  /** What a call cost that has ended with this record: counted with it, and what it reserved given back. */
  function* settled(record: CallRecord): Job<void> {
    const { call } = record.evidence;
    const cost = costOf(record);
    if (cost !== null && call.spend)
      yield* settleSpend({ ...call, month: call.spend.month }, cost, call.not_after_ms, now());
  }

  /** Reads the row again with no move at the same time: a read that overlaps a move may have seen an older row. */
  const closeUnlessHolds = (correlationId: string, forWhy?: string, version?: number): Promise<CallRecord | null> =>
    jobs.write(
      function* (): Job<Looked | null> {
        const row = yield* get(statements.selectRecord, correlationId);
        if (!row) return null;
        const read = sealing.read(row, atLeast(correlationId));
        if (read.fault !== undefined) return yield* close(row, read.fault);
        const { record } = read;
        const moved = version !== undefined && record.version !== version;
        if (forWhy === undefined || moved || record.state === TAMPERED) return { opened: read, closed: false };
        return yield* close(row, forWhy);
      },
      (looked) => looked && (looked.closed ? told : remember)(looked.opened),
    );

  const find = async (correlationId: string, reached?: ReachedRecord): Promise<CallRecord | null> => {
    const known = kept.record(correlationId);
    if (known && isOf(known, reached)) return known.record;
    if (known && kept.alone) return unlessPutBack(known.record);
    const read = await jobs.read(
      () => get(statements.selectRecord, correlationId),
      (row): ReadRecord | null => {
        const opened = row ? sealing.read(row, atLeast(correlationId)) : null;
        if (opened && opened.fault === undefined) remember(opened);
        return opened;
      },
    );
    if (!read) return null;
    return read.fault === undefined ? unlessPutBack(read.record) : closeUnlessHolds(correlationId);
  };
  /** The ledger is asked about each open record that this process did not write just now. */
  async function unlessPutBack(record: CallRecord): Promise<CallRecord | null> {
    const { correlation_id: id, version } = record;
    const against = asked && !vouched.has(id) ? idsAgainst(record) : [];
    const held = asked && against.length > 0 ? await asked(against) : null;
    if (!held) return record;
    const why = contradictionOf(record, held);
    if (why !== null) return closeUnlessHolds(id, why, version);
    vouched.set(id, true);
    return record;
  }
  const notifier = createRecordNotifier(find);

  function* keepSensitive({ call, decision }: VerdictEvidence, atMs: number): Job<void> {
    for (const tool of decision?.sensitive_tools ?? [])
      yield* run(statements.keepSensitive, call.tenant, call.agent, tool, atMs);
  }
  /** Of a batch only what ran as a whole: otherwise it is not certain which of its calls did. */
  function* learn(evidence: VerdictEvidence, atMs: number, ran?: readonly string[]): Job<() => void> {
    const { call, observed, verdict } = evidence;
    const isTaught = observed && verdict?.would === null && (ran === undefined || ran.length === observed.length);
    return isTaught ? yield* profiles.learn(call.tenant, call.agent, observed, atMs) : nothing;
  }
  const countSteps = (
    { call, sibling_tools: siblings }: VerdictEvidence,
    countedMs: number,
    tools: readonly string[] | undefined = siblings,
  ) => kept.counted(agentKey(call), stepsOf(call.tool, tools, countedMs, replica));

  /**
   * True for the first refusal within the window: one ledger row then, not one per refusal
   * (docs/architecture/record-and-claim.md#velocity).
   */
  function* markRefused(key: string, atMs: number, since: number): Job<boolean> {
    const marker = `refused:${key}`;
    const { count } = (yield* get(statements.countHits, marker, since)) ?? { count: 0 };
    if (Number(count) > 0) return false;
    yield* run(statements.insertHits(1), marker, atMs, '');
    return true;
  }

  /** Moves a record that was opened, if the row is still that one. */
  function* movedFrom(
    known: OpenedRecord,
    move: CallMove,
    given: MovePatch,
  ): Job<(Looked & { applied: true }) | 'no such move' | 'moved elsewhere'> {
    const { record, authenticated } = known;
    const { evidence } = record;
    if (move === 'escalate' && escalationDue(record) !== given.escalated?.due_ms) return 'no such move';
    const patch = withAdded(given, record, move, now());
    const updated = sealing.moved(authenticated, move, patch, now());
    if (updated === null) return 'no such move';
    const columns = Object.entries(updated);
    const changes = yield* run(
      statements.moveRecord(columns.map(([column]) => column)),
      ...columns.map(([, value]) => value),
      record.correlation_id,
      record.state,
      record.version,
      record.updated_ms,
    );
    if (changes !== 1) return 'moved elsewhere';
    const answered = patch.flow ? yield* flows.keep(evidence.call, record.correlation_id, patch.flow) : nothing;
    const { counted_ms: counted, counted_tools: tools } = patch;
    // What an approver changed is not what the agent asked for.
    const isOwn = !(patch.decision ?? record.decision)?.changed;
    if (counted !== undefined) yield* keepSensitive(evidence, counted);
    const learned = counted !== undefined && isOwn ? yield* learn(evidence, counted, tools) : nothing;
    const opened = recordAfter(known, updated, patch);
    yield* settled(opened.record);
    return {
      opened,
      applied: true,
      closed: false,
      answered,
      ...(counted !== undefined && { counts: { at: counted, tools, learned } }),
    };
  }

  /** The hits in the agent's window including this call's, or why it is refused. */
  function* counted(
    call: CallInput,
    weight: number,
    { limit, windowMs }: { readonly limit: number; readonly windowMs: number },
  ): Job<number | Extract<Admission, { admitted: false }>> {
    const key = agentKey(call);
    const atMs = call.received_ms;
    const since = atMs - windowMs;
    // Replicas count an agent's calls one after the other.
    yield* jobs.alone(key);
    // Hits from before the clock was set back would count for as long as it was set back.
    yield* run(statements.dropHits, key, atMs + windowMs);
    const { count } = (yield* get(statements.countHits, key, since)) ?? { count: 0 };
    const recent = Number(count) + weight;
    if (recent > limit) {
      const inTheWay = yield* get(statements.selectHit, key, since, recent - limit - 1);
      const retryAfterSecs = secondsUntilGone(inTheWay && Number(inTheWay.at_ms), windowMs, atMs);
      return { admitted: false, retryAfterSecs, first: yield* markRefused(key, atMs, since) };
    }
    const hits = Array.from({ length: weight }, () => [key, atMs, call.correlation_id]);
    yield* run(statements.insertHits(weight), ...hits.flat());
    return recent;
  }

  const dueCalls = (what: 'rows' | FollowUp, sinceMs: number, limit: number, { ms, id }: WalkPlace) =>
    jobs.read(
      () => all(statements.selectDue[what], sinceMs, ms, id, limit),
      (rows): DueCall[] => rows.map(({ correlation_id, due_ms }) => ({ correlation_id, due_ms: Number(due_ms) })),
    );

  /** Continues until it has found as many valid open calls as asked for, so that an invalid one does not end a walk. */
  async function openCalls(untouchedSinceMs: number, limit: number, from: WalkPlace = WALK_START): Promise<OpenCall[]> {
    const open: OpenCall[] = [];
    for (let after = from; open.length < limit; ) {
      const { ms, id } = after;
      const rows = await jobs.read(
        () => all(statements.selectOpen, untouchedSinceMs, ms, id, limit),
        (found) => found,
      );
      for (const [at, row] of rows.entries()) {
        // A file answers at once: without this, calls would wait until the last of them was opened.
        if (at % OPENED_AT_ONCE === OPENED_AT_ONCE - 1) await turn();
        const { correlation_id, state, deadline_ms, updated_ms } = await find(row.correlation_id).then(
          (record) => record ?? row,
          // Its key is missing: reconciliation reports that, and other calls go on.
          () => row,
        );
        after = { ms: Number(row.updated_ms), id: correlation_id };
        if (!(OPEN_STATES as readonly CallState[]).includes(state) || open.length === limit) continue;
        const deadlineMs = deadline_ms === null ? null : Number(deadline_ms);
        open.push({ correlation_id, state, deadline_ms: deadlineMs, updated_ms: Number(updated_ms) });
      }
      if (rows.length < limit) break;
    }
    return open;
  }

  /** What a call reserved that came to no end that says what it cost: its process died, or it was refused for now. */
  async function settleLost(row: SpendRow): Promise<boolean> {
    const record = await find(row.correlation_id);
    const cost = record && costOf(record);
    if (record && (OPEN_STATES as readonly CallState[]).includes(record.state) && cost === null) return false;
    return jobs
      .write(
        function* (): Job<boolean> {
          // Of one whose run was told nothing of its costs, all is counted that was reserved.
          const all = { inspectedMicros: Number(row.reserved), ranMicros: 0 };
          if (record) return yield* settleSpend(row, cost ?? all, record.not_after_ms, now());
          // Asked for again since it was listed, it has another run.
          if (!(yield* settleSpend(row, ONLY_PAID, now(), now(), row.not_after_ms))) return false;
          // Its verdict came before its row was taken hold of; one that comes from here on finds that it has nothing reserved.
          if (yield* get(statements.selectRecord, row.correlation_id)) throw new JudgedMeanwhile();
          return true;
        },
        (isSettled) => isSettled,
      )
      .catch((error: unknown) => {
        if (error instanceof JudgedMeanwhile) return false;
        throw error;
      });
  }

  async function openSince({ tenant, agent, tool }: StoppedCalls, sinceMs: number, most: number) {
    const named = [agent ?? '', agent ?? '', tool ?? '', tool ?? ''];
    const open = [tenant, sinceMs - HANDED_MS, ...named];
    const ended = [tenant, sinceMs, ...named];
    const ids = await jobs.read(
      function* () {
        // The open ones first: one that ends in between is among those that ended, and is taken once.
        const first = yield* all(statements.selectOpenOf, ...open, most + 1);
        return [...first, ...(yield* all(statements.selectEndedOf, ...ended, most + 1))];
      },
      (rows) => [...new Set(rows.map(({ correlation_id: id }) => id))],
    );
    const records: CallRecord[] = [];
    let unread = 0;
    for (const id of ids.slice(0, most)) {
      // One that cannot be read is not left out in silence.
      const record = await find(id).catch(() => null);
      if (record === null) unread += 1;
      else if (tool === null || [record.evidence.call.tool, ...(record.evidence.sibling_tools ?? [])].includes(tool))
        records.push(record);
    }
    if (ids.length <= most) return { records, leftOut: unread };
    const total = await jobs.read(
      function* () {
        const counts = [yield* get(statements.countOpenOf, ...open), yield* get(statements.countEndedOf, ...ended)];
        return counts.reduce((sum, row) => sum + Number(row?.count ?? 0), 0);
      },
      (sum) => sum,
    );
    return { records, leftOut: Math.max(0, total - most) + unread };
  }

  const atTool = (tenant: string): Promise<string | null> =>
    jobs.read(
      () => get(statements.selectAtTool, tenant, now() - HANDED_MS),
      (row) => row?.correlation_id ?? null,
    );

  async function requested(correlationId: string, digest: string): Promise<OpenedRequest | NotAsStaged | null> {
    const known = requests.get(correlationId, digest);
    if (known) return known;
    return jobs.read(
      () => get(statements.selectRequest, correlationId),
      (row) => {
        if (!row) return null;
        const request = sealing.openRequest(row.sealed, correlationId, digest);
        if (request instanceof NotAsStaged) return request;
        const opened = { request, inspection: sealing.openInspection(row.inspection_sealed, correlationId, digest) };
        requests.keep(correlationId, digest, opened, row.sealed.byteLength);
        return opened;
      },
    );
  }

  return {
    setbacks: setbacksOver(setbacks),

    admit: (call, request, window, asked) =>
      jobs
        .write(
          function* (): Job<{ admission: Admission; bytes: number; inspection: Uint8Array | null }> {
            const { correlation_id: id, tenant, agent, digest, received_ms } = call;
            const purged = yield* get(statements.selectTombstone, id);
            if (purged)
              return {
                admission: { admitted: false, purged: true, digest: purged.digest },
                bytes: 0,
                inspection: null,
              };
            let recent = 0;
            if (window.limit > 0) {
              const hits = yield* counted(call, callCount(call.method, request.body), window);
              if (typeof hits !== 'number') return { admission: hits, bytes: 0, inspection: null };
              recent = hits;
            }
            // Replicas count an agent's uses one after the other.
            if (call.grant) yield* jobs.alone(agentKey(call));
            const used = call.grant && (yield* grants.fitting(call, call.grant, callCount(call.method, request.body)));
            if (used === null) return { admission: { admitted: false, exhausted: true }, bytes: 0, inspection: null };
            if (used) yield* used();
            const sealed = sealing.sealRequest(request, id, digest);
            const staged = yield* get(statements.stageRequest, id, tenant, agent, digest, sealed, received_ms);
            if (call.decoy && staged?.digest === digest) yield* decoyHits.counted(call, call.decoy);
            // Of a request under an id that has another one nothing is reserved.
            const spend = asked && staged?.digest === digest ? yield* reserveSpend(call, asked, now()) : null;
            return {
              admission: {
                admitted: true,
                recent,
                digest: staged?.digest ?? '',
                ...(spend && { spend }),
              },
              bytes: sealed.byteLength,
              inspection: staged?.inspection_sealed ?? null,
            };
          },
          ({ admission, bytes, inspection }) => {
            const { correlation_id: id, digest } = call;
            if (admission.admitted && admission.digest === digest)
              requests.keep(id, digest, { request, inspection: sealing.openInspection(inspection, id, digest) }, bytes);
            return admission;
          },
          // The commit of the verdict, later on the same log, makes the staged request durable with it.
          { durable: false },
        )
        .catch((error: unknown): Admission => {
          if (error instanceof NotBorne) return { admitted: false, over: error.over };
          throw error;
        }),

    grantUsesUntold: (most) =>
      jobs.read(
        () => grants.untold(most),
        (found) => found,
      ),
    grantUsesTold: (told) => jobs.write(() => grants.told(told), nothing, { durable: false }),

    decoyHitsUntold: (most) =>
      jobs.read(
        () => decoyHits.untold(most),
        (found) => found,
      ),
    decoyTouched: (call, decoy) => jobs.write(() => decoyHits.counted(call, decoy), nothing, { durable: false }),
    decoyHitsTold: (told) => jobs.write(() => decoyHits.told(told), nothing, { durable: false }),
    async forgetDecoyHits(tenant) {
      await jobs.write(() => decoyHits.forgotten(tenant), nothing);
      await onPurged?.();
    },

    request: (correlationId, digest) =>
      requested(correlationId, digest).then((opened) =>
        opened instanceof NotAsStaged ? opened : (opened?.request ?? null),
      ),

    inspection: (correlationId, digest) =>
      requested(correlationId, digest).then((opened) =>
        opened instanceof NotAsStaged ? opened : (opened?.inspection ?? null),
      ),

    keepInspection(call, found) {
      const { correlation_id: id, digest } = call;
      return jobs.write(
        function* (): Job<void> {
          // In the order in which a call is admitted, so that nobody waits for one who waits for him.
          yield* run(statements.keepInspection, sealing.sealInspection(found, id, digest), id, digest);
          yield* paySpend(call, found.inspection.cost_micros, now());
        },
        () => requests.inspected(id, digest, found),
        { onDisk: true },
      );
    },

    find,

    async commitVerdict(state, evidence, outcome) {
      const { correlation_id: id } = evidence.call;
      const begun = sealing.newRecord(state, evidence, outcome, now());
      const { row } = begun;
      for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
        const made = await jobs.write(
          function* (): Job<(() => void) | null> {
            const values = statements.INSERTED.map((column) => row[column]);
            if ((yield* run(statements.insertRecord, ...values)) !== 1) return null;
            if ((state === 'decided' || state === 'allowed') && !(yield* holdsSpend(evidence.call)))
              throw new GateError('store_unavailable', 'what the call reserved was given back before its verdict came');
            yield* settled(recordOf(begun, evidence, outcome).record);
            if (row.counted_ms === null) return nothing;
            yield* keepSensitive(evidence, row.counted_ms);
            return yield* learn(evidence, row.counted_ms);
          },
          (learned) => {
            if (!learned) return null;
            if (row.counted_ms !== null) countSteps(evidence, row.counted_ms);
            learned();
            vouched.set(id, true);
            return (state === TAMPERED ? told : changed)(recordOf(begun, evidence, outcome));
          },
        );
        const stands = made ?? (await find(id));
        if (stands) return stands;
        // The conflicting record was taken back before it was read: the place is free.
      }
      throw new GateError('store_unavailable', 'the store takes no record of this call, and shows none');
    },

    async move(correlationId, move, patch = {}) {
      if (asked && !vouched.has(correlationId)) await find(correlationId);
      const moved = await jobs.write(
        function* (): Job<(Looked & { applied: boolean }) | 'gone' | 'moved elsewhere'> {
          const least = Math.max(atLeast(correlationId), patch.version ?? 0);
          const known = kept.record(correlationId);
          if (known && known.record.version >= least) {
            const made = yield* movedFrom(known, move, patch);
            if (typeof made !== 'string') return made;
            if (made === 'no such move' && kept.alone) return { opened: known, applied: false, closed: false };
          }
          // The record that this process left is not the stored one, or does not allow the move.
          const row = yield* get(statements.selectRecord, correlationId);
          if (!row) return 'gone';
          const read = sealing.read(row, least);
          if (read.fault !== undefined) return { ...(yield* close(row, read.fault)), applied: false };
          const made = yield* movedFrom(read, move, patch);
          return made === 'no such move' ? { opened: read, applied: false, closed: false } : made;
        },
        (result) => {
          if (typeof result === 'string') {
            // Another process writes here, so what memory holds of the record cannot be trusted.
            kept.drop(correlationId);
            return null;
          }
          const { opened, applied, closed, counts, answered } = result;
          if (applied) answered?.();
          if (applied && counts) {
            countSteps(opened.record.evidence, counts.at, counts.tools);
            counts.learned();
          }
          if (applied && patch.result) kept.holdResult(correlationId, patch.result);
          return { applied, record: (closed ? told : changed)(opened) };
        },
        { onDisk: IRREVOCABLE.has(move) },
      );
      if (moved) return moved;
      const record = await find(correlationId);
      if (!record) throw new GateError('not_found', `no call record ${correlationId}`);
      return { applied: false, record };
    },

    takeBack: (correlationId) =>
      jobs.write(
        function* (): Job<void> {
          if ((yield* run(statements.takeBackRecord, correlationId)) === 1) yield* settleUnjudged(correlationId, now());
        },
        () => kept.drop(correlationId),
      ),

    async result(correlationId) {
      const known = kept.takeResult(correlationId);
      if (known) return known;
      const record = await find(correlationId);
      if (!record) return null;
      const result = await jobs.read(
        () => get(statements.selectResult, correlationId),
        (row) => sealing.resultOf(record, row?.result_sealed ?? null),
      );
      if (result.fault === undefined) return result.bytes;
      await closeUnlessHolds(correlationId, result.fault);
      throw new GateError('call_tampered');
    },

    condemn: closeUnlessHolds,

    onTampered: (listener) => void listeners.push(listener),

    onMoved: (listener) => void moves.push(listener),

    history(tenant, agent, sinceMs) {
      const key = agentKey({ tenant, agent });
      return jobs.read(
        function* () {
          let steps = kept.history(key);
          if (!steps) {
            steps = newestSteps(yield* all(statements.selectHistory, tenant, agent), replica);
            kept.holdHistory(key, steps);
          }
          return { steps, sensitive: yield* all(statements.selectSensitive, tenant, agent, sinceMs) };
        },
        ({ steps, sensitive }) =>
          historyOf(
            steps.filter(({ ts_ms }) => ts_ms > sinceMs),
            sensitive,
            replica,
          ),
      );
    },

    flow: flows.flow,

    spend: {
      of: (tenant, agent, month) =>
        jobs.read(
          () => spentBy(tenant, agent, month),
          (spent) => spent,
        ),
      byAgent: (tenant, month, most) =>
        jobs.read(
          () => spentByAgents(tenant, month, most),
          (agents) => agents,
        ),
      over: (call, budgets) =>
        jobs.read(
          () => overBudget(call, budgets),
          (over) => over,
        ),
      async settleLost(beforeMs, atOnce, progress = nothing) {
        let count = 0;
        for (let after: WalkPlace | null = WALK_START; after; ) {
          const from: WalkPlace = after;
          const rows = await jobs.read(
            () => openSpend(beforeMs, from, atOnce),
            (found) => found,
          );
          for (const row of rows) {
            // One that cannot be opened stays as it is, and keeps no other from being given back.
            if (await settleLost(row).catch(() => false)) count += 1;
            progress();
          }
          const last = rows.length === atOnce ? rows.at(-1) : undefined;
          after = last ? { ms: Number(last.not_after_ms), id: last.correlation_id } : null;
        }
        return count;
      },
    },

    profiles: (tenant, agent, tools) =>
      jobs.read(
        () => profiles.read(tenant, agent, tools),
        (found) => found,
      ),

    rowsAppended: (correlationId, updatedMs) =>
      jobs.write(() => run(statements.clearRowsDue, correlationId, updatedMs), nothing, { durable: false }),

    oldestRowsDueMs: () =>
      jobs.read(
        () => get(statements.oldestRowsDue),
        (row) => (row?.oldest == null ? null : Number(row.oldest)),
      ),

    openCalls,

    openSince,
    atTool,

    rowsDue: (sinceMs, limit, after = WALK_START) => dueCalls('rows', sinceMs, limit, after),

    followUpsDue: (what, sinceMs, limit, after = WALK_START) => dueCalls(what, sinceMs, limit, after),

    async reviewsOwed(ids) {
      const { OWED_AT_ONCE, selectUnowed, oweReviews } = statements;
      for (let from = 0; from < ids.length; from += OWED_AT_ONCE) {
        const those = Array.from({ length: OWED_AT_ONCE }, (_, at) => ids[Math.min(from + at, ids.length - 1)] ?? '');
        // As a rule there is none, and nothing is written.
        const some = await jobs.read(
          () => get(selectUnowed, ...those),
          (row) => row !== undefined,
        );
        if (some) await jobs.write(() => run(oweReviews, ...those), nothing);
      }
    },

    async uncertain(tenant, limit) {
      const rows = await jobs.read(
        () =>
          tenant === null ? all(statements.selectUncertain, limit) : all(statements.selectUncertainOf, tenant, limit),
        (found) => found,
      );
      const records: CallRecord[] = [];
      for (const { correlation_id } of rows) {
        const record = await find(correlation_id);
        if (record?.state === 'uncertain') records.push(record);
      }
      return records;
    },

    // If this write is lost, the duty is done once more, which is safe.
    followedUp: (correlationId, what) =>
      jobs.write(() => run(statements.clearFollowUp[what], correlationId), nothing, { durable: false }),

    async purge({ hitsMs, stagedMs, recordsMs }) {
      requests.clear();
      kept.clear();
      profiles.forget();
      const { content, others } = await jobs.write(
        function* () {
          yield* run(statements.buryRecords, now(), recordsMs);
          yield* flows.purge();
          const others =
            (yield* run(statements.dropOldHits, hitsMs)) +
            (yield* run(statements.dropSensitive, recordsMs)) +
            (yield* run(statements.dropProfiles, recordsMs)) +
            (yield* run(dropSpendCalls, recordsMs)) +
            (yield* run(dropSpendTotals, monthOf(recordsMs))) +
            (yield* grants.purge(now())) +
            (yield* run(statements.dropTombstones, tombstonesUntil(recordsMs, now())));
          const content =
            (yield* run(statements.dropRecords, recordsMs)) + (yield* run(statements.dropRequests, stagedMs));
          return { content, others };
        },
        (removed) => removed,
      );
      if (content > 0) await onPurged?.();
      return content + others;
    },

    waitFor: (correlationId, condition, deadlineMs) => notifier.waitFor(correlationId, condition, deadlineMs),

    clockMs,

    async ready() {
      await jobs.ready();
      await jobs.read(() => get(statements.anyRecord), nothing);
    },

    async close() {
      notifier.close();
      await jobs.close();
    },
  };
}

/** Thrown, so that nothing stands of what its job did. */
class JudgedMeanwhile extends Error {}

const nothing = () => undefined;

/** A transition with the evidence that it adds to what the record has. */
function withAdded(
  { vote, step, escalated, reconciliation, ...given }: MovePatch,
  { evidence, outcome }: CallRecord,
  move: CallMove,
  at: number,
): MovePatch {
  if (reconciliation && outcome) {
    const stage = CALL_MOVES[move].to;
    if (stage !== 'uncertain' && stage !== 'completed' && stage !== 'not_run') return given;
    // Whose word it is that the call ran, says so of all calls of a batch.
    const ran = stage === 'completed' && evidence.sibling_tools;
    return {
      ...given,
      outcome: reconciledOutcome(outcome, reconciliation, stage),
      ...(ran && { counted_tools: ran }),
    };
  }
  if (move === 'complete' || move === 'lose') return { ...given, ...countedSteps(evidence, at) };
  if (vote === undefined && step === undefined && escalated === undefined) return given;
  return {
    ...given,
    evidence: {
      ...evidence,
      ...(vote && { votes: [...(evidence.votes ?? []), vote] }),
      ...(step && { steps: [...(evidence.steps ?? []), step] }),
      ...(escalated && escalatedAt(evidence, escalated.at_ms)),
    },
  };
}

/** Of a batch only what ran counts, however the batch ended. */
function countedSteps({ steps }: VerdictEvidence, at: number): Pick<MovePatch, 'counted_ms' | 'counted_tools'> | null {
  const ran = steps?.filter(({ stage }) => stage === 'completed') ?? [];
  return ran.length > 0 ? { counted_ms: at, counted_tools: ran.map(({ tool }) => tool) } : null;
}
