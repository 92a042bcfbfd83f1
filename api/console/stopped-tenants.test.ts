import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Person } from '../../console/visit.js';
import type { StopRecord } from '../../contracts/identity.js';
import { eventually } from '../../test/support/waiting.js';
import type { Over } from '../plugins/declaration.js';
import { ASK_LIMITS } from './ask-limits.js';
import { stoppedTenants } from './stopped-tenants.js';

const stop = (tool: string | null): StopRecord => ({
  id: '50000000-0000-4000-8000-000000000005',
  tenant: 'acme',
  tool,
  state: 'suspended',
  changed_at: '2026-11-02T10:00:00.000Z',
  changed_by: 'operator:dev',
  reason: 'odd',
  report_id: null,
  release: null,
});
const who = (tenant: string | null) => ({
  person: { subject: 'operator:dev', tenant, mode: 'operator-token', role: 'viewer' } satisfies Person,
  proof: { authorization: 'Bearer x', cookie: 'a-session=y' },
});

let now: number;
let asked: { url: string; headers: Readonly<Record<string, string>> | undefined }[];
let answer: () => Promise<object>;
const over = Promise.resolve({
  url: 'https://identity.test',
  fetch: async (url: string, { headers }: { headers?: Readonly<Record<string, string>> }) => {
    asked.push({ url, headers });
    const body = JSON.stringify(await answer());
    return { status: 200, text: () => Promise.resolve(body) };
  },
} as never as Over);
const opened = () => stoppedTenants(over, { limits: ASK_LIMITS, clock: () => now });
beforeEach(() => {
  now = 1_000_000;
  asked = [];
  answer = () => Promise.resolve([stop(null)]);
});

describe('whether a tenant is stopped, as every page says it', () => {
  it('is heard once in five seconds, for the tenant of who is signed in, without a session of the review service', async () => {
    const tenants = opened();
    expect(tenants.isStopped('acme')).toBe(false);
    for (const step of [0, 4_999]) {
      now += step;
      await tenants.hear(who('acme'));
      expect(tenants.isStopped('acme')).toBe(true);
    }
    expect(asked).toEqual([
      {
        url: 'https://identity.test/stops?tenant=acme&state=suspended',
        headers: { authorization: 'Bearer x', 'x-gate-tenant-scope': 'acme' },
      },
    ]);
    expect(tenants.isStopped('globex')).toBe(false);
    answer = () => Promise.resolve([stop('a_tool')]);
    now += 1;
    await tenants.hear(who('acme'));
    expect([asked.length, tenants.isStopped('acme')]).toEqual([2, false]);
  });

  it('is as it was heard last where nobody answers, and no page fails or asks again by that', async () => {
    const tenants = opened();
    await tenants.hear(who('acme'));
    now += 5_000;
    answer = () => Promise.reject(new Error('away'));
    await tenants.hear(who('acme'));
    await tenants.hear(who('acme'));
    expect([asked.length, tenants.isStopped('acme')]).toEqual([2, true]);
  });

  it('is waited for a moment, and by one page alone, where nothing is said', async () => {
    const tenants = opened();
    let say: (stops: object) => void = () => undefined;
    answer = () => new Promise((resolve) => (say = resolve));
    await tenants.hear(who('acme'));
    await tenants.hear(who('acme'));
    expect([asked.length, tenants.isStopped('acme')]).toEqual([1, false]);
    // What this console did meanwhile is newer than what it asked before.
    tenants.note('acme', true);
    say([]);
    // While the next page waits, what was said late is read.
    now += 5_000;
    await tenants.hear(who('acme'));
    expect([asked.length, tenants.isStopped('acme')]).toEqual([2, true]);
  });

  it('is heard from an answer that comes after the next page asked', async () => {
    const tenants = opened();
    const says: ((stops: object) => void)[] = [];
    answer = () => new Promise((resolve) => says.push(resolve));
    await tenants.hear(who('acme'));
    now += 5_000;
    await tenants.hear(who('acme'));
    expect(says).toHaveLength(2);
    says[0]?.([stop(null)]);
    await eventually('it is heard', () => tenants.isStopped('acme'));
  });

  it('is heard anew after a clock was set back', async () => {
    const tenants = opened();
    await tenants.hear(who('acme'));
    now -= 3_600_000;
    answer = () => Promise.resolve([]);
    await tenants.hear(who('acme'));
    expect(tenants.isStopped('acme')).toBe(false);
  });

  it('is asked of nobody where this Gate has no identity, for who has all tenants, or who proves nothing to it', async () => {
    await opened().hear(who(null));
    await opened().hear({ ...who('acme'), proof: { cookie: 'a-session=y' } });
    await stoppedTenants(undefined, { limits: ASK_LIMITS, clock: () => now }).hear(who('acme'));
    expect(asked).toEqual([]);
  });
});
