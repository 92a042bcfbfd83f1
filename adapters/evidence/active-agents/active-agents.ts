import { createHash } from 'node:crypto';
import type { Kysely } from 'kysely';
import {
  type ActiveAgentAdjustment,
  activeAgentAdjustment,
  type ActiveAgentInvoice,
  type AdjustmentReceipt,
} from '../../../contracts/active-agents.js';
import type { EventKind } from '../../../contracts/event-kinds.js';
import type { Json, JsonObject } from '../../../contracts/json.js';
import type { AppendReceipt, Ledger } from '../../../contracts/ledger.js';
import { canonicalDigest, canonicalJson, uuidFromDigest } from '../../../domain/crypto/digest.js';
import { GateError } from '../../../domain/errors.js';
import { parseSpiffe } from '../../../domain/identity/spiffe.js';
import type { Assurance } from '../../ledger/assurance/assurance.js';
import { freshWalk } from '../../ledger/assurance/fresh-walk.js';
import { type ChainHead, EMPTY_CHAIN } from '../../../domain/ledger/chain.js';
import { reading } from '../../../domain/ledger/chain-store.js';
import { committedBy, scan } from '../../ledger/rows.js';
import type { EntryTable, LedgerTables } from '../../../domain/ledger/tables.js';
import { type GoneFrom, windowVacuumed } from '../../ledger/vacuum/gone.js';
import { eventSorter, type EventSorter, type QualifiedEvent } from './event-sorter.js';

const HOUR_MS = 3_600_000;
const WINDOW_MS = 30 * 24 * HOUR_MS;
const GRACE_MS = 72 * HOUR_MS;
const ADJUSTED = 'active_agent.adjusted' satisfies EventKind;
/** Kinds of rows that report an executed tool: by Gate, or by the host of a decision. */
const EXECUTIONS: readonly EventKind[] = ['upstream.outcome', 'execution.completed'];

/**
 * The active-agent meter (docs/architecture/ledger-reads.md#active-agent-meter): how many agents of a tenant executed a tool within 30
 * days. An invoice is a function of the tenant, `as_of`, `observed_through` and the chain as it was at `observed_through`, so asking again
 * always gives the same bytes. Rows that arrive later appear on an invoice with a later `observed_through`. The invoice observed 72 hours
 * after `as_of` is final.
 */
export interface ActiveAgentMeter {
  /**
   * Walks the whole chain first. Throws `invalid_meter_window`, `chain_verification_incomplete` when the chain does not verify, and
   * `ledger_store_unavailable`.
   */
  invoice(query: MeterQuery): Promise<ActiveAgentInvoice>;
  /**
   * Records an adjustment of an invoice that is not final yet. Idempotent by idempotency key: a repeat returns the receipt of the row that
   * exists. `request` is unvalidated input. Throws `invalid_adjustment`, `adjustment_conflict` (the key was used with other content),
   * `adjustment_below_zero`, `chain_verification_incomplete` and `ledger_store_unavailable`; in each case nothing was recorded.
   */
  adjust(request: unknown): Promise<AdjustmentReceipt>;
}

/** Both times are UTC to the second, as in 2026-01-02T03:04:05Z. */
export interface MeterQuery {
  readonly tenant: string;
  readonly asOf: string;
  readonly observedThrough: string;
}

interface MeterOptions {
  readonly db: Kysely<LedgerTables>;
  readonly assurance: Pick<Assurance, 'verifyAssured'>;
  readonly head: () => Promise<ChainHead>;
  readonly append: Ledger['append'];
  /** From now on no row gets a commit time up to `ms`. Resolves when all rows that have one are stored. */
  readonly sealThrough: (ms: number) => Promise<void>;
  /** Which rows of a window were vacuumed. */
  readonly goneFrom: GoneFrom;
  readonly clock: () => number;
}

type Adjustments = ActiveAgentInvoice['adjustments'];

