import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { TookTooLong } from '../../domain/in-place.js';
import type { Analyzer } from '../../domain/sandbox/analyze.js';
import { loadAnalyzer } from './analyzer.js';
import { createLocalSandbox, type LocalSandbox, type SandboxLimits } from './local-sandbox.js';

let analyze: Analyzer;
beforeAll(async () => {
  analyze = await loadAnalyzer();
});
const open: LocalSandbox[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((sandbox) => sandbox.close()));
});
const sandboxWith = (limits: SandboxLimits = {}, used: Analyzer = analyze): LocalSandbox => {
  const sandbox = createLocalSandbox(used, limits);
  open.push(sandbox);
  return sandbox;
};
const asking = (args: object, agent = 'acme/a') => ({
  method: 'tools/call',
  params: { name: 'bash', arguments: args },
  agent,
});
const LARGE = asking({ command: 'ls; '.repeat(2_000) });

describe('the sandbox in process', () => {
  it.each([
    ['a small call', asking({ command: 'rm -rf /srv' })],
    ['a large call, in its thread', LARGE],
    ['a call that is too large', asking({ command: 'x'.repeat(100_000) })],
  ])('says of %s what the analyzer says', async (_what, request) => {
    expect(await sandboxWith({ limitMs: 60_000 }).analyze(request)).toEqual(analyze(request.method, request.params));
  });

  it('does not start a thread for a call that is too large', async () => {
    const report = await sandboxWith({ limitMs: 1 }).analyze(asking({ command: 'x'.repeat(100_000) }));
    expect(report.analyzed).toBe(false);
  });

  it('analyses a small call that takes too long in a thread, from the beginning', async () => {
    const ends: string[] = [];
    const watched: Analyzer = (method, params, checkpoint) => {
      try {
        const report = analyze(method, params, checkpoint);
        ends.push('a report');
        return report;
      } catch (error) {
        ends.push(error instanceof TookTooLong ? 'given up' : String(error));
        throw error;
      }
    };
    const request = asking({ command: 'rm -rf /srv' });
    const report = await sandboxWith({ inPlaceMs: -1, limitMs: 60_000 }, watched).analyze(request);
    expect([ends, report]).toEqual([['given up'], analyze(request.method, request.params)]);
  });

  it('has no report where the thread is late', async () => {
    await expect(sandboxWith({ limitMs: 1 }).analyze(LARGE)).rejects.toMatchObject({
      code: 'sandbox_unavailable',
      status: 503,
    });
  });

  it('has no report once it is closed, or for an agent with too many large calls', async () => {
    const sandbox = sandboxWith({ limitMs: 60_000, longestQueue: 1 });
    const ends = await Promise.allSettled([1, 2, 3].map(() => sandbox.analyze(LARGE)));
    expect(ends.map(({ status }) => status)).toContain('rejected');
    await sandbox.close();
    await expect(sandbox.analyze(LARGE)).rejects.toMatchObject({ code: 'sandbox_unavailable' });
  });
});
