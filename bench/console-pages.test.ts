import { describe, expect, it } from '@jest/globals';
import { PAGES } from '../console/routes.js';
import type { Page } from '../console/visit.js';
import { openConsole } from '../test/support/console-over-hil.js';
import { askedPages, BY_HAND, firstOfEach, type HeldThere } from './console-pages.js';

const HELD: HeldThere = {
  review: 'a-review',
  decided: 'a-decided-one',
  link: 'a-link',
  call: 'a-call',
  agent: 'an-agent',
  case: 'a-case',
  policy: 'a policy.rego',
  document: 'a-document.json',
  template: 'a-template.rego',
  lastOfQueue: '/hil?cursor=last',
  rows: 1_000,
};
const added = (path: Page['path']): Page => ({
  path,
  role: 'viewer',
  show: () => Promise.reject(new Error('not here')),
});

describe('the pages that `npm run bench -- console` asks', () => {
  it('are all that the console has', () => {
    const asked = askedPages(PAGES, HELD);
    expect(asked.filter((one) => 'why' in one)).toEqual([]);
    expect([...new Set(asked.map(({ page }) => page))]).toEqual(PAGES.map(({ path }) => path));
  });

  it('are all painted in a browser, each as somebody comes to it first', () => {
    const painted = firstOfEach(askedPages(PAGES, HELD));
    expect(painted.map(({ page }) => page)).toEqual(PAGES.map(({ path }) => path));
    expect(painted).toContainEqual(expect.objectContaining({ page: '/compliance', address: '/compliance' }));
    expect(painted).toContainEqual({ page: '/hil', what: '', address: '/hil' });
  });

  it('have no parameter left in their address, and no name twice', () => {
    const asked = askedPages(PAGES, HELD).flatMap((one) => ('address' in one ? [one] : []));
    expect(asked.filter(({ address }) => address.includes('/:'))).toEqual([]);
    const names = asked.map(({ page, what }) => `${page} ${what}`);
    expect(names).toEqual([...new Set(names)]);
  });

  it('ask for the part that the list loads also where the queue has one page', () => {
    const asked = askedPages(PAGES, { ...HELD, lastOfQueue: '/hil' });
    expect(asked).toContainEqual(expect.objectContaining({ address: '/hil?part=rows' }));
  });

  it('ask for what they are named by: a window that the page has, which is the one that the ledger is asked for', async () => {
    const fixture = await openConsole();
    try {
      const found: string[] = [];
      fixture.ledger = (path, search) => (found.push(path + search), []);
      const browser = await fixture.browser();
      const pages = askedPages(PAGES, HELD).flatMap((one) => ('address' in one ? [one] : []));
      const asked: Record<string, string[]> = {};
      for (const { page, what, address } of pages) {
        found.length = 0;
        const { text } = await browser.get(address);
        expect([address, text.includes('invalid_window')]).toEqual([address, false]);
        asked[`${page} ${what}`.trim()] = [...found];
      }
      const day = encodeURIComponent(new Date(fixture.hil.now - 7 * 86_400_000).toISOString());
      for (const [name, question] of [
        ['/audit/agents/:agent/narrative', 'window=7d'],
        ['/audit/agents/:agent/narrative a day', 'window=1d'],
        ['/audit an agent in 7 days', `from=${day}`],
        ['/agents all, 30 days', 'since_hours=720'],
        ['/agents/:agent 30 days', 'since_hours=720'],
      ] as const)
        expect([name, asked[name]]).toEqual([name, expect.arrayContaining([expect.stringContaining(question)])]);
      expect(asked['/compliance its form, nothing counted']).toEqual([]);
    } finally {
      await fixture.close();
    }
  });

  it('come from the table of routes: a page that is added is asked, or told as not asked and why', () => {
    expect(askedPages([added('/new'), added('/hil/:id/new'), added('/things/:thing')], HELD)).toEqual([
      { page: '/new', what: '', address: '/new' },
      { page: '/hil/:id/new', what: '', address: '/hil/a-review/new' },
      { page: '/things/:thing', why: 'nothing here is known by things/:thing' },
    ]);
  });

  it('that are written by hand are pages of the console', () => {
    const paths: readonly string[] = PAGES.map(({ path }) => path);
    expect(BY_HAND.filter((path) => !paths.includes(path))).toEqual([]);
  });

  it('have names in their addresses that lead nowhere else', () => {
    expect(askedPages([added('/policies/:name/new')], HELD)).toMatchObject([
      { address: '/policies/a%20policy.rego/new' },
    ]);
  });
});
