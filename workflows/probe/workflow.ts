import { proxyActivities, sleep } from '@temporalio/workflow';
import type { ProbeActivities, Probed } from '../../activities/probe.js';
import type { StepActivities } from '../../activities/steps.js';

// A look reads, so it may be repeated however often its worker or the store is lost. An upstream that is away is an answer, not an error.
const { probeCall } = proxyActivities<ProbeActivities>({
  startToCloseTimeout: '2m',
  heartbeatTimeout: '10s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m' },
  summary: 'a look whether the tool ran',
});

// What the ledger does not take within this time stays due in the record, and reconciliation appends it.
const { appendLedger } = proxyActivities<StepActivities>({
  startToCloseTimeout: '30s',
  scheduleToCloseTimeout: '1h',
  retry: { initialInterval: '500ms', maximumInterval: '15s' },
  summary: 'rows of the look',
});

/**
 * Finds out what became of a call whose outcome is unknown: looks, stores what was seen, and waits longer each time. Ends when the call is
 * settled, by a look or by a person, or when nothing more is to be expected. It runs no tool but the probe. Between two looks nothing is
 * remembered but the time to wait; the record has the rest.
 */
export async function probe(correlationId: string): Promise<Probed> {
  for (;;) {
    const probed = await probeCall(correlationId);
    await appendLedger(correlationId, 'until_taken').catch(() => undefined);
    if (probed.wait_ms === null) return probed;
    await sleep(probed.wait_ms);
  }
}
