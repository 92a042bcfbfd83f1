import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { UpstreamOutcome } from '../domain/pipeline/upstream.js';
import { openPipeline, type PipelineFixture } from '../test/support/pipeline-fixture.js';

let gate: PipelineFixture;
beforeEach(async () => {
  gate = await openPipeline();
});
afterEach(() => gate.close());

const reply = (statusCode: number, failed: boolean): UpstreamOutcome => ({
  kind: 'reply',
  statusCode,
  text: '{}',
  failed,
});
const stepsAfter = async (outcome: UpstreamOutcome) => {
  gate.script.upstream = async () => outcome;
  await gate.run(await gate.call());
  const { recent_sequence: steps } = await gate.calls.history('acme', 'support-bot', 0);
  return steps.map(({ tool }) => tool);
};

describe('what inspection and policy see of an attempt afterwards', () => {
  it.each([
    ['a tool that says it failed', reply(200, true)],
    ['an answer that refuses', reply(403, false)],
    ['a server that broke', reply(500, false)],
    ['an answer that sends elsewhere', reply(302, false)],
    ['a refusal of the tool itself', reply(400, true)],
    ['a request that was not sent', { kind: 'not_sent', reason: 'connection refused' }],
    ['an answer that was lost', { kind: 'unknown', cause: 'invalid_answer', reason: 'socket closed' }],
  ] as const)('is nothing after %s', async (_what, outcome) => {
    expect(await stepsAfter(outcome)).toEqual([]);
  });

  it.each([200, 204])('is one step after an answer of %d', async (statusCode) => {
    expect(await stepsAfter(reply(statusCode, false))).toEqual(['read_file']);
  });
});
