import { beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { LONGEST_STANDING_REASON } from '../../../contracts/identity.js';
import { delegated } from '../../../test/support/delegated.js';
import { identityHere, pageOf, sendForm } from '../../../test/support/console-over-identity.js';
import { fieldsIn, formIn, linkOf, partsIn, rowsOf, wordsIn } from '../../../test/support/html.js';

const here = identityHere();
const PAGE = '/grants';
const FORM = '/grants/revoke';
const BREAKS = `'"><img src=x onerror=alert(1)>`;

const grant = (agent: string, sub: string) =>
  delegated(here.identity.store, { agent, sub, scope: ['tool:read'] }, here.console.hil.now);
const rows = async (browser = here.first, page = PAGE) => rowsOf(await pageOf(browser, page), 'Grants').map(wordsIn);
const sent = (typed: Readonly<Record<string, string>>) => sendForm(here.first, PAGE, FORM, typed);

beforeEach(async () => {
  for (const agent of ['a-bot', 'other-bot'])
    await here.identity.store.register(
      { tenant: 'acme', agent, envelope: { scope: ['tool:read'], yellow: [] } },
      { by: 'operator:dev', nowMs: here.console.hil.now },
    );
});

describe('what people delegated to any agent', () => {
  it('is nothing at first, and the page of agents leads there', async () => {
    expect(wordsIn(await pageOf(here.first, PAGE))).toContain('every agent asks for nobody but itself');
    expect(await pageOf(here.first, '/agents')).toContain('href="/grants"');
  });

  it('is listed with its agent, and an administrator takes it back with his reason', async () => {
    const mine = await grant('a-bot', BREAKS);
    here.console.hil.now += 60_000;
    const other = await grant('other-bot', 'bob');
    const page = await pageOf(here.first, PAGE);
    expect(page).not.toContain('<img');
    expect(page).toContain('href="/agents/other-bot"');
    expect(await rows()).toEqual([
      expect.stringContaining(`${mine} a-bot user:${BREAKS} (corp) tool:read 0 of 5`),
      expect.stringContaining(`${other} other-bot user:bob (corp) tool:read 0 of 5`),
    ]);
    expect(await sent({ grant: mine, reason: 'it is done' })).toMatchObject({
      status: 303,
      headers: { location: PAGE },
    });
    expect(await rows()).toEqual([expect.stringContaining(other)]);
    expect(here.identity.told.filter(({ event_kind: kind }) => kind === 'grant.revoked')).toHaveLength(1);
    // Twice is once.
    expect(await sent({ grant: mine })).toMatchObject({ status: 303 });
    expect(here.identity.told.filter(({ event_kind: kind }) => kind === 'grant.revoked')).toHaveLength(1);
  });

  it('is taken back where it is one, and what was typed is shown again where it is not', async () => {
    await grant('a-bot', 'ada');
    for (const odd of [randomUUID(), '', 'x'.repeat(129)]) {
      const refused = await sent({ grant: odd, reason: 'odd' });
      expect(refused.status).toBe(404);
      expect(fieldsIn(formIn(refused.text, FORM))).toMatchObject({ reason: 'odd' });
    }
    const { status } = await sent({ reason: 'x'.repeat(LONGEST_STANDING_REASON + 1) });
    expect(status).toBe(400);
    expect(await rows()).toHaveLength(1);
  });

  it('is taken back by no one else', async () => {
    const mine = await grant('a-bot', 'ada');
    for (const role of ['viewer', 'approver'] as const) {
      const browser = await here.console.browser({ role });
      expect(await rows(browser)).toHaveLength(1);
      expect(partsIn(await pageOf(browser, PAGE), 'form', { action: FORM })).toEqual([]);
      const fields = fieldsIn(formIn(await pageOf(browser, '/me'), '/logout'));
      expect(await browser.post(FORM, { ...fields, grant: mine })).toMatchObject({ status: 403 });
    }
    expect(await rows()).toHaveLength(1);
  });

  it('goes on behind a hundred', async () => {
    const all: string[] = [];
    for (let n = 0; n < 101; n += 1) {
      here.console.hil.now += 1_000;
      all.push(await grant(n < 60 ? 'a-bot' : 'other-bot', `p${n}`));
    }
    expect((await rows()).map((row) => row.slice(0, 36))).toEqual(all.slice(0, 100));
    const later = linkOf(await pageOf(here.first, PAGE), 'Later ones');
    expect((await rows(here.first, later)).map((row) => row.slice(0, 36))).toEqual(all.slice(100));
    const behind = await pageOf(here.first, `${PAGE}?after=${all[100]}`);
    expect(wordsIn(behind)).toContain('There is no other one.');
    // What is no id begins anew.
    expect(await rows(here.first, `${PAGE}?after=${'x'.repeat(129)}`)).toHaveLength(100);
  });

  it('that somebody edited in the store is named, and is taken back too', async () => {
    const mine = await grant('a-bot', 'ada');
    await here.identity.place.sql('UPDATE identity_grants SET human_sub = ? WHERE id = ?', ['eve', mine]);
    expect(await rows()).toEqual([expect.stringMatching(new RegExp(`^${mine} edited .* counts for nothing`))]);
    expect(await sent({ grant: mine })).toMatchObject({ status: 303 });
    expect(await rows()).toEqual([]);
  });
});
