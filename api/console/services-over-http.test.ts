import { describe, expect, it } from '@jest/globals';
import type { Role } from '../../console/roles.js';
import type { Services } from '../../console/services.js';
import { openHil } from '../../test/support/hil.js';
import { ASK_LIMITS } from './ask-limits.js';
import { keptAnswers } from './kept.js';
import { NEIGHBOUR_NAMES } from './neighbour.js';
import { type Reached, servicesFor } from './services-over-http.js';

/** A row as the review service answers it. */
const aRow = async (): Promise<object> => {
  const hil = await openHil('sqlite');
  try {
    return await hil.park(1);
  } finally {
    await hil.close();
  }
};
const SECRET = 'ann@acme.example';

interface Asked {
  readonly service: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
}
function servicesOf(role: Role, tenant: string | null, say: (path: string) => unknown) {
  const asked: Asked[] = [];
  const over = (service: string) => {
    const ask = (text: string, { headers }: Pick<Asked, 'headers'>) => {
      const url = new URL(text);
      asked.push({ service, url, headers });
      return Promise.resolve({ status: 200, text: () => Promise.resolve(JSON.stringify(say(url.pathname))) });
    };
    return Promise.resolve({ url: `https://${service}.test`, fetch: Object.assign(ask, { stream: ask }) as never });
  };
  const atOnce: Reached['counting'] = (_whose, work) => work();
  const reached: Partial<Reached> = {
    over: Object.fromEntries(NEIGHBOUR_NAMES.map((name) => [name, over(name)])),
    readiness: {},
    counting: atOnce,
    copying: atOnce,
    kept: keptAnswers(0, () => 0),
    clock: () => 0,
    stoppedTenants: { isStopped: () => false, hear: () => Promise.resolve(), note: () => undefined },
    chain: { health: () => Promise.resolve('walking'), broken: () => null },
    limits: ASK_LIMITS,
  };
  const services = servicesFor({ subject: 'operator:a', tenant, mode: 'a', role }, { proof: 'p' }, reached as Reached);
  return { asked, services };
}

describe('a review row that somebody is given', () => {
  const ways: readonly (readonly [string, (hil: Services['hil']) => Promise<unknown>])[] = [
    ['row', (hil) => hil.row('a')],
    ['byCorrelation', (hil) => hil.byCorrelation('a')],
    ['waitingOf', (hil) => hil.waitingOf('a', 1)],
    ['lately', (hil) => hil.lately('a')],
    ['decide', (hil) => hil.decide('a', { decision: 'deny', reason: null, actionDigest: 'a', requestId: 'b' })],
    ['assign', (hil) => hil.assign('a', 'b')],
    ['note', (hil) => hil.note('a', 'b', null)],
  ];

  it.each([
    ['viewer', false],
    ['approver', true],
    ['admin', true],
  ] as const)('has for a %s its secrets: %s, whichever way it is asked for', async (role, isWhole) => {
    const row = { ...(await aRow()), request_payload: { to: SECRET } };
    const { services } = servicesOf(role, 'acme', (path) => (path === '/pending' ? [row] : row));
    for (const [name, way] of ways)
      expect([name, JSON.stringify(await way(services.hil)).includes(SECRET)]).toEqual([name, isWhole]);
  });
});

/** What is nobody's, and so asked without a tenant: the chain's copies, and the proof of a row, whose tenant is looked at. */
const OF_ALL = ['/exports', '/export', '/proof/inclusion', '/evaluate', '/policies/validate'];

describe('every question to a service', () => {
  it('is of the tenant of the person, in the query too where the service reads it there', async () => {
    const { asked, services } = servicesOf('admin', 'acme', () => ({}));
    // What the answer is does not count; the tenant is never given.
    const argument = (at: number): unknown => (at === 0 ? 'a' : { from: 'a', to: 'b', toString: () => '1' });
    // The proxy is asked for the page of health alone.
    for (const name of NEIGHBOUR_NAMES.filter((each) => each !== 'proxy'))
      for (const [way, ask] of Object.entries(services[name]) as [string, (...given: unknown[]) => unknown][]) {
        // `regulatory`, `lab` and `mine` are streams and have tests of their own; `behind` looks for what is everybody's.
        if (['regulatory', 'lab', 'mine', 'behind', 'chain', 'broken', 'health', 'saidByRules'].includes(way)) continue;
        const before = asked.length;
        await Promise.resolve(ask(...[0, 1, 2, 3].map(argument))).catch(() => undefined);
        expect([name, way, asked.length > before || way === 'ended']).toEqual([name, way, true]);
      }
    await services.health();
    await services.judgedAgain('a').catch(() => undefined);
    await services.ledger.saidByRules(1, 1).catch(() => undefined);
    expect(asked.length).toBeGreaterThan(50);
    for (const { service, url, headers } of asked) {
      const tenants = url.searchParams.getAll('tenant');
      const isTold = service !== 'hil' && service !== 'proxy' && !OF_ALL.includes(url.pathname);
      expect([url.href, headers['x-gate-tenant-scope'], tenants]).toEqual([url.href, 'acme', isTold ? ['acme'] : []]);
      expect([service, headers['proof']]).toEqual([service, ['hil', 'identity'].includes(service) ? 'p' : undefined]);
    }
  });

  it('is of all tenants for who has all', async () => {
    const { asked, services } = servicesOf('admin', null, () => ({}));
    await services.ledger.call('a').catch(() => undefined);
    expect(asked[0]?.url.search).toBe('');
    expect(asked[0]?.headers).toEqual({});
  });
});
