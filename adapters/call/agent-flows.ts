import { LRUCache } from 'lru-cache';
import type { Taint } from '../../contracts/policy.js';
import type { CallFlow, KeptFlow } from '../../domain/call/ports.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import {
  AGENT_LIMITS,
  type AgentFlow,
  type AgentLimits,
  type FlowOwner,
  type FlowSettings,
  flowSealing,
  keptOf,
  readCalls,
  taintOf,
  trustedForms,
} from '../../domain/information-flow/flow.js';
import { heldValues, type KeptAnswer } from '../../domain/information-flow/known-values.js';
import { all, get, type Job, type Jobs, run } from '../store/jobs.js';
import * as statements from './statements.js';

/** Rows that it asks for one by one. */
const ONE_BY_ONE = 4;
const CROWDED = 10_000;
const HOUR_MS = 3_600_000;

interface HeldRow {
  readonly id: string;
  readonly atMs: number;
  readonly digests: number;
  /** `null` where it is not what was kept of this answer, or its key is gone; not known yet without one. */
  answer: KeptAnswer | null | undefined;
}
interface HeldFlow {
  /** The newest first; one more than count, where there are more. Of those that do not count the answer is not held. */
  readonly rows: readonly HeldRow[];
  readonly counted: number;
  /** What is older is not in `rows`. */
  readonly sinceMs: number;
  readonly known: ReturnType<typeof heldValues>;
  /** Values of answers in `rows` that `known` does not have yet: nobody asked since they came. */
  readonly fresh: number;
}

