import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { render } from 'preact-render-to-string';
import { type ConsoleFixture, openConsole } from '../../../test/support/console-over-hil.js';
import type { Visit } from '../../visit.js';
import { REDEEM } from './redeem.js';

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

  it('is none with another character in its signature', async () => {
    const { token } = await linked();
    const forged = `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`;
    expect((await page(forged)).status).toBe(404);
  });
});
