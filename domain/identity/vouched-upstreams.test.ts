import { describe, expect, it } from '@jest/globals';
import { callUpstreamOf, createIntroductions } from './vouched-upstreams.js';

const ID = '019f0000-0000-7000-8000-000000000001';
const registered = { id: ID, tlsPin: null, spiffe: null };
const addressOf = (tool: string) =>
  ({ crm: 'https://crm.example/', new: 'https://new.example/' })[tool.split('__')[0] ?? ''] ?? null;

describe('what the row of a call says of its upstream', () => {
  const of = (tools: readonly string[], any = true, isAnother = false) =>
    callUpstreamOf(
      addressOf,
      {
        upstreamAt: (url) => (any && url === 'https://crm.example/' ? registered : null),
        vouchesForAny: () => any,
      },
      { isAnother: () => isAnother },
    )(tools);

  it('is nothing where nobody vouched for any, or it has no address', () => {
    expect([of(['crm__read'], false), of(['command__run']), of([])]).toEqual([null, null, null]);
  });

  it('is who it is, or that nobody vouched for it', () => {
    expect(of(['crm__read'])).toEqual({ id: ID });
    expect(of(['new__read'])).toEqual({ id: null, signal: 'upstream_not_registered' });
    expect(of(['crm__read', 'new__read'])).toEqual({ id: null, signal: 'upstream_not_registered' });
  });

  it('is that it calls itself otherwise, for an hour', () => {
    expect(of(['crm__read'], true, true)).toEqual({ id: ID, signal: 'upstream_identity_mutated' });
    let now = 1_000;
    const heard = createIntroductions(() => now);
    heard.heard('a', 'crm@1');
    heard.heard('b', 'crm@1');
    heard.heard('a', 'crm@1');
    expect(heard.isAnother('a')).toBe(false);
    heard.heard('a', 'crm@2');
    expect([heard.isAnother('a'), heard.isAnother('b'), heard.isAnother('c')]).toEqual([true, false, false]);
    now += 3_600_000;
    expect(heard.isAnother('a')).toBe(false);
  });
});
