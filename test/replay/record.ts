import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import type { Client } from '@temporalio/client';
import { connectClient } from '../../workers/client.js';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { TEST_PAYLOAD_KEYS, TEST_PAYLOAD_KEYS_SETTING } from '../support/engine-keys.js';
import { correlationIdFor } from '../support/kill-host.js';
import { openBench, settled, until } from '../support/kill-host-driver.js';
import { startStack } from '../support/stack.js';
import { CURRENT_SHAPE, HISTORIES, IN_BURSTS, INSPECTED_BY_MODELS, RULE_ASKED_AGAIN } from './histories.js';
import { recordCallbacksAndPass } from './record-others.js';
import { recordProbes } from './record-probes.js';
import { recordReviews } from './record-reviews.js';
import { recordStream } from './record-stream.js';
import { openRecordings } from './recording.js';
import { timePasses } from '../support/waiting.js';

/**
 * `npm run histories [-- calls | models | ledger-down | stream | burst | lost-rule | callbacks-and-pass | probes | reviews] [--replace <file>]`: records a history per way a call can
 * go, with the fixed test key, into the `histories/` of its workflow. It adds those that are missing and leaves the others: a workflow that no
 * longer replays one would strand the calls that are open when it is deployed.
 */
async function save(client: Client, calls: Readonly<Record<string, string>>, shape = CURRENT_SHAPE): Promise<void> {
  await timePasses(5_000, 'the list of runs that the engine keeps follows the histories by a moment');
  for (const [name, correlationId] of Object.entries(calls)) {
    const runs: string[] = [];
    for await (const run of client.workflow.list({ query: `WorkflowId = '${correlationId}'` })) runs.unshift(run.runId);
    for (const [index, runId] of runs.entries()) {
      const history = await client.workflow.getHandle(correlationId, runId).fetchHistory();
      const file = `${name}${runs.length > 1 ? `-run-${index + 1}` : ''}.pb`;
      recordings.keep(`${HISTORIES}/${shape}/${file}`, history);
    }
  }
}

/** Calls that meet nothing unusual, through the front door. */
async function recordOfStack(): Promise<void> {
  const gate = await startStack({
    env: { GATE_PAYLOAD_KEYS: TEST_PAYLOAD_KEYS_SETTING, GATE_REVIEW_TTL_STANDARD_SECS: '600' },
  });
  const { client, close } = await connectClient(gate.development.temporal, TEST_PAYLOAD_KEYS);
  try {
    const agent = await gate.agent('support-bot');
    const transfer = { from: 'operating', to: 'vendor', amount: 1 };
    const denied = await agent.call('delete_file', { path: 'README.txt' });
    const completed = await agent.call('list_files');
    const parked = await agent.call('wire_transfer', transfer);
    const approved = await agent.call('wire_transfer', { ...transfer, amount: 2 });
    await gate.operator.decide(approved.correlationId, 'approve', 'recorded');
    await gate.kinds(approved.correlationId, 'upstream.outcome');
    await save(client, {
      denied: denied.correlationId,
      completed: completed.correlationId,
      parked: parked.correlationId,
      approved: approved.correlationId,
    });
  } finally {
    await close();
    await gate.stop();
  }
}

/** Calls that models inspect, one of them changed by who approved it. */
async function recordOfModels(): Promise<void> {
  const bench = await openBench('temporal');
  try {
    const host = await bench.gate({ inspectionTimeoutMs: 30_000 }).start();
    const [completed, changed] = [randomUUID(), randomUUID()];
    await host.call({ key: completed });
    await settled(host, completed);
    await host.call({ key: changed, arguments: { tier: 'yellow', amount: 1 } });
    await host.decide({
      key: changed,
      decision: 'approve',
      requestId: randomUUID(),
      change: { path: 'amount', value: 2 },
    });
    await settled(host, changed);
    await save(
      await bench.engine.client(),
      { completed: correlationIdFor(completed), changed: correlationIdFor(changed) },
      INSPECTED_BY_MODELS,
    );
  } finally {
    await bench.end();
  }
}

