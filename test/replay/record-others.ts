import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Client } from '@temporalio/client';
import { callbackIdOf } from '../../domain/call/transitions.js';
import { connectClient } from '../../workers/client.js';
import { RECONCILE } from '../../workflows/reconcile/messages.js';
import { TEST_PAYLOAD_KEYS, TEST_PAYLOAD_KEYS_SETTING } from '../support/engine-keys.js';
import { until } from '../support/kill-host-driver.js';
import { startStack } from '../support/stack.js';
import { CALLBACK_HISTORIES, RECONCILE_HISTORIES } from './histories.js';
import type { Recordings } from './recording.js';

/** Five attempts, with 1, 4, 16 and 64 s between them. */
const GIVEN_UP_AFTER_MS = 150_000;
const ENDED = new Set(['COMPLETED', 'FAILED', 'TERMINATED']);

async function save(
  recordings: Recordings,
  client: Client,
  workflowId: string,
  file: string,
  runId?: string,
): Promise<void> {
  const handle = client.workflow.getHandle(workflowId, runId);
  await until(
    `${workflowId} has ended`,
    () => handle.describe(),
    ({ status }) => ENDED.has(status.name),
    GIVEN_UP_AFTER_MS,
  );
  recordings.keep(file, await handle.fetchHistory());
}

/** Records a callback that is taken, one that is tried five times and given up, and a pass of reconciliation. */
export async function recordCallbacksAndPass(recordings: Recordings): Promise<void> {
  const receiver = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(request.url === '/hooks/taken' ? 200 : 503).end());
  });
  await new Promise<void>((listening) => receiver.listen(0, '127.0.0.1', listening));
  const { port } = receiver.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  const gate = await startStack({
    env: {
      GATE_PAYLOAD_KEYS: TEST_PAYLOAD_KEYS_SETTING,
      GATE_PROXY_CALLBACK_ALLOWLIST: `${origin}/hooks`,
      GATE_CALLBACK_ALLOW_PRIVATE: `127.0.0.1:${port}`,
      GATE_RECONCILE_EVERY_SECS: '5',
    },
  });
  const { client, close } = await connectClient(gate.development.temporal, TEST_PAYLOAD_KEYS);
  try {
    const agent = await gate.agent('support-bot');
    const transfer = { from: 'operating', to: 'vendor', amount: 1 };
    for (const [path, name] of [
      ['taken', 'delivered'],
      ['refused', 'given-up'],
    ] as const) {
      const parked = await agent.call('wire_transfer', transfer, { callback: `${origin}/hooks/${path}` });
      await gate.operator.decide(parked.correlationId, 'deny', 'recorded');
      const id = callbackIdOf(parked.correlationId, 'denied');
      await until(
        `${id} was started`,
        () =>
          client.workflow
            .getHandle(id)
            .describe()
            .catch(() => null),
        (found) => found !== null,
      );
      await save(recordings, client, id, `${CALLBACK_HISTORIES}/${name}.pb`);
    }
    for await (const { workflowId, runId } of client.workflow.list({
      query: `WorkflowType = '${RECONCILE}' and ExecutionStatus = 'Completed'`,
    })) {
      await save(recordings, client, workflowId, `${RECONCILE_HISTORIES}/pass.pb`, runId);
      break;
    }
  } finally {
    await close();
    await gate.stop();
    receiver.closeAllConnections();
    receiver.close();
  }
}
