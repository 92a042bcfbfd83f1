import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ConsoleFixture, openConsole } from '../../../test/support/console-over-hil.js';
import { OPERATOR } from '../../../test/support/hil.js';
import { wordsIn } from '../../../test/support/html.js';

const OPERATION = '10000000-0000-4000-8000-000000000001';
const RECEIPT = {
  tenant: 'acme',
  operation_id: '20000000-0000-4000-8000-000000000002',
  kind: 'final_export',
  state: 'exported',
  generation: 1,
  rows_affected: 17,
  artifact_sha256: 'a'.repeat(64),
  artifact_bytes: 4_096,
  receipt_sha256: 'b'.repeat(64),
  updated_at: '2026-11-02T09:00:00.000Z',
};

let fixture: ConsoleFixture;
beforeEach(async () => {
  fixture = await openConsole();
});
afterEach(() => fixture.close());
const told = async (as: Parameters<ConsoleFixture['browser']>[0] = { role: 'viewer' }) =>
  wordsIn((await (await fixture.browser(as)).get('/tenants')).text);

describe('the tenant', () => {
  it('is active where nothing was done, and the page has no form for an approver but the one to sign out', async () => {
    fixture.standings = () => ({ status: 200, body: [] });
    expect(await told()).toMatch(/Tenant acme active.*Nothing was begun.*Nothing was done.*Nothing was done/);
    const { text } = await (await fixture.browser({ role: 'approver' })).get('/tenants');
    expect([...text.matchAll(/<form/g)]).toHaveLength(1);
  });

  it('goes: each step with its owner, state, attempts, receipt or error', async () => {
    const words = await told();
    expect(words).toMatch(/offboard, begun .* by a reason: a reason/);
    expect(words).toMatch(/1 authority fence identity succeeded 1 .*aaaaaaaa/);
    expect(words).toMatch(/2 credential keys identity manual recovery 5 .*a reason/);
    expect(words).toMatch(/8 retained backup disposition platform pending 0/);
  });

  it('has an operation that somebody edited in the store: it is named, beside the others', async () => {
    const tampered = 'edited in the store: identity_tenant_operations 0-bogus';
    fixture.standings = () => ({ status: 200, body: [{ id: '0-bogus', tenant: 'acme', tampered }] });
    expect(await told()).toContain(`edited ${tampered}. Nobody does anything by it.`);
  });

  it('has left: what each service did, with its receipt', async () => {
    await fixture.hil.park(1);
    const asked = await fixture.hil.ask('/admin/tenants/acme/lifecycle', {
      method: 'POST',
      token: OPERATOR,
      body: { operation_id: OPERATION, kind: 'offboard' },
    });
    expect(asked.status).toBe(200);
    fixture.ledger = (path) => (path === '/admin/tenants/acme/lifecycle' ? [RECEIPT] : []);
    const words = await told();
    expect(words).toMatch(/Tenant acme has left/);
    expect(words).toMatch(/10000000 offboard .* operator:dev offboarded 1 1 0/);
    expect(words).toContain('final export');
    expect(words).toContain('4096 bytes');
  });

  it('has what it and its agents may spend this month, spent and have reserved', async () => {
    const agent = { agent_name: 'other-bot', spent_micros: 40, reserved_micros: 0 };
    fixture.spend = { ...fixture.spend, agents: [agent] };
    const words = await told();
    expect(words).toMatch(/Who Budget Spent in 2026-11 Reserved Set by the tenant 5\.00 1\.25 0\.50 a reason/);
    expect(words).toMatch(/other-bot no limit 0\.00004 0\.00 stopped-bot 5\.00 0\.00 0\.00 a reason/);
  });

  it.each([
    ['identity', 'The identity service is away'],
    ['proxy', 'The proxy is away'],
  ] as const)('says that %s is away, and shows the rest', async (name, away) => {
    fixture.away.add(name);
    const words = await told();
    expect(words).toContain(away);
    expect(words).toContain('Its rows in the ledger Nothing was done');
  });

  it('says that identity does not know who asks, and shows the rest', async () => {
    fixture.standings = () => ({ status: 401, body: { error: 'unauthenticated', reason: 'who?' } });
    const words = await told();
    expect(words).toContain('What was begun The identity service does not say this here');
    expect(words).toContain('Its rows in the ledger Nothing was done');
  });

  it('is the person’s own alone', async () => {
    await fixture.hil.ask('/admin/tenants/acme/lifecycle', {
      method: 'POST',
      token: OPERATOR,
      body: { operation_id: OPERATION, kind: 'offboard' },
    });
    fixture.reached.length = 0;
    const words = await told({ subject: 'operator:glx', tenant: 'globex' });
    expect(words).toMatch(/Tenant globex active/);
    expect(words).not.toContain('acme');
    expect(fixture.reached.toSorted()).toEqual([
      'GET /admin/tenants/globex/lifecycle',
      'GET /admin/tenants/globex/lifecycle',
      'GET /spend',
      'GET /tenants/globex/budget',
      'GET /tenants/globex/lifecycle',
    ]);
  });

  it.each([
    ['hil', 'The review service is away', 'Its rows in the ledger Nothing was done'],
    ['ledger', 'The ledger is away', 'Tenant acme active'],
    ['identity', 'The identity service is away', 'Its rows in the ledger Nothing was done'],
  ] as const)('says that %s is away, and shows the rest', async (name, away, rest) => {
    fixture.away.add(name);
    const words = await told();
    expect(words).toContain(away);
    expect(words).toContain(rest);
  });
});
