import { beforeEach, describe, expect, it } from '@jest/globals';
import { ACTIONS } from '../../console/routes.js';
import { type ConsoleFixture, openConsole, type TestBrowser } from '../../test/support/console-over-hil.js';
import { fixture as openedFor } from '../../test/support/fixture.js';
import { pageAddress } from '../../test/support/page-address.js';
import { formOf } from './form.js';

const ID = '00000000-0000-4000-8000-0000000000aa';
let fixture: ConsoleFixture;
let browser: TestBrowser;
openedFor(
  async () => (fixture = await openConsole()),
  () => fixture.close(),
);
beforeEach(async () => {
  browser = await fixture.browser();
});

describe('what somebody typed when the session was over', () => {
  it.each(ACTIONS.map(({ path, written }) => [path, written] as const))(
    'stands beside the refusal of %s, field by field, and nothing else of the form does',
    async (path, written) => {
      const csrf = await browser.csrf();
      fixture.hil.now += 2 * 3_600_000;
      const names = Object.keys(written).map((key) => key.replace('.*', '.0'));
      const typed = Object.fromEntries(names.map((name) => [name, `typed into ${name}`]));
      const others = { csrf, password: 'of nobody', token: 'of nobody', digest: 'of nobody' };
      const { status, text } = await browser.post(pageAddress(path, { id: ID }), { ...typed, ...others });
      expect(status).toBe(401);
      expect(
        [...text.matchAll(/aria-label="([^"]*)">([^<]*)<\/pre>/g)].map(([, label, said]) => [label, said]),
      ).toEqual(Object.entries(written).map(([key, label]) => [label, `typed into ${key.replace('.*', '.0')}`]));
      expect(text).not.toContain('of nobody');
    },
  );

  it('is nothing of a form that signs somebody in', async () => {
    const { text } = await fixture
      .stranger()
      .post('/login', { token: 'a-secret', password: 'a-secret', name: 'a-name' });
    expect(text).not.toMatch(/a-secret|a-name/);
  });
});

describe('what somebody typed that is refused', () => {
  it.each([
    ['/audit/searches', { name: 'x'.repeat(300), query: 'agent=a' }, 'x'.repeat(300)],
    ['/me/link-chat', { code: 'no such code' }, 'no such code'],
  ])('stands on the page of %s', async (path, fields, typed) => {
    const { status, text } = await browser.post(path, fields);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(text).toContain(`>${typed}</pre>`);
  });
});

describe('the fields into which people write', () => {
  it('are those that are named, by name or by what they begin with, and none that every object has', () => {
    const form = formOf(
      { reason: 'a', 'value.0': 'b', 'value.1': ' ', value: 'c', note: 'd', constructor: 'e' },
      { reason: 'Reason', 'value.*': 'Value' },
    );
    expect(form.written()).toEqual([
      { name: 'reason', label: 'Reason', text: 'a' },
      { name: 'value.0', label: 'Value', text: 'b' },
    ]);
  });
});
