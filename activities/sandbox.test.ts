import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallInput } from '../contracts/call.js';
import type { SandboxRequest } from '../contracts/sandbox.js';
import { loadAnalyzer } from '../adapters/sandbox/analyzer.js';
import type { Sandbox } from '../domain/sandbox/port.js';
import { openPipeline, type PipelineFixture } from '../test/support/pipeline-fixture.js';
import { createSandboxActivities } from './sandbox.js';

let gate: PipelineFixture;
beforeEach(async () => {
  gate = await openPipeline({ script: { tier: 'yellow' } });
});
afterEach(() => gate.close());

const rowOf = (call: CallInput) => gate.reviews.byCorrelation(call.correlation_id);
const parked = async (call: CallInput): Promise<void> => {
  expect(await gate.run(call)).toMatchObject({ state: 'parked' });
};

describe('a call that waits', () => {
  it('shows what the sandbox predicts of it', async () => {
    const call = await gate.call({ tool: 'delete_file', arguments: { path: 'accounts.db' } });
    await parked(call);
    expect((await rowOf(call))?.sandbox_report).toMatchObject({
      severity: 'destructive',
      summary: 'delete file `accounts.db`',
      targets: ['accounts.db'],
    });
  });

  it.each(['down', 'silent'] as const)('waits without a report where the sandbox is %s', async (sandbox) => {
    gate.script.sandbox = sandbox;
    const call = await gate.call({ tool: 'delete_file', arguments: { path: 'accounts.db' } });
    await parked(call);
    expect(await rowOf(call)).toMatchObject({ status: 'pending', sandbox_report: null });
  });

  it('does not have its report in what its agent is told', async () => {
    const call = await gate.call({ tool: 'delete_file', arguments: { path: 'accounts.db' } });
    expect(JSON.stringify(await gate.run(call))).not.toMatch(/sandbox|destructive/);
  });
});

describe('a call that does not wait', () => {
  it.each(['green', 'red'] as const)('is not analysed: %s', async (tier) => {
    gate.script.tier = tier;
    // Asking it would take the two seconds of a sandbox that says nothing.
    gate.script.sandbox = 'silent';
    const call = await gate.call();
    expect((await gate.run(call))?.state).not.toBe('parked');
    expect(await rowOf(call)).toBeNull();
  });
});

describe('the activity', () => {
  const asked: SandboxRequest[] = [];
  const sandboxOf = (analyze: Sandbox['analyze']) =>
    createSandboxActivities({
      calls: gate.calls,
      limitMs: 50,
      sandbox: { analyze: (request) => (asked.push(request), analyze(request)) },
    });

  it('asks by the request as it was staged, in the turn of its agent', async () => {
    const analyze = await loadAnalyzer();
    const call = await gate.call({ tool: 'delete_file', arguments: { path: 'a.txt' } });
    const report = await sandboxOf(async ({ method, params }) => analyze(method, params)).analyzeCall(call);
    expect(report).toMatchObject({ severity: 'destructive' });
    expect(asked.at(-1)).toEqual({
      method: call.method,
      params: { name: 'delete_file', arguments: { path: 'a.txt' } },
      agent: `${call.tenant}/${call.agent}`,
    });
  });

  it.each<[string, Sandbox['analyze']]>([
    ['refuses', () => Promise.reject(new Error('away'))],
    [
      'throws',
      () => {
        throw new Error('broken');
      },
    ],
    ['says nothing', () => new Promise(() => undefined)],
  ])('has no report where the sandbox %s', async (_how, analyze) => {
    expect(await sandboxOf(analyze).analyzeCall(await gate.call())).toBeNull();
  });

  it('has no report on a call that is not staged, or staged as another', async () => {
    const before = asked.length;
    const { call } = gate.unstaged();
    const sandbox = sandboxOf(() => Promise.reject(new Error('must not be asked')));
    expect(await sandbox.analyzeCall(call)).toBeNull();
    const staged = await gate.call();
    expect(await sandbox.analyzeCall({ ...staged, digest: `sha256:${'0'.repeat(64)}` })).toBeNull();
    expect(asked.length).toBe(before);
  });
});
