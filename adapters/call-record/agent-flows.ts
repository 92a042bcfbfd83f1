import { LRUCache } from 'lru-cache';
import type { Taint } from '../../contracts/policy.js';
import type { CallFlow, KeptFlow } from '../../domain/call-record/ports.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import {
  AGENT_LIMITS,
  type AgentFlow,
  type AgentLimits,
  type FlowOwner,
  type FlowSettings,
  flowSealing,
  type KeptAnswer,
  keptOf,
  readCalls,
  taintOf,
  trustedForms,
} from '../../domain/information-flow/flow.js';
import { all, get, type Job, type Jobs, run } from '../store/jobs.js';
import * as statements from './statements.js';

/** Values of answers that a process keeps opened, and rows that it asks for one by one. */
const OPENED_VALUES = 1_000_000;
const ONE_BY_ONE = 4;
const CROWDED = 10_000;
const HOUR_MS = 3_600_000;

/** What answers brought in, beside the records of a store (docs/architecture/information-flow.md). */
export function agentFlows({
  jobs,
  keys,
  settings,
  now,
  onTooMany = () => undefined,
  limits = AGENT_LIMITS,
}: {
  readonly jobs: Jobs;
  readonly keys: KeyRing;
  readonly settings: FlowSettings;
  readonly now: () => number;
  /** Told at most once an hour of an agent who had more answers than are kept: what it sends waits. */
  readonly onTooMany?: ((owner: FlowOwner) => void) | undefined;
  /** What counts of an agent. */
  readonly limits?: AgentLimits | undefined;
}) {
  const sealing = flowSealing(keys);
  const trusted = trustedForms(settings);
  const trustedTools = new Set(settings.trustedTools);
  /** A row never changes. */
  const opened = new LRUCache<string, KeptAnswer>({
    maxSize: OPENED_VALUES,
    sizeCalculation: ({ brought, own, vouched }) => brought.size + own.size + vouched.size + 8,
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

  function* rowsOf(
    owner: FlowOwner,
    sinceMs: number,
  ): Job<{ id: string; counts: boolean; answer: KeptAnswer | null }[]> {
    const { tenant, agent } = owner;
    const rows = yield* all(statements.selectFlows, tenant, agent, sinceMs, limits.answers + 1);
    const counted = rows.slice(0, countedOf(rows, limits));
    const unknown = counted.filter(({ correlation_id: id }) => !opened.has(id));
    const sealed = new Map<string, Uint8Array>();
    if (unknown.length > ONE_BY_ONE)
      for (const row of yield* all(statements.selectFlowsWhole, tenant, agent, sinceMs, counted.length))
        sealed.set(row.correlation_id, row.sealed);
    else
      for (const { correlation_id: id } of unknown) {
        const row = yield* get(statements.selectFlow, id);
        if (row) sealed.set(id, row.sealed);
      }
    // Of the first that does not count it is only said that there is one.
    return rows.slice(0, counted.length + 1).map(({ correlation_id: id }, at) => {
      if (at === counted.length) return { id, counts: false, answer: null };
      const answer = opened.get(id) ?? answerOf(owner, id, sealed.get(id));
      if (answer) opened.set(id, answer);
      return { id, counts: true, answer };
    });
  }

  async function flowOf(owner: FlowOwner): Promise<AgentFlow> {
    const rows = await jobs.read(
      () => rowsOf(owner, now() - settings.windowMs),
      (found) => found,
    );
    if (rows.length > limits.answers) crowded.set(keyOf(owner), true);
    const answers: KeptAnswer[] = [];
    let lost = null as AgentFlow['lost'];
    for (const { id, counts, answer } of rows) {
      if (answer) answers.push(answer);
      const left = {
        addresses: !counts || !answer || answer.lostAddresses,
        names: !counts || !answer || answer.lostNames,
      };
      if (!counts) tellTooMany(owner);
      if (left.addresses || left.names)
        lost = {
          from: lost?.from ?? id,
          why: lost?.why ?? (counts ? (answer ? 'too_large' : 'unreadable') : 'too_many_answers'),
          addresses: left.addresses || (lost?.addresses ?? false),
          names: left.names || (lost?.names ?? false),
        };
    }
    return { answers, lost };
  }

  const flow: CallFlow = {
    async taint(owner, calls): Promise<readonly Taint[]> {
      const read = settings.windowMs === 0 ? null : readCalls(calls);
      return read ? taintOf(read, await flowOf(owner), sealing, owner, trusted) : [];
    },
    kept(owner, answered) {
      if (settings.windowMs === 0) return null;
      const kept = keptOf(answered, sealing, owner, trustedTools);
      return kept && { sealed: sealing.seal(owner, kept.answer), digests: kept.values };
    },
  };

  return {
    flow,
    /** Within the transaction that stores the answer. */
    *keep(owner: FlowOwner, id: string, { sealed, digests }: KeptFlow): Job<void> {
      const { tenant, agent } = owner;
      yield* run(statements.insertFlow, id, tenant, agent, now(), digests, sealed);
      if (crowded.has(keyOf(owner))) yield* run(statements.trimFlows, tenant, agent, tenant, agent, limits.answers);
    },
    /** Of all agents, what does not count any more. */
    *purge(): Job<void> {
      yield* run(statements.dropFlows, now() - settings.windowMs);
    },
    forget: () => opened.clear(),
  };
}

/** How many of the newest answers count. */
function countedOf(rows: readonly { readonly digests: number | string }[], limits: AgentLimits): number {
  let values = 0;
  const end = rows.findIndex(({ digests }, at) => {
    values += Number(digests);
    return at >= limits.answers || values > limits.values;
  });
  return end < 0 ? rows.length : end;
}

const keyOf = ({ tenant, agent }: FlowOwner): string => `${tenant}/${agent}`;