/** What answers brought in, beside the records of a store (docs/architecture/information-flow.md). */
export function agentFlows({
  jobs,
  keys,
  settings,
  now,
  alone = false,
  onTooMany = () => undefined,
  limits = AGENT_LIMITS,
}: {
  readonly jobs: Jobs;
  readonly keys: KeyRing;
  readonly settings: FlowSettings;
  readonly now: () => number;
  /** Nobody else writes the store, and what memory holds is what is stored. */
  readonly alone?: boolean;
  /** Told at most once an hour of an agent who had more answers than are kept: what it sends waits. */
  readonly onTooMany?: ((owner: FlowOwner) => void) | undefined;
  /** What counts of an agent, and is held of all. */
  readonly limits?: AgentLimits | undefined;
}) {
  const sealing = flowSealing(keys);
  const trusted = trustedForms(settings);
  const trustedTools = new Set(settings.trustedTools);
  const flows = new LRUCache<string, HeldFlow>({
    maxSize: limits.held,
    sizeCalculation: ({ rows, known, fresh }) => known.size + fresh + rows.length + 8,
  });
  /** Agents of whom there are more rows than count. */
  const crowded = new LRUCache<string, true>({ max: CROWDED });

  const told = new LRUCache<string, true>({ max: CROWDED, ttl: HOUR_MS });
  const tellTooMany = ({ tenant, agent }: FlowOwner): void => {
    const key = keyOf({ tenant, agent });
    if (told.has(key)) return;
    told.set(key, true);
    onTooMany({ tenant, agent });
  };

  /** `null` where it is not what was kept of this answer, or its key is gone. */
  const answerOf = (owner: FlowOwner, id: string, sealed: Uint8Array | undefined): KeptAnswer | null => {
    try {
      const answer = sealed ? sealing.open(owner, id, sealed) : null;
      return answer && sealing.digester(owner, answer.key) ? answer : null;
    } catch {
      return null;
    }
  };

  /** What memory holds is what is stored, unless the clock was set back behind what was asked for: older answers count again then. */
  const wholeIn = (held: HeldFlow | undefined, sinceMs: number): readonly HeldRow[] | null =>
    alone && held !== undefined && held.sinceMs <= sinceMs ? held.rows : null;

  /** Memory alone says that no answer of this agent counts: then nothing need be read of what its calls hold. */
  function hasSurelyNone(owner: FlowOwner): boolean {
    return wholeIn(flows.get(keyOf(owner)), now() - settings.windowMs)?.length === 0;
  }

  /** What an agent has read, with the answers that are not in memory yet. A row never changes. */
  function* read(owner: FlowOwner): Job<HeldFlow> {
    const { tenant, agent } = owner;
    const sinceMs = now() - settings.windowMs;
    const held = flows.get(keyOf(owner));
    const rows =
      wholeIn(held, sinceMs)?.filter(({ atMs }) => atMs > sinceMs) ??
      sameRows(yield* all(statements.selectFlows, tenant, agent, sinceMs, limits.answers + 1), held?.rows ?? []);
    const counted = countedOf(rows, limits);
    const unknown = rows.slice(0, counted).filter(({ answer }) => answer === undefined);
    if (unknown.length > ONE_BY_ONE) {
      const whole = yield* all(statements.selectFlowsWhole, tenant, agent, sinceMs, counted);
      const sealed = new Map(whole.map((row) => [row.correlation_id, row.sealed]));
      for (const row of unknown) row.answer = answerOf(owner, row.id, sealed.get(row.id));
    } else
      for (const row of unknown)
        row.answer = answerOf(owner, row.id, (yield* get(statements.selectFlow, row.id))?.sealed);
    const kept = rows.map((row, at) => (at < counted ? row : { ...row, answer: undefined }));
    return { rows: kept, counted, sinceMs, known: held?.known ?? heldValues(), fresh: 0 };
  }

  /** What the answers that count brought into the calls. In one turn, because others of the same agent follow the same values. */
  function found(owner: FlowOwner, held: HeldFlow, calls: NonNullable<ReturnType<typeof readCalls>>): Taint[] {
    const { rows, counted, known } = held;
    if (rows.length > limits.answers) crowded.set(keyOf(owner), true);
    known.follow(rows.slice(0, counted).flatMap(({ answer }) => answer ?? []));
    flows.set(keyOf(owner), held);
    // Of the first that does not count it is only said that there is one.
    const isMore = counted < rows.length;
    if (isMore) tellTooMany(owner);
    let lost = null as AgentFlow['lost'];
    for (let at = 0; at < rows.length && at <= counted; at += 1) {
      const { id, answer } = rows[at] as HeldRow;
      const counts = at < counted;
      const addresses = !counts || !answer || answer.lostAddresses;
      const names = !counts || !answer || answer.lostNames;
      if (addresses || names)
        lost = {
          from: lost?.from ?? id,
          why: lost?.why ?? (counts ? (answer ? 'too_large' : 'unreadable') : 'too_many_answers'),
          addresses: addresses || (lost?.addresses ?? false),
          names: names || (lost?.names ?? false),
        };
    }
    return taintOf(calls, { known, lost }, sealing, owner, trusted);
  }

  const flow: CallFlow = {
    async taint(owner, calls): Promise<readonly Taint[]> {
      if (settings.windowMs === 0 || hasSurelyNone(owner)) return [];
      const asked = readCalls(calls);
      if (!asked) return [];
      return jobs.read(
        () => read(owner),
        (held) => found(owner, held, asked),
      );
    },
    kept(owner, answered) {
      if (settings.windowMs === 0) return null;
      const kept = keptOf(answered, sealing, owner, trustedTools);
      return kept && { sealed: sealing.seal(owner, kept.answer), digests: kept.values };
    },
  };

  return {
    flow,
    /** Within the transaction that stores the answer. What it returns keeps it in memory, and is called once that stands. */
    *keep(owner: FlowOwner, id: string, { sealed, digests }: KeptFlow): Job<() => void> {
      const { tenant, agent } = owner;
      const atMs = now();
      const stored = yield* run(statements.insertFlow, id, tenant, agent, atMs, digests, sealed);
      if (crowded.has(keyOf(owner))) {
        const rows = (alone ? flows.get(keyOf(owner))?.rows : undefined) ?? [];
        const last = (rows[0]?.atMs ?? Infinity) <= atMs ? rows[limits.answers - 1] : undefined;
        yield* last
          ? run(statements.dropFlowsBefore, tenant, agent, last.atMs)
          : run(statements.trimFlows, tenant, agent, tenant, agent, limits.answers);
      }
      return () => {
        const held = alone && stored === 1 ? flows.get(keyOf(owner)) : undefined;
        if (!held) return;
        const row = { id, atMs, digests, answer: answerOf(owner, id, sealed) };
        const at = held.rows.findIndex((one) => one.atMs < atMs || (one.atMs === atMs && one.id > id));
        const rows = held.rows.toSpliced(at < 0 ? held.rows.length : at, 0, row).slice(0, limits.answers + 1);
        flows.set(keyOf(owner), { ...held, rows, fresh: held.fresh + digests });
      };
    },
    /** Of all agents, what does not count any more. */
    *purge(): Job<void> {
      yield* run(statements.dropFlows, now() - settings.windowMs);
    },
    forget: () => flows.clear(),
  };
}

/** The rows as they are stored now, each with what is known of it. */
function sameRows(stored: readonly statements.FlowRow[], held: readonly HeldRow[]): HeldRow[] {
  const known = new Map(held.map((row) => [row.id, row]));
  return stored.map(
    ({ correlation_id: id, at_ms: atMs, digests }) =>
      known.get(id) ?? { id, atMs: Number(atMs), digests: Number(digests), answer: undefined },
  );
}

/** How many of the newest answers count. */
function countedOf(rows: readonly HeldRow[], limits: AgentLimits): number {
  let values = 0;
  const end = rows.findIndex(({ digests }, at) => {
    values += digests;
    return at >= limits.answers || values > limits.values;
  });
  return end < 0 ? rows.length : end;
}

const keyOf = ({ tenant, agent }: FlowOwner): string => `${tenant}/${agent}`;