/** Calls whose rows the ledger does not take at first: they stay open, appending. */
async function recordOfLedgerDown(): Promise<void> {
  const bench = await openBench('temporal');
  try {
    const host = await bench.gate().start({ script: { ledger: 'down' } });
    const [appending, parkedAppending] = [randomUUID(), randomUUID()];
    await host.call({ key: appending });
    await host.call({ key: parkedAppending, arguments: { tier: 'yellow' } });
    await timePasses(5_000, 'tried in vain a few times, so that waiting and trying again are in the history');
    await host.script({ ledger: 'up' });
    await settled(host, appending);
    await until(
      'the parked call has its rows',
      () => host.state({ key: parkedAppending }),
      ({ kinds }) => kinds.includes('hil.created'),
    );
    await host.decide({ key: parkedAppending, decision: 'deny', requestId: randomUUID() });
    await settled(host, parkedAppending);
    await save(await bench.engine.client(), {
      appending: correlationIdFor(appending),
      'parked-appending': correlationIdFor(parkedAppending),
    });
  } finally {
    await bench.end();
  }
}

/** More calls than may move to the parked queue at once: one that is decided where it was judged, and one that moves later. */
async function recordOfBurst(): Promise<void> {
  const bench = await openBench('temporal');
  try {
    const host = await bench.gate().start({ script: { tier: 'yellow' } });
    const client = await bench.engine.client();
    const keys = Array.from({ length: 240 }, () => randomUUID());
    await Promise.all(keys.map((key) => host.call({ key })));
    const inLine: string[] = [];
    for (const key of keys) {
      const { taskQueue, historyLength } = await client.workflow.getHandle(correlationIdFor(key)).describe();
      if (!taskQueue.endsWith('-parked') && historyLength > 0) inLine.push(key);
    }
    const [decided, moved] = inLine.toReversed();
    if (decided === undefined || moved === undefined)
      throw new Error('every call moved at once: record on a busier machine');
    await host.decide({ key: decided, decision: 'approve', requestId: randomUUID() });
    await settled(host, decided);
    await until(
      'the other has moved',
      () => client.workflow.getHandle(correlationIdFor(moved)).describe(),
      ({ taskQueue, historyLength }) => taskQueue.endsWith('-parked') && historyLength >= 4,
    );
    await save(
      client,
      { 'decided-in-line': correlationIdFor(decided), 'moved-later': correlationIdFor(moved) },
      IN_BURSTS,
    );
  } finally {
    await bench.end();
  }
}

/** Killed between its park and the rule's decision: found parked by the next worker, which asks the rule again. */
async function recordOfLostRule(): Promise<void> {
  const bench = await openBench('temporal');
  try {
    const gate = bench.gate();
    const call = { key: randomUUID(), arguments: { approval_tier: 'auto' } };
    const before = await gate.start({ script: { tier: 'yellow' }, kills: [{ step: 'decideByRule', when: 'before' }] });
    void before.call(call).catch(() => undefined);
    await before.ended;
    const host = await gate.start();
    await settled(host, call.key);
    await save(await bench.engine.client(), { 'killed-before-its-rule': correlationIdFor(call.key) }, RULE_ASKED_AGAIN);
  } finally {
    await bench.end();
  }
}

const RECORDINGS = {
  calls: recordOfStack,
  models: recordOfModels,
  'ledger-down': recordOfLedgerDown,
  burst: recordOfBurst,
  'lost-rule': recordOfLostRule,
  stream: () => recordStream(recordings),
  'callbacks-and-pass': () => recordCallbacksAndPass(recordings),
  probes: () => recordProbes(recordings),
  reviews: () => recordReviews(recordings),
};
const { positionals: asked, values } = parseArgs({
  allowPositionals: true,
  options: { replace: { type: 'string', multiple: true, default: [] } },
});
const strange = asked.find((name) => !(name in RECORDINGS));
if (strange !== undefined) throw new Error(`${strange} is none of ${Object.keys(RECORDINGS).join(', ')}`);
const recordings = openRecordings(PROJECT_ROOT, values.replace, (line) => process.stdout.write(`${line}\n`));
for (const [name, record] of Object.entries(RECORDINGS)) if (asked.length === 0 || asked.includes(name)) await record();
