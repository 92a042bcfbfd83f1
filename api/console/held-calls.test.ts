import { describe, expect, it } from '@jest/globals';
import type { PendingRequest } from '../../contracts/review.js';
import { type ConsoleFixture, openConsole, type TestBrowser } from '../../test/support/console-over-hil.js';
import { fixture as openedFor } from '../../test/support/fixture.js';
import { tenantThatIs } from '../../test/support/identity-answers.js';

let fixture: ConsoleFixture;
openedFor(
  async () => (fixture = await openConsole()),
  () => fixture.close(),
);

const part = ({ id }: PendingRequest) => `/hil/${id}?part=detail`;
const tagOf = async (browser: TestBrowser, path: string): Promise<string> => {
  const { headers } = await browser.get(path);
  return typeof headers['etag'] === 'string' ? headers['etag'] : '';
};
/** The status for a browser that holds the call by that tag. */
const asked = async (browser: TestBrowser, row: PendingRequest, tag: string) => {
  const answer = await browser.get(part(row), { 'if-none-match': tag });
  if (answer.status === 304) expect(answer.text).toBe('');
  return answer.status;
};

describe('a call that a browser holds before it is looked at', () => {
  it('is not sent again while it is as it was, whatever the clock says', async () => {
    const row = await fixture.hil.park(1);
    const browser = await fixture.browser();
    const tag = await tagOf(browser, part(row));
    expect(tag).toMatch(/^W\/"[0-9a-f]{64}"$/);
    fixture.hil.now += 30_000;
    expect(await asked(browser, row, tag)).toBe(304);
  });

  it.each<[string, (row: PendingRequest, browser: TestBrowser) => Promise<unknown>]>([
    ['it was decided', (row) => fixture.hil.settle(row, { by: 'operator:second' })],
    ['somebody took it', (row, browser) => browser.post(`/hil/${row.id}/assign`)],
    ['somebody of several approved it', (row) => voted(row)],
    ['all of its tenant was stopped', async () => stopsTenant()],
    ['another call of its agent was decided', async () => fixture.hil.settle(await fixture.hil.park(2))],
  ])('is sent anew once %s', async (_, change) => {
    const row = await fixture.hil.park(1);
    const browser = await fixture.browser();
    const tag = await tagOf(browser, part(row));
    await change(row, browser);
    expect(await asked(browser, row, tag)).toBe(200);
  });

  it('is nothing to another session, and to nobody who is signed out', async () => {
    const row = await fixture.hil.park(1);
    const browser = await fixture.browser();
    const tag = await tagOf(browser, part(row));
    expect(await asked(await fixture.browser(), row, tag)).toBe(200);
    await browser.post('/logout');
    expect(await asked(browser, row, tag)).toBe(303);
  });

  it('is the call alone: a whole page is made each time', async () => {
    const row = await fixture.hil.park(1);
    const browser = await fixture.browser();
    expect(await tagOf(browser, `/hil/${row.id}`)).toBe('');
    expect((await browser.get(`/hil/${row.id}`, { 'if-none-match': '*' })).status).toBe(200);
  });
});

/** From the next page on that asks for it. */
function stopsTenant(): void {
  fixture.hil.now += 6_000;
  fixture.standings = tenantThatIs('suspended');
}

const voted = (row: PendingRequest) =>
  fixture.hil.reviews.settling.voted(row.id, [
    { by: 'operator:second', provenance: 'console-bearer', at: '2026-11-02T10:00:01.000Z', reason: 'agreed' },
  ]);
