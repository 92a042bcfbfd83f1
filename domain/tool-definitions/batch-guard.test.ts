import { describe, expect, it } from '@jest/globals';
import { definitionFault, openDefinitions } from './batch-guard.js';
import type { ReviewedCall, ReviewGuard } from './review-guard.js';

const call: ReviewedCall = { tenant: 'acme', agent: 'bot', correlation_id: 'c', tool: 'gate/tools.batch' };

/** Knows tools by their digests, as an upstream lists them now. */
const guardOf = (listed: Record<string, string>): ReviewGuard => ({
  open: ({ tool }) =>
    Promise.resolve({
      reviewed: { sha256: listed[tool] ?? null, upstream: 'demo' },
      told: `definition ${listed[tool] ?? 'UNLISTED'}`,
      says: [`the tool says of itself: ${tool}`],
    }),
  fault: ({ tool }, reviewed) =>
    Promise.resolve(
      reviewed === undefined
        ? 'bound to nothing'
        : 'unbound' in reviewed
          ? listed[tool] === undefined
            ? 'not as pinned'
            : null
          : (listed[tool] ?? null) === reviewed.sha256
            ? null
            : 'changed',
    ),
});
const left = () => 1_000;

describe('the definitions of the tools of a batch', () => {
  it('are bound one by one, and told by name, each tool once', async () => {
    const opened = await openDefinitions(guardOf({ pay: 'd1', tell: 'd2' }), call, ['pay', 'tell', 'pay']);
    expect(opened).toEqual({
      reviewed: { sha256: null, upstream: 'demo', tools: { pay: 'd1', tell: 'd2' } },
      told: ['`pay`: definition d1', '`tell`: definition d2'],
      says: ['`pay`: the tool says of itself: pay', '`tell`: the tool says of itself: tell'],
    });
  });

  it('stop the whole batch where one has changed since the review, or is bound to nothing', async () => {
    const { reviewed } = await openDefinitions(guardOf({ pay: 'd1', tell: 'd2' }), call, ['pay', 'tell']);
    const faultNow = (listed: Record<string, string>, tools: readonly string[] = ['pay', 'tell']) =>
      definitionFault(guardOf(listed), call, tools, reviewed, left);
    expect(await faultNow({ pay: 'd1', tell: 'd2' })).toBeNull();
    expect(await faultNow({ pay: 'd1', tell: 'd3' })).toBe('`tell`: changed');
    expect(await faultNow({ pay: 'd1', tell: 'd2', other: 'd4' }, ['other'])).toBe('`other`: bound to nothing');
    expect(await definitionFault(guardOf({}), call, ['pay'], undefined, left)).toBe('`pay`: bound to nothing');
    expect(await definitionFault(guardOf({}), call, ['toString'], reviewed, left)).toBe('`toString`: bound to nothing');
  });

  it('are asked for one by one where an earlier Gate bound the review to none', async () => {
    const faultNow = (listed: Record<string, string>, tools: readonly string[] | null) =>
      definitionFault(guardOf(listed), call, tools, { unbound: true }, left);
    expect(await faultNow({ pay: 'd1', tell: 'd2' }, ['pay', 'tell'])).toBeNull();
    expect(await faultNow({ pay: 'd1' }, ['pay', 'tell'])).toBe('`tell`: not as pinned');
    expect(await faultNow({ 'gate/tools.batch': 'd1' }, null)).toBeNull();
  });

  it('of any other call are those of its tool', async () => {
    const single = { ...call, tool: 'pay' };
    const guard = guardOf({ pay: 'd1' });
    const { reviewed, told } = await openDefinitions(guard, single, null);
    expect([reviewed, told]).toEqual([{ sha256: 'd1', upstream: 'demo' }, ['definition d1']]);
    expect(await definitionFault(guard, single, null, reviewed, left)).toBeNull();
  });
});
