import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseKeyRing } from '../../domain/crypto/key-ring.js';
import { connectClient } from '../../engine/connect.js';
import { PROJECT_ROOT } from '../../scripts/project-root.js';
import { startStack } from '../support/stack.js';
import { encodeHistory, HISTORIES, TEST_PAYLOAD_KEYS } from './histories.js';

/**
 * `npm run histories`: records a history per way a call can go, with the fixed test key, into `workflows/tool-call/histories/`. They are kept per
 * release: a workflow that no longer replays them would strand the calls that are open when it is deployed.
 */
async function record(): Promise<void> {
  const gate = await startStack({
    env: { GATE_PAYLOAD_KEYS: TEST_PAYLOAD_KEYS, GATE_REVIEW_TTL_STANDARD_SECS: '600' },
  });
  const { address, namespace } = gate.development.temporal;
  const { client, close } = await connectClient({ address, namespace }, parseKeyRing(TEST_PAYLOAD_KEYS));
  const folder = join(PROJECT_ROOT, HISTORIES);
  mkdirSync(folder, { recursive: true });
  const save = async (name: string, correlationId: string): Promise<void> => {
    const runs: string[] = [];
    for await (const run of client.workflow.list({ query: `WorkflowId = '${correlationId}'` })) runs.unshift(run.runId);
    for (const [index, runId] of runs.entries()) {
      const history = await client.workflow.getHandle(correlationId, runId).fetchHistory();
      const file = `${name}${runs.length > 1 ? `-run-${index + 1}` : ''}.pb`;
      writeFileSync(join(folder, file), encodeHistory(history));
      process.stdout.write(`recorded ${HISTORIES}/${file}: ${history.events?.length ?? 0} events\n`);
    }
  };
  try {
    const agent = await gate.agent('support-bot');
    const transfer = { from: 'operating', to: 'vendor', amount: 1 };
    const denied = await agent.call('delete_file', { path: 'README.txt' });
    const completed = await agent.call('list_files');
    const parked = await agent.call('wire_transfer', transfer);
    const approved = await agent.call('wire_transfer', { ...transfer, amount: 2 });
    await gate.operator.decide(approved.correlationId, 'approve', 'recorded');
    await gate.kinds(approved.correlationId, 'upstream.outcome');
    // The engine's list of runs follows the histories by a moment.
    await sleep(5_000);
    await save('denied', denied.correlationId);
    await save('completed', completed.correlationId);
    await save('parked', parked.correlationId);
    await save('approved', approved.correlationId);
  } finally {
    await close();
    await gate.stop();
  }
}

await record();
