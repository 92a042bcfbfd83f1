import {
  type DueStopReport,
  STOP_CALLS_TOLD,
  type StopCall,
  stopCall,
  type StopCalls,
} from '../../contracts/identity.js';
import { stopCallOf } from '../../domain/call/at-stop.js';
import type { CallStore } from '../../domain/call/ports.js';
import { createRepeated } from '../../domain/repeated.js';

export interface StopReporter {
  begin(): void;
  /** Says what was running at each stop of which nobody said it yet. */
  once(): Promise<void>;
  stop(): Promise<void>;
}

/** What a proxy asks of identity. */
interface Told {
  stopReportsDue(): Promise<readonly DueStopReport[]>;
  tellStopReport(id: string, said: StopCalls): Promise<void>;
}

const EVERY_MS = 2_000;
const LONGEST_PAUSE_MS = 30_000;
/** Under what identity takes, however long the names of tools are. */
const MOST_BYTES = 6_000_000;

/** What can be told: neither what somebody edited in the store nor very long names keep a report from being made. */
function fitting(calls: readonly StopCall[]): StopCall[] {
  let left = MOST_BYTES;
  return calls.filter((call) => {
    if (!stopCall.safeParse(call).success) return false;
    left -= Buffer.byteLength(JSON.stringify(call)) + 1;
    return left >= 0;
  });
}

/**
 * Tells identity which calls each stop met (docs/architecture/identity.md#reports). Every proxy asks for what nobody told yet, so that one which is
 * killed in between leaves it to the next; who comes second changes nothing.
 */
export function createStopReporter({
  identity,
  calls,
  onFault,
  everyMs = EVERY_MS,
  now = Date.now,
}: {
  readonly identity: () => Promise<Told>;
  readonly calls: Pick<CallStore, 'openSince'>;
  readonly onFault: (reason: string | null) => void;
  readonly everyMs?: number;
  readonly now?: () => number;
}): StopReporter {
  async function once(isStopped = () => false): Promise<void> {
    const client = await identity();
    const faults: unknown[] = [];
    for (const one of await client.stopReportsDue()) {
      if (isStopped()) return;
      // One that fails keeps none of the others waiting.
      await tell(client, one).catch((error: unknown) => faults.push(error));
    }
    if (faults.length > 0) throw faults[0];
  }
  async function tell(client: Told, { id, tenant, kind, name, stopped_at: stoppedAt }: DueStopReport): Promise<void> {
    const stoppedMs = Date.parse(stoppedAt);
    const lookedMs = now();
    const of = { tenant, agent: kind === 'agent' ? name : null, tool: kind === 'tool' ? name : null };
    const { records, leftOut } = await calls.openSince(of, stoppedMs, STOP_CALLS_TOLD);
    const met = records.flatMap((record) => stopCallOf(record, stoppedMs) ?? []);
    const told = fitting(met);
    await client.tellStopReport(id, {
      looked_at: new Date(lookedMs).toISOString(),
      calls: told,
      left_out: leftOut + met.length - told.length,
    });
  }
  const { begin, stop } = createRepeated({ work: once, everyMs, longestPauseMs: LONGEST_PAUSE_MS, onFault });
  return { begin, once, stop };
}