export function createActiveAgentMeter(options: MeterOptions): ActiveAgentMeter {
  const { db, assurance, head, append, sealThrough, goneFrom, clock } = options;

  /** The chain as it was at a past moment, after a walk that found it valid. */
  async function observed(ms: number): Promise<ChainHead> {
    await sealThrough(ms);
    const place = (await committedBy(db, ms)) ?? EMPTY_CHAIN;
    await freshWalk(assurance, place.length);
    return place;
  }

  /** Adds the executions of the 30 days before `asOfMs` to the sorter, from rows up to `place`. The caller closes the sorter. */
  async function gather(sorter: EventSorter, tenant: string, asOfMs: number, place: ChainHead): Promise<void> {
    const [from, to] = [instant(asOfMs - WINDOW_MS), instant(asOfMs)];
    const punctual = (await committedBy(db, asOfMs)) ?? EMPTY_CHAIN;
    const filter = { tenant, from, seqTo: place.length, eventKinds: EXECUTIONS, authorized: true };
    for await (const page of scan(db, filter, COLUMNS))
      sorter.add(
        page.flatMap((row): QualifiedEvent[] => {
          const agentKey = agentOf(row, tenant);
          if (agentKey === null) return [];
          const decision = row.policy_decision === null ? null : (JSON.parse(row.policy_decision) as JsonObject);
          const occurredAt = occurrenceOf(row, decision);
          if (occurredAt < from || occurredAt >= to) return [];
          return [
            {
              agent_key: agentKey,
              occurred_at: occurredAt,
              stage_identity: stageOf(row, decision),
              entry_id: row.id,
              entry_hash: row.entry_hash,
              late: Number(row.seq) > punctual.length,
            },
          ];
        }),
      );
    // Checked after reading: rows that were vacuumed meanwhile are missing too.
    await refuseVacuumed(asOfMs);
  }

  /** Refuses when rows of the window were vacuumed, of whichever tenant: an invoice also states its place in the whole chain. */
  async function refuseVacuumed(asOfMs: number): Promise<void> {
    const gone = await goneFrom({ from: instant(asOfMs - WINDOW_MS), to: instant(clock() + WINDOW_MS) });
    if (gone) throw windowVacuumed(gone);
  }

  /** The adjustments of one invoice among the rows up to `place`, sorted by idempotency key. */
  async function adjustmentsOf(tenant: string, asOf: string, place: ChainHead): Promise<Adjustments> {
    const found: Adjustments = [];
    const filter = { tenant, from: instant(Date.parse(asOf)), seqTo: place.length, eventKinds: [ADJUSTED] };
    for await (const page of scan(db, filter, ['id', 'timestamp', 'policy_decision', 'entry_hash']))
      for (const row of page) {
        // Anyone who may append can write such a row. Only a valid adjustment stored under its own derived id counts.
        const read = activeAgentAdjustment.safeParse(JSON.parse(row.policy_decision ?? 'null'));
        if (!read.success || rowIdOf(read.data) !== row.id || read.data.tenant !== tenant) continue;
        if (read.data.target_as_of !== asOf) continue;
        const { idempotency_key, kind, units_delta, agent_key, reason } = read.data;
        found.push({
          idempotency_key,
          kind,
          units_delta,
          agent_key,
          reason,
          recorded_at: row.timestamp,
          source_entry_id: row.id,
          source_entry_hash: row.entry_hash,
        });
      }
    return found.toSorted((a, b) => (a.idempotency_key < b.idempotency_key ? -1 : 1));
  }

  async function invoice({ tenant, asOf, observedThrough }: MeterQuery): Promise<ActiveAgentInvoice> {
    const { asOfMs, observedMs } = meterWindow(asOf, observedThrough, clock());
    const place = await observed(observedMs);
    const sorter = eventSorter();
    try {
      await gather(sorter, tenant, asOfMs, place);
      const counted = await summed(sorter);
      const adjustments = await adjustmentsOf(tenant, asOf, place);
      const unsigned = {
        contract: 'gate.active-agent-meter/v1' as const,
        meter_version: '1.0.0' as const,
        tenant,
        window: { kind: 'rolling' as const, days: 30 as const, from: wholeSecond(asOfMs - WINDOW_MS), to: asOf },
        observed_through: observedThrough,
        finalization: {
          late_event_grace_hours: 72 as const,
          final_at: wholeSecond(asOfMs + GRACE_MS),
          status: observedMs === asOfMs + GRACE_MS ? ('final' as const) : ('preliminary' as const),
        },
        agents: counted.agents,
        base_active_agents: counted.agents.length,
        net_active_agents: netOf(counted.agents.length, adjustments),
        adjustments,
        source: {
          qualification: 'authorized tool execution by exact tenant-qualified agent' as const,
          deduplication: 'tenant+agent+stable-stage-identity' as const,
          qualified_event_count: counted.events,
          late_event_count: counted.late,
          event_commitment: counted.commitment,
          adjustment_commitment: canonicalDigest(adjustments),
          chain_length: place.length,
          chain_head: place.hash,
        },
      };
      return { ...unsigned, invoice_sha256: canonicalDigest(unsigned) };
    } finally {
      sorter.close();
    }
  }

  /** The receipt of the earlier use of this idempotency key, also when its row was hidden since; `null` when the key is new. */
  async function retained(request: ActiveAgentAdjustment): Promise<AdjustmentReceipt | null> {
    const row = await db
      .selectFrom('ledger_entries')
      .select(['seq', 'id', 'entry_hash', 'policy_decision'])
      .where('id', '=', rowIdOf(request))
      .executeTakeFirst();
    if (!row) return null;
    if (row.policy_decision !== canonicalJson(request)) throw new GateError('adjustment_conflict');
    return receiptOf(request, { status: 'retained', id: row.id, seq: Number(row.seq), entry_hash: row.entry_hash });
  }

  async function record(request: ActiveAgentAdjustment): Promise<AdjustmentReceipt> {
    const known = await retained(request);
    if (known) return known;
    const { tenant, target_as_of: target } = request;
    const asOfMs = openInvoice(target, clock());
    const place = await head();
    await freshWalk(assurance, place.length);
    const sorter = eventSorter();
    try {
      await gather(sorter, tenant, asOfMs, place);
      const base = (await summed(sorter)).agents.length;
      const before = await adjustmentsOf(tenant, target, place);
      const sum = before.reduce((units, { units_delta }) => units + units_delta, request.units_delta);
      if (base + sum < 0)
        throw new GateError(
          'adjustment_below_zero',
          `the invoice of ${target} stands at ${netOf(base, before)} agents; ${request.units_delta} is more than that`,
        );
    } finally {
      sorter.close();
    }
    openInvoice(target, clock());
    try {
      const [receipt] = await append([rowOf(request)]);
      return receiptOf(request, receipt as AppendReceipt);
    } catch (error) {
      if (!(error instanceof GateError) || error.code !== 'ledger_entry_conflict') throw error;
      throw new GateError('adjustment_conflict', undefined, { cause: error });
    }
  }

  // Adjustments run one at a time, so that each check sees the result of the one before.
  let last: Promise<unknown> = Promise.resolve();

  return {
    invoice: (query) => reading(() => invoice(query)),
    adjust(given) {
      const parsed = activeAgentAdjustment.safeParse(given);
      if (!parsed.success) {
        const [issue] = parsed.error.issues;
        const field = issue?.path.join('.') ?? '';
        return Promise.reject(invalidAdjustment(`${field} ${issue?.message ?? ''}`.trim()));
      }
      const turn = last.then(() => reading(() => record(parsed.data)));
      last = turn.catch(() => undefined);
      return turn;
    },
  };
}

