import { describe, expect, it } from '@jest/globals';
import { isOfIdentity } from '../../domain/identity/identity-rows.js';
import { createRevocationMirror } from '../../domain/identity/revocation-mirror.js';
import { ADMIN, DEV, identityWithPeople, OTHERS, SECOND } from '../../test/support/identity-people.js';
import { serviceCaller, TRUST_DOMAIN } from '../../test/support/identity-service.js';
import { STORES } from '../../test/support/ledger.js';

describe.each(STORES)('what a tenant may spend, on %s', (kind) => {
  const { at, told, sql, ask, isRefused, kinds, listAfter } = identityWithPeople(kind);
  const set = (body: object, as = DEV, tenant = 'acme') => ask('POST', `/tenants/${tenant}/budget`, { as, body });
  const shown = async (as = DEV) => (await ask('GET', '/tenants/acme/budget', { as })).json() as unknown;

  it('has no limit until somebody sets one, which is told to proxies and to the ledger', async () => {
    expect(await shown()).toEqual({ tenant: 'acme', agents: [] });
    const reply = await set({ budget_micros: 5_000_000, reason: 'November' });
    const budget = {
      tenant: 'acme',
      budget_micros: 5_000_000,
      updated_at: new Date(at.now).toISOString(),
      updated_by: 'operator:dev',
      reason: 'November',
      agents: [],
    };
    expect([reply.statusCode, reply.json()]).toEqual([200, budget]);
    expect(await shown()).toEqual(budget);
    const list = await listAfter(0);
    expect(list.budgets).toEqual([
      { tenant: 'acme', agent_name: null, budget_micros: 5_000_000, changed_at: new Date(at.now).toISOString() },
    ]);
    // A list without any has the form that a proxy of before knows.
    expect(Object.keys(await listAfter(1))).not.toContain('budgets');
    // The same sum again changes nothing.
    at.now += 1_000;
    expect((await set({ budget_micros: 5_000_000 })).json()).toEqual(budget);
    expect(await kinds()).toEqual(['tenant.budget_changed']);
    expect(told()[0]).toMatchObject({
      tenant: 'acme',
      actor_sub: 'operator:dev',
      reasoning: 'a new budget: tenant acme',
      policy_decision: { budget_micros_before: null, budget_micros: 5_000_000 },
      payload_canonical_json: '{"reason":"November"}',
    });
    expect(told().every(isOfIdentity)).toBe(true);
  });

  it('is set for single agents beside it, and taken away by null', async () => {
    await set({ budget_micros: 100 });
    await set({ budget_micros: 10, agent_name: 'bot' }, SECOND);
    await set({ budget_micros: 0, agent_name: 'a-bot' });
    expect(await shown()).toMatchObject({
      budget_micros: 100,
      agents: [
        { agent_name: 'a-bot', budget_micros: 0, updated_by: 'operator:dev' },
        { agent_name: 'bot', budget_micros: 10, updated_by: 'operator:second' },
      ],
    });
    await set({ budget_micros: null, agent_name: 'bot' });
    expect((await set({ budget_micros: null })).json()).toEqual({
      tenant: 'acme',
      updated_at: new Date(at.now).toISOString(),
      updated_by: 'operator:dev',
      agents: [expect.objectContaining({ agent_name: 'a-bot' })],
    });
    await kinds();
    expect(told().at(-1)).toMatchObject({
      reasoning: 'the limit was taken off: tenant acme',
      policy_decision: { budget_micros_before: 100, budget_micros: null },
    });
  });

  it.each([
    ['less than nothing', -1],
    ['a part of a micro-unit', 1.5],
    ['a text', '5'],
    ['more than is counted exactly', 2 ** 53],
    ['nothing at all', undefined],
    ['a list', [1]],
  ])('is no sum: %s', async (_what, budget_micros) => {
    isRefused(await set({ budget_micros }), 400, 'budget_invalid');
    expect(await shown()).toEqual({ tenant: 'acme', agents: [] });
  });

  it('is set by administrators of the tenant alone, and read by its proxy', async () => {
    isRefused(await set({ budget_micros: 1 }, OTHERS), 403, 'tenant_mismatch');
    isRefused(await ask('GET', '/tenants/acme/budget', { as: OTHERS }), 403, 'tenant_mismatch');
    isRefused(await set({ budget_micros: 1 }, 'nobody'), 401, 'unauthenticated');
    expect((await set({ budget_micros: 1 }, ADMIN)).statusCode).toBe(200);
    at.caller = serviceCaller('proxy');
    expect((await ask('GET', '/tenants/acme/budget', { as: null })).json()).toMatchObject({ budget_micros: 1 });
    isRefused(await ask('POST', '/tenants/acme/budget', { body: { budget_micros: 2 } }), 403, 'capability_denied');
    await kinds();
    expect(told()[0]?.actor_sub).toMatch(/^admin-token:/);
  });

  it('counts at a proxy within its next question, and from a store that was put back only where it is less', async () => {
    const mirror = createRevocationMirror({ trustDomain: TRUST_DOMAIN, now: () => at.now });
    const heard = async () => {
      for (let came = 'more'; came !== 'whole'; ) came = mirror.take(await listAfter(mirror.position()));
      return mirror.budgetsOf({ tenant: 'acme', agent: 'bot' });
    };
    expect(await heard()).toEqual({ tenantMicros: null, agentMicros: null });
    await set({ budget_micros: 50 });
    await set({ budget_micros: 20, agent_name: 'bot' });
    expect(await heard()).toEqual({ tenantMicros: 50, agentMicros: 20 });
    expect(mirror.budgetsOf({ tenant: 'acme', agent: 'other' })).toEqual({ tenantMicros: 50, agentMicros: null });
    const [row] = await sql('select * from identity_budgets where agent_name is null');
    at.now += 1_000;
    await set({ budget_micros: 80 });
    expect(await heard()).toMatchObject({ tenantMicros: 80 });
    // As of a list that was asked for anew of a store of yesterday.
    const list = await listAfter(0);
    const earlier = new Date(Number(row?.['changed_ms'])).toISOString();
    mirror.take({
      ...list,
      after: mirror.position(),
      after_history: list.history,
      budgets: [{ tenant: 'acme', agent_name: null, budget_micros: 50, changed_at: earlier }],
    });
    expect(mirror.budgetsOf({ tenant: 'acme', agent: 'bot' })).toMatchObject({ tenantMicros: 50 });
    await set({ budget_micros: null });
    expect(await heard()).toMatchObject({ tenantMicros: null });
  });

  it('is refused where somebody edited it, and written anew by who sets it', async () => {
    await set({ budget_micros: 50 });
    await sql("update identity_budgets set budget_micros = 1000000 where tenant = 'acme'");
    isRefused(await ask('GET', '/tenants/acme/budget', { as: DEV }), 409, 'identity_tampered');
    isRefused(await ask('GET', '/revocation/list?after=0', {}), 409, 'identity_tampered');
    expect((await set({ budget_micros: 50 })).json()).toMatchObject({ budget_micros: 50 });
    await kinds();
    expect(told().at(-1)?.policy_decision).toMatchObject({
      budget_micros: 50,
      edited_rows: [expect.stringContaining('identity_budgets')],
    });
  });
});
