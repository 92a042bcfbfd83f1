import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ConsoleFixture, openConsole, type TestBrowser } from '../../../test/support/console-over-hil.js';
import { buttonsIn, fieldIn, linksIn, partsIn, valuesIn } from '../../../test/support/html.js';

let fixture: ConsoleFixture;
let browser: TestBrowser;
beforeEach(async () => {
  fixture = await openConsole();
  browser = await fixture.browser({ role: 'viewer' });
});
afterEach(() => fixture.close());
const keep = (name: string, query: string, by = browser) => by.post('/audit/searches', { name, query });
const kept = async (by = browser, path = '/audit') => {
  const { text } = await by.get(path);
  // Each in a form of its own, by whose button it is forgotten.
  return partsIn(text, 'form', { action: '/audit/searches/forget' }).map((form) => {
    const [link] = linksIn(form);
    expect(buttonsIn(form).map(({ words }) => words)).toEqual([`Forget ${link?.words}`]);
    return [link?.words, link?.href];
  });
};

describe('the searches that somebody keeps', () => {
  it('are what the audit page was asked, by name, also for a viewer and after a restart', async () => {
    expect(await kept()).toEqual([]);
    const { status, headers } = await keep('wires', 'agent=pay-*&window=24h&verdict=deny');
    expect([status, headers['location']]).toEqual([303, '/audit?agent=pay-*&verdict=deny&window=24h']);
    await keep('all of b', 'agent=b');
    await fixture.restart();
    expect(await kept()).toEqual([
      ['all of b', '/audit?agent=b'],
      ['wires', '/audit?agent=pay-*&verdict=deny&window=24h'],
    ]);
  });

  it('are offered where something was asked, with what stands in the address', async () => {
    expect((await browser.get('/audit')).text).not.toContain('Keep this search');
    expect(fieldIn((await browser.get('/audit?agent=a%26b')).text, 'query')).toBe('agent=a%26b');
  });

  it('are replaced by one of the same name, and forgotten', async () => {
    await keep('mine', 'agent=a');
    await keep('mine', 'agent=b');
    expect(await kept()).toEqual([['mine', '/audit?agent=b']]);
    for (let twice = 0; twice < 2; twice += 1)
      expect(
        (await browser.post('/audit/searches/forget', { name: 'mine', query: 'tool=x' })).headers['location'],
      ).toBe('/audit?tool=x');
    expect(await kept()).toEqual([]);
  });

  it('are of one person of one tenant', async () => {
    await keep('mine', 'agent=a');
    for (const who of [
      { subject: 'operator:glx', tenant: 'globex' },
      { subject: 'operator:dev', tenant: 'globex' },
    ]) {
      const other = await fixture.browser(who);
      expect(await kept(other)).toEqual([]);
      await other.post('/audit/searches/forget', { name: 'mine', query: '' });
    }
    expect(await kept()).toEqual([['mine', '/audit?agent=a']]);
    expect(await kept(await fixture.browser())).toEqual([['mine', '/audit?agent=a']]);
  });

  it('are not kept where they are longer than any address, and what was typed does not come back as one', async () => {
    const query = `agent=${'x'.repeat(1_000_000)}`;
    for (const path of ['/audit/searches', '/audit/searches/forget']) {
      const { status, text, headers } = await browser.post(path, { name: 'long', query });
      expect([status, headers['location']]).toEqual([400, undefined]);
      expect(text).toContain('more than 4096 characters');
      expect(text.length).toBeLessThan(100_000);
    }
    expect(await kept()).toEqual([]);
  });

  it('are as long as they are in an address, where one letter may be nine', async () => {
    const refused = await browser.post('/audit/searches', { name: 'long', query: `agent=${'漢'.repeat(500)}` });
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('more than 4096 characters')]);
    await keep('short', `agent=${'漢'.repeat(400)}`);
    expect(await kept()).toEqual([['short', `/audit?agent=${encodeURIComponent('漢'.repeat(400))}`]]);
  });

  it('lead to the audit page alone, whatever a form said', async () => {
    await keep('mine', 'agent=a&next=https%3A%2F%2Fevil.example&before=7#x');
    await keep('other', '//evil.example/?a=1');
    expect(await kept()).toEqual([
      ['mine', '/audit?agent=a'],
      ['other', '/audit'],
    ]);
  });

  it('show their names as text', async () => {
    const name = '<b>x</b>\u202e"';
    await keep(name, 'agent=a');
    const { text } = await browser.get('/audit');
    expect(text).toContain('&lt;b>x&lt;/b>\\u{202e}');
    expect(text).not.toMatch(/<b>|\u202e/);
    const field = valuesIn(text, 'name').find((value) => value !== '') ?? '';
    await browser.post('/audit/searches/forget', { name: field, query: '' });
    expect(await kept()).toEqual([]);
  });

  it('are refused, kept or forgotten, under a name that not every store keeps', async () => {
    for (const [path, name] of [
      ['/audit/searches', 'a\0b'],
      ['/audit/searches/forget', 'a%00b'],
    ] as const) {
      const refused = await browser.post(path, { name, query: 'agent=pay-bot' });
      expect([path, refused.status, refused.text]).toEqual([path, 400, expect.stringContaining('invalid_request')]);
      expect(valuesIn(refused.text, 'agent')).toContain('pay-bot');
    }
    expect(await kept()).toEqual([]);
  });

  it('are refused without a name, with a long one, and beyond fifty; what was asked stays', async () => {
    for (const name of [' ', 'x'.repeat(81)]) {
      const refused = await keep(name, 'agent=pay-bot');
      expect([refused.status, valuesIn(refused.text, 'agent')]).toEqual([400, expect.arrayContaining(['pay-bot'])]);
    }
    for (let n = 0; n < 50; n += 1) await keep(`n ${n}`, 'agent=a');
    expect(await keep('one more', 'agent=a')).toMatchObject({
      status: 400,
      text: expect.stringContaining('forget one'),
    });
    expect((await keep('n 7', 'agent=b')).status).toBe(303);
  });
});
