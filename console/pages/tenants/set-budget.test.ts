import { describe, expect, it } from '@jest/globals';
import { identityHere, pageOf, sendForm } from '../../../test/support/console-over-identity.js';
import { fieldsIn, formIn, partsIn, rowsOf, wordsIn } from '../../../test/support/html.js';

const FORM = '/tenants/budget';
const here = identityHere();
const set = (typed: Readonly<Record<string, string>>) =>
  sendForm(here.first, '/tenants', FORM, { whose: 'agent_name' in typed ? 'agent' : 'tenant', ...typed });
const budgets = async () => rowsOf(await pageOf(here.first, '/tenants'), 'Budgets').map(wordsIn);
/** As identity has them. */
const stored = async () =>
  (await here.identity.store.budgets('acme')).map(({ agent, budgetMicros, setBy, reason }) => [
    agent,
    budgetMicros,
    setBy,
    reason,
  ]);

describe('the budget of a tenant', () => {
  it('is set, changed and taken away by an administrator, each a row of the ledger in his name', async () => {
    expect(await set({ sum: '250', reason: 'for November' })).toMatchObject({
      status: 303,
      headers: { location: '/tenants' },
    });
    expect(await budgets()).toEqual(['the tenant 250.00 1.25 0.50 operator:dev']);
    expect(await stored()).toEqual([[null, 250_000_000, 'operator:dev', 'for November']]);
    await set({ sum: ' 0 ' });
    expect(await budgets()).toEqual(['the tenant 0.00 1.25 0.50 operator:dev']);
    await set({ sum: 'none' });
    expect(await budgets()).toEqual(['the tenant no limit 1.25 0.50 operator:dev']);
    expect(here.told()).toEqual(Array.from({ length: 3 }, () => 'tenant.budget_changed'));
  });

  it('is of an agent too, that called or that identity knows; of another name only where somebody says that it is right', async () => {
    await set({ agent_name: 'a-bot', sum: '12.5' });
    await here.identity.store.register(
      { tenant: 'acme', agent: 'unknown-yet' },
      { by: 'operator:dev', nowMs: here.console.hil.now },
    );
    await set({ agent_name: 'unknown-yet', sum: '1' });
    const refused = await set({ agent_name: 'unknown-bot', sum: '2', reason: 'odd' });
    expect([refused.status, wordsIn(refused.text)]).toEqual([
      400,
      expect.stringContaining('No agent of this name is known'),
    ]);
    expect(fieldsIn(formIn(refused.text, FORM))).toMatchObject({ agent_name: 'unknown-bot', sum: '2', reason: 'odd' });
    await set({ agent_name: 'unknown-bot', sum: '2', unlisted: 'yes' });
    expect((await stored()).map(([agent, micros]) => [agent, micros])).toEqual([
      ['a-bot', 12_500_000],
      ['unknown-bot', 2_000_000],
      ['unknown-yet', 1_000_000],
    ]);
  });

  it.each(['', '12,50', '-1', '1e3', '1.0000001', 'None', '99999999999', '١٢'])(
    'is no such sum: %j; nothing is done, and what was typed stands again',
    async (sum) => {
      const refused = await set({ sum, reason: 'odd' });
      expect([refused.status, wordsIn(refused.text)]).toEqual([400, expect.stringContaining('a sum is a number as')]);
      expect(fieldsIn(formIn(refused.text, FORM))).toMatchObject({ sum, reason: 'odd' });
      expect(await stored()).toEqual([]);
    },
  );

  it.each([
    [{ whose: 'agent' }],
    [{ whose: 'agent', agent_name: '' }],
    [{ whose: 'tenant', agent_name: 'a-bot' }],
    [{ whose: '' }],
    [{ whose: '', agent_name: 'a-bot' }],
  ])('is that of the tenant only where somebody says so: %j does nothing', async (typed) => {
    const refused = await set({ sum: '0', ...typed });
    expect([refused.status, wordsIn(refused.text)]).toEqual([400, expect.stringContaining('say whose budget it is')]);
    expect(await stored()).toEqual([]);
  });

  it('is not set by a page that was shown before somebody else set one', async () => {
    await set({ sum: '1', agent_name: 'a-bot' });
    const before = fieldsIn(formIn(await pageOf(here.first, '/tenants'), FORM));
    const stale = () => here.first.post(FORM, { ...before, whose: 'tenant', sum: '250' });
    for (const later of [{ sum: '5' }, { sum: '7', agent_name: 'a-bot' }, { sum: 'none', agent_name: 'a-bot' }]) {
      here.console.hil.now += 1_000;
      await set(later);
      const refused = await stale();
      expect([refused.status, wordsIn(refused.text)]).toEqual([
        400,
        expect.stringContaining('Somebody changed a budget since you looked'),
      ]);
    }
    expect((await stored()).map(([, micros]) => micros)).not.toContain(250_000_000);
  });

  it('is changed by no one else', async () => {
    const sent = async (browser: Awaited<ReturnType<typeof here.console.browser>>) =>
      (
        await browser.post(FORM, {
          ...fieldsIn(formIn(await pageOf(browser, '/me'), '/logout')),
          whose: 'tenant',
          sum: '250',
        })
      ).status;
    for (const role of ['viewer', 'approver'] as const) {
      const browser = await here.console.browser({ role });
      expect(partsIn(await pageOf(browser, '/tenants'), 'form', { action: FORM })).toEqual([]);
      expect(await sent(browser)).toBe(403);
    }
    // Whom the console knows, and identity does not.
    expect(await sent(await here.console.browser({ subject: 'operator:third' }))).toBe(401);
    expect(await stored()).toEqual([]);
  });
});
