import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { render } from 'preact-render-to-string';
import { type ConsoleFixture, openConsole } from '../../../test/support/console-over-hil.js';
import type { Visit } from '../../visit.js';
import { REDEEM } from './redeem.js';
import { fieldsIn, formIn, linkOf, valuesIn } from '../../../test/support/html.js';

describe('the page of a decision link that leads to no call', () => {
  it.each(['invalid', 'gone'])('has a heading, and says why: %s', async (reason) => {
    const visit = { query: {}, services: { hil: { verifyLink: () => Promise.resolve({ reason }) } } };
    const { status, body } = await REDEEM.show(visit as unknown as Visit);
    expect(status).toBe(404);
    expect(render(body)).toMatch(/<h1>No such link<\/h1>.*(not one that this Gate made|not there any more)/);
  });
});

describe('the page of a decision link', () => {
  let fixture: ConsoleFixture;
  let count = 0;
  beforeAll(async () => {
    fixture = await openConsole();
  });
  afterAll(() => fixture.close());
  const linked = async (query = 'action=approve') => {
    const row = await fixture.hil.park((count += 1));
    const { body } = await fixture.hil.ask(`/pending/${row.id}/decision-link?${query}`, { tenant: 'acme' });
    return { row, token: String((body as { token?: unknown }).token) };
  };
  const page = async (token: string, as: Parameters<ConsoleFixture['browser']>[0] = {}) =>
    (await fixture.browser(as)).get(`/decide/redeem?token=${token}`);
  const FORM = '<section class="decide"';

  it('is the call, with the forms that decide; the link itself decides nothing', async () => {
    const { row, token } = await linked();
    const { status, text } = await page(token);
    expect([status, text.includes(`data-review="${row.id}"`), text.includes(FORM)]).toEqual([200, true, true]);
    expect(text).toContain(
      'You followed a link to approve this call. Nothing is decided yet: read it, then decide below.',
    );
    expect((await fixture.hil.reviews.get(row.id, 'acme'))?.status).toBe('pending');
  });

  it('has no form for a viewer, and says so', async () => {
    const { text } = await page((await linked()).token, { role: 'viewer' });
    expect(text).not.toContain(FORM);
    expect(text).toContain('Nothing is decided yet: an approver decides it.');
    expect(text).toContain('Your role, viewer, looks on: an approver decides.');
  });

  it('is nobody else’s: another tenant finds no such link', async () => {
    const { row, token } = await linked();
    const { status, text } = await page(token, { subject: 'operator:glx', tenant: 'globex' });
    expect([status, text.includes(row.id)]).toEqual([404, false]);
  });

  it('says that the call is over once it was decided', async () => {
    const { row, token } = await linked();
    await fixture.hil.settle(row, { status: 'denied' });
    expect((await page(token)).text).toContain('This call is decided or over already; the link does nothing any more.');
  });

  it('says that it is too old after its time, and shows the call that still waits', async () => {
    const { row, token } = await linked('action=deny&ttl_secs=60');
    fixture.hil.now += 120_000;
    const { text } = await page(token);
    expect(text).toContain('This link is too old. The call may still wait: look in the queue.');
    expect(text).toContain(`data-review="${row.id}"`);
  });

  describe('says of a decision that it was made by it', () => {
    /** What a form about the call would send, `what` of it being the last of where it goes. */
    const sentBy = (text: string, id: string, what = 'deny') => fieldsIn(formIn(text, `/hil/${id}/${what}`));
    const through = async (id: string) => (await fixture.hil.reviews.get(id, 'acme'))?.decided_via;

    it.each(['approve', 'deny'])('%s, whatever it was a link to', async (decision) => {
      const { row, token } = await linked();
      const browser = await fixture.browser();
      const { text } = await browser.get(`/decide/redeem?token=${token}`);
      expect((await browser.post(`/hil/${row.id}/${decision}`, sentBy(text, row.id))).status).toBe(303);
      expect(await through(row.id)).toBe('signed-link');
    });

    it('with a change, made on the pages that it leads to', async () => {
      const { row, token } = await linked();
      const browser = await fixture.browser();
      const { text } = await browser.get(`/decide/redeem?token=${token}`);
      const change = linkOf(text, /^Change/);
      const post = (what: string, fields: Readonly<Record<string, string>>) =>
        browser.post(`/hil/${row.id}/modify${what}`, fields);
      const typed: Record<string, string> = {
        ...sentBy((await browser.get(change)).text, row.id, 'modify/preview'),
        'value.0': '1',
      };
      const shown = sentBy((await post('/preview', typed)).text, row.id, 'modify');
      const more = sentBy((await post('/more', shown)).text, row.id, 'modify/preview');
      expect([typed, shown, more].map((fields) => fields['link'])).toEqual([token, token, token]);
      expect((await post('', shown)).status).toBe(303);
      expect(await through(row.id)).toBe('signed-link');
    });

    it('after a form that was refused too, which shows the call again', async () => {
      const { row, token } = await linked();
      const browser = await fixture.browser();
      const fields = sentBy((await browser.get(`/decide/redeem?token=${token}`)).text, row.id);
      const refused = await browser.post(`/hil/${row.id}/deny`, { ...fields, digest: 'sha256:another' });
      expect(refused.status).toBe(409);
      await browser.post(`/hil/${row.id}/deny`, sentBy(refused.text, row.id));
      expect(await through(row.id)).toBe('signed-link');
    });

    it('and not of one that was made elsewhere, by the link of another call, by a forged one, or by one that is too old', async () => {
      const browser = await fixture.browser();
      const other = await linked();
      const forged = `${other.token.slice(0, -1)}${other.token.endsWith('0') ? '1' : '0'}`;
      for (const link of ['', other.token, forged, 'x'.repeat(600)]) {
        const { row } = await linked();
        const { text } = await browser.get(`/hil/${row.id}`);
        expect(valuesIn(text, 'link')).toEqual([]);
        expect((await browser.post(`/hil/${row.id}/approve`, { ...sentBy(text, row.id), link })).status).toBe(303);
        expect([link, await through(row.id)]).toEqual([link, 'console']);
      }
      const old = await linked('action=deny&ttl_secs=60');
      const fields = sentBy((await browser.get(`/decide/redeem?token=${old.token}`)).text, old.row.id);
      expect(fields['link']).toBe(old.token);
      fixture.hil.now += 120_000;
      expect((await browser.post(`/hil/${old.row.id}/deny`, fields)).status).toBe(303);
      expect(await through(old.row.id)).toBe('console');
    });
  });

  it('is none with another character in its signature', async () => {
    const { token } = await linked();
    const forged = `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`;
    expect((await page(forged)).status).toBe(404);
  });
});
