import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallInput } from '../../contracts/call.js';
import type { JsonObject } from '../../contracts/json.js';
import { GateError } from '../../domain/errors.js';
import { parseProbes } from '../../domain/probes/probes.js';
import type { UpstreamOutcome } from '../../domain/upstream/upstream.js';
import { ENGINE_START_LIMIT_MS } from '../../test/support/engine.js';
import { openPipeline, type PipelineFixture } from '../../test/support/pipeline-fixture.js';
import {
  openWorkflowEnvironment,
  TASK_QUEUE,
  type WorkflowEnvironment,
} from '../../test/support/workflow-environment.js';
import { eventually } from '../../test/support/waiting.js';
import { createProbing } from '../../workers/probing.js';
import { probeIdOf } from './messages.js';

const probes = parseProbes(
  JSON.stringify({
    contract: 'gate.probes/v1',
    probes: {
      read_file: {
        tool: 'get_status',
        arguments: { reference: { from: '/correlation_id' } },
        completed: { at: '/json/status', is: ['booked'] },
        first_after_secs: 0,
        every_secs_at_most: 1,
        attempts: 3,
      },
    },
  }),
);
const said = (status: string): UpstreamOutcome => ({
  kind: 'reply',
  statusCode: 200,
  failed: false,
  text: JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    result: { content: [{ type: 'text', text: JSON.stringify({ status }) }] },
  }),
});
let engine: WorkflowEnvironment;
let gate: PipelineFixture;
/** What the probe says at each look. */
let looks: string[];
/** Fails the activity itself, as a store that is away does. */
let faults: number;
let away = false;

beforeAll(async () => {
  const open = () =>
    openPipeline({
      probes: {
        of: probes,
        askUrl: () => Promise.reject(new Error('unused')),
        probing: {
          begin: (id) =>
            away
              ? Promise.reject(new GateError('orchestrator_unavailable'))
              : createProbing(engine.client, TASK_QUEUE).begin(id),
        },
      },
      script: {
        upstream: async ({ params }) =>
          (params as JsonObject)['name'] === 'get_status'
            ? said(looks.shift() ?? 'open')
            : { kind: 'unknown', cause: 'invalid_answer', reason: 'it hung up' },
      },
    });
  gate = await open();
  // The host of the fixture would look as well.
  await gate.host.close();
  engine = await openWorkflowEnvironment(() => ({
    ...gate.activities,
    probeCall: (id) => {
      faults -= 1;
      return faults >= 0 ? Promise.reject(new Error('the store is away')) : gate.activities.probeCall(id);
    },
  }));
}, ENGINE_START_LIMIT_MS);
afterAll(async () => {
  await engine?.close();
  await gate.close();
});
beforeEach(() => {
  faults = 0;
});

async function lost(...saying: string[]): Promise<CallInput> {
  looks = saying;
  const call = await gate.call();
  expect(await engine.runner.start(call, Date.now() + 10_000)).toMatchObject({ state: 'uncertain' });
  return call;
}
const ended = async ({ correlation_id: id }: CallInput) => {
  const handle = engine.client.workflow.getHandle(probeIdOf(id));
  await eventually('the probe was started', () => handle.describe().catch(() => null));
  const result: unknown = await handle.result();
  await engine.replay(await handle.fetchHistory());
  return result;
};
const stages = async ({ correlation_id: id }: CallInput) =>
  (await gate.rows(id))
    .filter(({ event_kind: kind }) => kind === 'upstream.outcome')
    .map(({ policy_decision: decision }) => decision?.['stage']);

describe('the probe of a call whose outcome is unknown', () => {
  it('begins by itself, looks again after a pause, and ends when the effect is found; each step is a row', async () => {
    const call = await lost('open', 'booked');
    expect(await ended(call)).toEqual({ state: 'completed', wait_ms: null });
    expect(await stages(call)).toEqual(['uncertain', 'probed', 'probed', 'completed']);
    expect(gate.executed.filter(({ params }) => (params as JsonObject)['name'] === 'read_file')).toHaveLength(1);
  });

  it('ends without an end where nothing is proved: a person has the evidence', async () => {
    const call = await lost();
    expect(await ended(call)).toEqual({ state: 'uncertain', wait_ms: null });
    expect(await stages(call)).toEqual(['uncertain', 'probed', 'probed', 'probed']);
  });

  it('outlives a store that is away', async () => {
    faults = 2;
    expect(await ended(await lost('booked'))).toEqual({ state: 'completed', wait_ms: null });
  });

  it('that could not be started is started by reconciliation, once', async () => {
    away = true;
    const call = await lost('booked');
    away = false;
    await expect(engine.client.workflow.getHandle(probeIdOf(call.correlation_id)).describe()).rejects.toThrow();
    expect(await gate.activities.reconcileCalls()).toMatchObject({ failed: 0 });
    expect(await ended(call)).toEqual({ state: 'completed', wait_ms: null });
    expect(await gate.calls.followUpsDue('probe', Date.now() + 1, 10)).toEqual([]);
  });
});
