import { LRUCache } from 'lru-cache';
import type { JsonObject } from '../../contracts/json.js';
import type { Ledger, StateNamespace } from '../../contracts/ledger.js';
import { isQuota, limitedRow, type QuotaSignal } from '../../domain/call/rows.js';
import { GateError } from '../../domain/errors.js';
import { roomFor } from '../../domain/room-for.js';
import {
  type ActorRefusal,
  type GrantRefusal,
  isActorRefusal,
  isGrantRefusal,
} from '../../domain/identity/grant-terms.js';
import { isStopped, type Stopped } from '../../domain/identity/standing.js';

export interface Refused {
  readonly caller: {
    readonly tenant: string;
    readonly agent: string;
    readonly spiffe: string;
    readonly namespace?: StateNamespace;
  };
  readonly correlationId: string;
  /** The tool, or the control method. */
  readonly name: string;
  /** Which limit, or how the agent is stopped; each has its own row. */
  readonly limit:
    | 'rate'
    | 'control'
    | 'replays'
    | 'backlog'
    | 'velocity'
    | 'turns'
    | QuotaSignal
    | Stopped
    | GrantRefusal
    | ActorRefusal;
  readonly reason: string;
  /** Names what was exceeded. */
  readonly limits: JsonObject;
  /** Whether this is the first refusal of its window, if the caller counts them itself; then this alone decides about the row. */
  readonly first?: boolean;
  readonly paramsSha256?: string;
}

const ROW_EVERY_MS = 60_000;
const MAX_TOLD = 10_000;

/**
 * Leaves a ledger row for what an agent's limits refused, that it is stopped, or that its grant does not count: at most one per agent, limit and minute, so that a flood of
 * refusals is not a flood of rows. When the ledger is unavailable, a 429 remains a 429.
 */
export function createRefusals({
  ledger,
  now,
  monotonic = () => performance.now(),
}: {
  readonly ledger: Ledger;
  /** The time in the row. */
  readonly now: () => number;
  /** Measures the minute. Not the wall clock, which would suppress rows for an hour when it is set back by an hour. */
  readonly monotonic?: () => number;
}) {
  const told = new LRUCache<string, number>(roomFor(MAX_TOLD));
  return async ({
    caller,
    correlationId,
    name,
    limit,
    reason,
    limits,
    first,
    paramsSha256,
  }: Refused): Promise<void> => {
    if (!(first ?? isFirst(`${limit} ${agentKey(caller)}`))) return;
    const { tenant, agent, spiffe, namespace } = caller;
    const row = limitedRow({
      tenant,
      agent,
      spiffe,
      namespace,
      correlationId,
      atMs: now(),
      tool: name,
      reason,
      limits,
      ...((isStopped(limit) || isQuota(limit) || isGrantRefusal(limit) || isActorRefusal(limit)) && { signal: limit }),
    });
    await ledger
      .append([{ ...row, ...(paramsSha256 !== undefined && { tool_params_sha256: paramsSha256 }) }])
      .catch(() => undefined);
  };

  function isFirst(key: string): boolean {
    const measuredMs = monotonic();
    if (measuredMs - (told.get(key) ?? Number.NEGATIVE_INFINITY) < ROW_EVERY_MS) return false;
    told.set(key, measuredMs);
    return true;
  }
}
export type Refusals = ReturnType<typeof createRefusals>;

/** The agent that a limit counts, as limits are stored and as answers name it. */
export const agentKey = ({ tenant, agent }: Pick<Refused['caller'], 'tenant' | 'agent'>): string =>
  `${tenant}/${agent}`;

/**
 * The answer to every agent that is too fast: `rate_limited` with the seconds to wait. Counted, and recorded in the ledger as `Refusals`
 * says.
 */
export async function rateLimited(
  { refusals, onLimited }: { readonly refusals: Refusals; readonly onLimited?: (() => void) | undefined },
  retryAfterSecs: number,
  refused: Refused,
): Promise<GateError> {
  onLimited?.();
  await refusals(refused);
  return new GateError('rate_limited', refused.reason, {
    fields: { scope: 'agent', key: agentKey(refused.caller), retry_after_secs: retryAfterSecs },
  });
}
