import { condition, continueAsNew, proxyActivities, setHandler } from '@temporalio/workflow';
import type { EgressActivities } from '../../activities/egress.js';
import { afterSweep, type StreamProgress, type Sweep } from '../../domain/evidence/egress/progress.js';
import { backOffMs } from '../../domain/ledger/sweeps/back-off.js';
import { configureStream, type Stream, streamProgress } from './messages.js';

// The stream repeats attempts itself, because it has its own back-off. Ten seconds are for the sink, the rest for the ledger; a missing
// heartbeat reveals attempts whose worker was lost.
const { sweepSink } = proxyActivities<EgressActivities>({
  startToCloseTimeout: '40s',
  heartbeatTimeout: '10s',
  retry: { maximumAttempts: 1 },
});

const ATTEMPTS_PER_RUN = 200;

/**
 * The stream of ledger rows to one sink (docs/architecture/ledger-reads.md#streams-to-sinks). Its state is a cursor, which moves only after
 * the sink confirmed. Rows are read when they are sent, so a sink that is down for days costs one timer. It never ends.
 */
export async function egress(stream: Stream): Promise<void> {
  const { sink, attempts_per_run: attempts = ATTEMPTS_PER_RUN } = stream;
  let settings = stream.settings;
  let progress: StreamProgress = stream.progress ?? {
    cursor: 0,
    failures: 0,
    limit: settings.batch_size,
    last_error: null,
  };
  let woken = false;
  setHandler(configureStream, (given) => {
    settings = given;
    woken = true;
  });
  setHandler(streamProgress, () => progress);

  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const sweep = await sweepSink(sink, { after: progress.cursor, limit: progress.limit }).catch(
      (error: Error): Sweep => ({
        delivered: false,
        rejected: false,
        rows: 0,
        first_seq: null,
        error: error.message,
        lag: null,
      }),
    );
    const next = afterSweep(progress, sweep, settings.batch_size);
    progress = next.progress;
    if (!next.atOnce) {
      await condition(() => woken, backOffMs(settings.interval_ms, progress.failures));
      woken = false;
    }
  }
  await continueAsNew<typeof egress>({ ...stream, settings, progress });
}
