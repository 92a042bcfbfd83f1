import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectClient } from '../../workers/client.js';
import { createHttp } from '../support/agent.js';
import { TEST_PAYLOAD_KEYS, TEST_PAYLOAD_KEYS_SETTING } from '../support/engine-keys.js';
import { startStack } from '../support/stack.js';
import { timePasses } from '../support/waiting.js';
import { REVIEW_HISTORIES } from './histories.js';
import type { Recordings } from './recording.js';

/** Records a review that no call asked for, and that was approved. */
export async function recordReviews(recordings: Recordings): Promise<void> {
  const gate = await startStack({
    env: { GATE_PAYLOAD_KEYS: TEST_PAYLOAD_KEYS_SETTING, GATE_HIL_SIMULATOR_TENANT: 'acme' },
  });
  const { client, close } = await connectClient(gate.development.temporal, TEST_PAYLOAD_KEYS);
  const pem = (end: string) => readFileSync(join(gate.stateDir, 'pki', 'services', `simulator.${end}`), 'utf8');
  const ca = readFileSync(gate.development.proxy.ca, 'utf8');
  const simulator = createHttp(gate.development.hil.url, { ca, cert: pem('crt'), key: pem('key') });
  try {
    const correlationId = randomUUID();
    const params = { name: 'pay', arguments: { amount: 5 } };
    const { status, text } = await simulator.request('POST', '/pending', {
      body: {
        agent_id: 'rehearsal-bot',
        correlation_id: correlationId,
        method: 'tools/call',
        request_payload: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
        risk_summary: 'a rehearsal',
        state_namespace: 'operator',
        ttl_seconds: 600,
      },
    });
    if (status !== 201) throw new Error(`the review was not opened: ${status} ${text}`);
    await gate.operator.decide(correlationId, 'approve', 'recorded');
    await gate.kinds(correlationId, 'hil.approved');
    await timePasses(5_000, 'the list of runs that the engine keeps follows the histories by a moment');
    const runs: string[] = [];
    for await (const { runId } of client.workflow.list({ query: `WorkflowId = '${correlationId}'` }))
      runs.unshift(runId);
    for (const [index, runId] of runs.entries()) {
      const history = await client.workflow.getHandle(correlationId, runId).fetchHistory();
      recordings.keep(`${REVIEW_HISTORIES}/approved-run-${index + 1}.pb`, history);
    }
  } finally {
    await simulator.close();
    await close();
    await gate.stop();
  }
}
