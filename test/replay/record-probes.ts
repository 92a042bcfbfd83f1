import { connectClient } from '../../workers/client.js';
import { probeIdOf } from '../../workflows/probe/messages.js';
import { TEST_PAYLOAD_KEYS, TEST_PAYLOAD_KEYS_SETTING } from '../support/engine-keys.js';
import { until } from '../support/kill-host-driver.js';
import { startStack } from '../support/stack.js';
import { PROBE_HISTORIES } from './histories.js';
import type { Recordings } from './recording.js';

/** Records a probe that finds an effect, after a pause. */
export async function recordProbes(recordings: Recordings): Promise<void> {
  const gate = await startStack({ env: { GATE_PAYLOAD_KEYS: TEST_PAYLOAD_KEYS_SETTING } });
  const { client, close } = await connectClient(gate.development.temporal, TEST_PAYLOAD_KEYS);
  try {
    const agent = await gate.agent('support-bot');
    const found = await agent.call('drop_connection', { reference: 'recorded' });
    const handle = client.workflow.getHandle(probeIdOf(found.correlationId));
    await until(
      'the probe has ended',
      () => handle.describe().catch(() => null),
      (run) => run?.status.name === 'COMPLETED',
    );
    recordings.keep(`${PROBE_HISTORIES}/found.pb`, await handle.fetchHistory());
  } finally {
    await close();
    await gate.stop();
  }
}
