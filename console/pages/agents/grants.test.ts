import { beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { LONGEST_STANDING_REASON } from '../../../contracts/identity.js';
import { delegated } from '../../../test/support/delegated.js';
import { identityHere, pageOf, sendForm } from '../../../test/support/console-over-identity.js';
import { fieldsIn, formIn, partsIn, rowsOf, wordsIn } from '../../../test/support/html.js';

const here = identityHere();
const AGENT = '/agents/a-bot';
const FORM = `${AGENT}/revoke-grant`;
const BREAKS = `'"><img src=x onerror=alert(1)>`;

const register = (agent: string) =>
  here.identity.store.register(
    { tenant: 'acme', agent, envelope: { scope: ['tool:read', 'tool:list'], yellow: [] } },
    { by: 'operator:dev', nowMs: here.console.hil.now },
  );
const grant = (agent: string, sub: string, scope: readonly string[]) =>
  delegated(here.identity.store, { agent, sub, scope }, here.console.hil.now);
const rows = async (browser = here.first) => rowsOf(await pageOf(browser, AGENT), 'Grants').map(wordsIn);

beforeEach(async () => {
  await register('a-bot');
  await register('other-bot');
});

describe('what people delegated to an agent', () => {
  it('stands on its page, as far as it counts, and an administrator takes it back with his reason', async () => {
    expect(wordsIn(await pageOf(here.first, AGENT))).toContain('it asks for nobody but itself');
    const first = await grant('a-bot', BREAKS, ['tool:read']);
    const second = await grant('a-bot', 'bob', ['tool:list']);
    await grant('other-bot', 'carol', ['tool:read']);
    const page = await pageOf(here.first, AGENT);
    expect(page).not.toContain('<img');
    const offered = partsIn(page, 'option').map((part) => wordsIn(part));
    expect(offered).toContain(`user:bob (corp), tool:list: ${second}`);
    expect((await rows()).toSorted()).toEqual(
      [`${first} user:${BREAKS} (corp) tool:read 0 of 5`, `${second} user:bob (corp) tool:list 0 of 5`]
        .toSorted()
        .map((row) => expect.stringContaining(row)),
    );
    expect(await sendForm(here.first, AGENT, FORM, { grant: second, reason: 'it is done' })).toMatchObject({
      status: 303,
      headers: { location: AGENT },
    });
    // Both began in the same minute, so their ids begin alike.
    expect(second.slice(0, 8)).toBe(first.slice(0, 8));
    expect(await rows()).toEqual([expect.stringContaining(`${first} user:`)]);
    expect(here.told().filter((kind) => kind === 'grant.revoked')).toHaveLength(1);
  });

  it('is taken back on the page of the agent that has it alone, and once', async () => {
    const theirs = await grant('other-bot', 'carol', ['tool:read']);
    const mine = await grant('a-bot', 'ada', ['tool:read']);
    const sent = (grant: string, reason = 'odd') => sendForm(here.first, AGENT, FORM, { grant, reason });
    for (const odd of [theirs, randomUUID(), 'x']) {
      const refused = await sent(odd);
      expect([refused.status, wordsIn(refused.text)]).toEqual([
        404,
        expect.stringContaining('The agent has no such grant that is not over or taken back: nothing was done.'),
      ]);
      expect(fieldsIn(formIn(refused.text, FORM))).toMatchObject({ reason: 'odd' });
    }
    expect(await sent(mine, 'x'.repeat(LONGEST_STANDING_REASON + 1))).toMatchObject({ status: 400 });
    expect(await rows()).toHaveLength(1);
    expect(await sent(mine)).toMatchObject({ status: 303 });
    expect(await rows()).toEqual([]);
  });

  it('is taken back by no one else', async () => {
    const mine = await grant('a-bot', 'ada', ['tool:read']);
    for (const role of ['viewer', 'approver'] as const) {
      const browser = await here.console.browser({ role });
      expect(await rows(browser)).toHaveLength(1);
      expect(partsIn(await pageOf(browser, AGENT), 'form', { action: FORM })).toEqual([]);
      const fields = fieldsIn(formIn(await pageOf(browser, '/me'), '/logout'));
      expect(await browser.post(FORM, { ...fields, grant: mine })).toMatchObject({ status: 403 });
    }
    expect(await rows()).toHaveLength(1);
  });

  it('stands there newest first, so that those of before hide none', async () => {
    const all: string[] = [];
    for (let n = 0; n < 52; n += 1) {
      here.console.hil.now += 60_000;
      all.push(await grant('a-bot', `p${n}`, ['tool:read']));
    }
    const shown = await rows();
    expect(shown.map((row) => row.slice(0, 36))).toEqual(all.slice(2).toReversed());
    expect(wordsIn(await pageOf(here.first, AGENT))).toContain('The newest 50 of 52');
    // Also one that the page leaves out is taken back by its id.
    expect(await sendForm(here.first, AGENT, FORM, { grant: all[0] ?? '' })).toMatchObject({ status: 303 });
    expect(wordsIn(await pageOf(here.first, AGENT))).toContain('The newest 50 of 51');
  });

  it('that somebody edited in the store is named, and is taken back too', async () => {
    const mine = await grant('a-bot', 'ada', ['tool:read']);
    await here.identity.place.sql('UPDATE identity_grants SET human_sub = ? WHERE id = ?', ['eve', mine]);
    expect(await rows()).toEqual([expect.stringMatching(new RegExp(`^${mine} edited .* counts for nothing`))]);
    expect(await sendForm(here.first, AGENT, FORM, { grant: mine })).toMatchObject({ status: 303 });
  });
});