const COLUMNS = [
  'seq',
  'id',
  'timestamp',
  'method',
  'policy_decision',
  'correlation_id',
  'agent_spiffe',
  'tool_name',
  'state_namespace',
  'entry_hash',
] as const satisfies readonly (keyof EntryTable)[];
type ExecutionRow = Pick<EntryTable, (typeof COLUMNS)[number]>;

const instant = (ms: number): string => new Date(ms).toISOString();
const wholeSecond = (ms: number): string => instant(ms).replace('.000Z', 'Z');

/** Milliseconds of a UTC time to the second in its one canonical spelling; `null` for any other text. */
function momentOf(text: string): number | null {
  const ms = Date.parse(text);
  // A ledger holds no times before 1970 or after 9999.
  return ms >= 0 && ms < Date.UTC(10_000, 0, 1) && wholeSecond(ms) === text ? ms : null;
}

/**
 * Refuses times in the future: rows that are still to come would change an invoice that was already issued. Throws `invalid_meter_window`.
 */
function meterWindow(asOf: string, observedThrough: string, nowMs: number) {
  const refuse = (detail: string) => new GateError('invalid_meter_window', detail);
  const [asOfMs, observedMs] = [momentOf(asOf), momentOf(observedThrough)];
  if (asOfMs === null) throw refuse('as_of is no UTC time to the second: write 2026-01-02T03:04:05Z');
  if (observedMs === null) throw refuse('observed_through is no UTC time to the second: write 2026-01-02T03:04:05Z');
  if (asOfMs > nowMs) throw refuse('as_of is in the future');
  if (observedMs < asOfMs) throw refuse('observed_through is before as_of');
  if (observedMs > asOfMs + GRACE_MS) throw refuse('observed_through is more than 72 hours after as_of');
  if (observedMs > nowMs) throw refuse('observed_through is in the future');
  return { asOfMs, observedMs };
}

const invalidAdjustment = (detail: string): GateError => new GateError('invalid_adjustment', detail);

/** An invoice takes adjustments from its `as_of` until it is final; after that, adjust a later invoice. Throws `invalid_adjustment`. */
function openInvoice(target: string, nowMs: number): number {
  const asOfMs = momentOf(target);
  if (asOfMs === null) throw invalidAdjustment('target_as_of names no moment');
  if (asOfMs > nowMs) throw invalidAdjustment('target_as_of is in the future');
  if (nowMs > asOfMs + GRACE_MS)
    throw invalidAdjustment(
      `the invoice of ${target} is final since ${wholeSecond(asOfMs + GRACE_MS)}; adjust a later one`,
    );
  return asOfMs;
}

