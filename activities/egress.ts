import type { EgressSource } from '../contracts/ledger-egress.js';
import { sweepOnce } from '../adapters/evidence/egress/deliver.js';
import type { Sink, SinkKind } from '../domain/evidence/egress/sinks.js';
import type { Sweep } from '../domain/evidence/egress/progress.js';

export interface EgressOptions {
  readonly source: EgressSource;
  readonly sinks: readonly Sink[];
  /** Called after every attempt. */
  readonly onSweep?: (sink: SinkKind, sweep: Sweep) => void;
}

export const createEgressActivities = ({ source, sinks, onSweep }: EgressOptions) => ({
  /**
   * One attempt to deliver rows to one sink (docs/architecture/ledger-reads.md#streams-to-sinks). A second run sends the same rows again;
   * the sink recognises them by the entries' UUIDs. Addresses and secrets are this worker's own and appear in no history.
   */
  async sweepSink(kind: SinkKind, range: { readonly after: number; readonly limit: number }): Promise<Sweep> {
    const sink = sinks.find((candidate) => candidate.kind === kind);
    // A sink that was removed from the settings keeps its cursor, in case it returns, and raises no alarm.
    if (!sink)
      return { delivered: false, rejected: false, rows: 0, first_seq: null, error: 'not configured', lag: null };
    const sweep = await sweepOnce(sink, source, range);
    onSweep?.(kind, sweep);
    return sweep;
  },
});
export type EgressActivities = ReturnType<typeof createEgressActivities>;