/**
 * The agent that executed the row: tenant and agent of its SPIFFE ID, without the instance. Any trust domain counts, so that a setting
 * changed today does not change an old invoice. `null` for rows that do not qualify.
 */
function agentOf({ agent_spiffe: spiffe, tool_name, state_namespace }: ExecutionRow, tenant: string): string | null {
  if (spiffe === null || tool_name === null || state_namespace !== 'operator') return null;
  const [, trustDomain] = /^spiffe:\/\/([a-z0-9._-]{1,255})\//.exec(spiffe) ?? [];
  const identity = trustDomain === undefined ? null : parseSpiffe(spiffe, trustDomain);
  return identity?.kind === 'agent' && identity.tenant === tenant ? `${tenant}/${identity.agent}` : null;
}

const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z$/;

/** When it happened: the time its author states, else the commit time. Never later than the commit time. */
function occurrenceOf({ timestamp }: ExecutionRow, decision: JsonObject | null): string {
  const said = decision?.['occurred_at'] ?? decision?.['at'];
  if (typeof said !== 'string' || !RFC_3339.test(said) || Number.isNaN(Date.parse(said))) return timestamp;
  const at = instant(Date.parse(said));
  return at < timestamp ? at : timestamp;
}

/** The same for every report of one execution: event id and stage when the row carries them, else correlation id and method. */
function stageOf({ id, correlation_id, method }: ExecutionRow, decision: JsonObject | null): string {
  const bound = decision?.['forensic_identity'];
  if (isObject(bound) && typeof bound['event_id'] === 'string' && typeof bound['stage'] === 'string')
    return `event:${bound['event_id']}:${bound['stage']}`;
  return correlation_id === null ? `entry:${id}` : `call:${correlation_id}:${method}`;
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** SHA-256 over the RFC 8785 JSON of a list that is never held in memory as a whole. */
function listDigest() {
  const hash = createHash('sha256').update('[');
  let items = 0;
  return {
    /** `text` is the item in RFC 8785 form. */
    add(text: string) {
      hash.update(items === 0 ? text : `,${text}`);
      items += 1;
    },
    end: (): string => `sha256:${hash.update(']').digest('hex')}`,
  };
}

/** One pass over the sorted events: totals per agent, a digest per agent, and a digest of all events. */
async function summed(sorter: EventSorter) {
  const agents: ActiveAgentInvoice['agents'] = [];
  const all = listDigest();
  let own = listDigest();
  let [events, late] = [0, 0];
  for await (const page of sorter.ordered())
    for (const event of page) {
      let agent = agents.at(-1);
      if (agent?.agent_key !== event.agent_key) {
        if (agent) agent.source_commitment = own.end();
        own = listDigest();
        agent = {
          agent_key: event.agent_key,
          qualified_events: 0,
          late_events: 0,
          first_qualified_at: event.occurred_at,
          last_qualified_at: event.occurred_at,
          source_commitment: '',
        };
        agents.push(agent);
      }
      const text = canonicalJson({ ...event });
      all.add(text);
      own.add(text);
      events += 1;
      agent.qualified_events += 1;
      agent.last_qualified_at = event.occurred_at;
      if (event.late) {
        agent.late_events += 1;
        late += 1;
      }
    }
  const latest = agents.at(-1);
  if (latest) latest.source_commitment = own.end();
  return { agents, events, late, commitment: all.end() };
}

const netOf = (base: number, adjustments: Adjustments): number =>
  Math.max(
    0,
    adjustments.reduce((units, { units_delta }) => units + units_delta, base),
  );

/** One row per idempotency key, across all tenants. */
const rowIdOf = ({ idempotency_key }: ActiveAgentAdjustment): string => uuidFromDigest(ADJUSTED, idempotency_key);

const rowOf = (request: ActiveAgentAdjustment) => ({
  id: rowIdOf(request),
  agent_id: `tenant:${request.tenant}`,
  method: ADJUSTED,
  event_kind: ADJUSTED,
  intent_category: 'Lifecycle',
  authorized: true,
  reasoning: '',
  policy_decision: { ...request },
  state_namespace: 'operator' as const,
  tenant: request.tenant,
});

const receiptOf = (
  request: ActiveAgentAdjustment,
  { status, id, seq, entry_hash }: Omit<AppendReceipt, 'chain_version'>,
): AdjustmentReceipt => ({
  retained: status === 'retained',
  adjustment_sha256: canonicalDigest(request),
  entry_id: id,
  entry_seq: seq,
  entry_hash,
});
