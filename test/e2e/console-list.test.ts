import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page, Response } from 'playwright-core';
import { OPENED } from '../../adapters/review/summaries.js';
import { readAssets } from '../../api/console/assets.js';
import type { PendingRequest } from '../../contracts/review.js';
import { seriousFindings } from '../support/accessibility.js';
import { chromiumPath, openBrowser } from '../support/browser.js';
import { type ConsoleFixture, openConsole } from '../support/console-over-hil.js';
import { needs } from '../support/needs.js';
import { reportOf } from '../support/sandbox-report.js';
import { eventually } from '../support/waiting.js';

const executable = chromiumPath();
const inBrowser = executable === null ? describe.skip : describe;
const PARKED = 1_050;
const PART = /part=detail/;
inBrowser(`a long queue in a browser${needs('chromium', executable !== null)}`, () => {
  let fixture: ConsoleFixture;
  let browser: Browser;
  let address: string;
  beforeAll(async () => {
    browser = await openBrowser(executable ?? '');
    fixture = await openConsole(await readAssets());
    for (let n = 1; n <= PARKED; n += 1) await fixture.hil.park(n);
    address = (await fixture.service.app.listen({ host: '127.0.0.1', port: 0 })).replace('127.0.0.1', 'localhost');
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await fixture?.close();
  }, 60_000);

  let parked = 0;
  /** What is asked of calls on a page waits for this. */
  const gates = new WeakMap<Page, Promise<void>>();

  const opened = async (
    javaScriptEnabled: boolean,
    path = '/hil',
    hear: (answer: Response) => void = () => undefined,
    as: Parameters<ConsoleFixture['browser']>[0] = {},
  ) => {
    const context = await browser.newContext({ javaScriptEnabled });
    const { cookie } = await fixture.browser(as);
    await context.addCookies([{ name: 'gate_console_session', value: cookie, url: address }]);
    const page = await context.newPage();
    page.on('response', hear);
    // Before the page is there: what it asks while a browser begins to route passes by.
    await page.route(PART, async (route) => {
      await gates.get(page);
      await route.continue();
    });
    await page.goto(`${address}${path}`);
    return page;
  };

  const IDS = "[...document.querySelectorAll('[data-row]')].map((row) => row.dataset.row)";
  /** Scrolls until every row was there, and returns them in their order. */
  const scrolledToTheEnd = async (page: Page): Promise<readonly string[]> => {
    const seen = new Set<string>();
    await eventually('the last of the rows', async () => {
      for (const id of (await page.evaluate(IDS)) as string[]) seen.add(id);
      await page.evaluate("document.querySelector('.list').scrollBy(0, 2000)");
      return seen.size === PARKED;
    });
    // A list that was never drawn has the height of a whole one, and the last is shorter.
    await eventually('the last row is drawn', () =>
      page.evaluate<boolean>(`(() => {
        const list = document.querySelector('.list');
        list.scrollTop = list.scrollHeight;
        return [...document.querySelectorAll('[data-row]')].at(-1).checkVisibility({ contentVisibilityAuto: true });
      })()`),
    );
    return [...seen];
  };
  const scrolledTo = async (page: Page, share: number, id: string | undefined) => {
    await page.evaluate(
      `(() => { const list = document.querySelector('.list'); list.scrollTop = list.scrollHeight * ${share}; })()`,
    );
    await page.locator(`[data-row="${id}"]`).waitFor();
  };

  it('loads the next page when the end is near, and holds them all, so that somebody scrolls back', async () => {
    const page = await opened(true);
    const rows = page.locator('[data-row]');
    const ticked = rows.first().getByRole('checkbox');
    const kept = await ticked.getAttribute('value');
    await ticked.check();
    const all = await scrolledToTheEnd(page);
    const height = () => page.evaluate<number>("document.querySelector('.list').scrollHeight");
    const whole = await height();
    await scrolledTo(page, 0, kept ?? '');
    expect(await page.locator(`[data-row="${kept}"] input:checked`).count()).toBe(1);
    expect(await page.locator('[data-row] > a[aria-current]').count()).toBe(1);
    // Less than a row, of which parts may be rounded.
    expect(Math.abs((await height()) - whole)).toBeLessThan(40);
    // The page itself was not loaded anew.
    await scrolledTo(page, 1, all.at(-1));
    await page.context().close();
  }, 120_000);

  it('has only rows near what is seen in the page, and those that are ticked or chosen', async () => {
    const page = await opened(true);
    const all = await scrolledToTheEnd(page);
    const [first] = all;
    await eventually('rows far away are taken out', async () => {
      const there = (await page.evaluate(IDS)) as string[];
      // The list of the chosen one, the one below it, and what is near the end.
      return there.length <= 600 && there[0] === first && there.at(-1) === all.at(-1);
    });
    await scrolledTo(page, 0.5, all[Math.floor(PARKED / 2)]);
    await page.locator(`[data-row="${all[505]}"]`).getByRole('checkbox').check();
    await scrolledTo(page, 0, first);
    await eventually(
      'and others after those',
      async () => !((await page.evaluate(IDS)) as string[]).includes(all[805] ?? ''),
    );
    expect(await page.locator('.rows[aria-busy]').count()).toBeGreaterThan(0);
    expect(await seriousFindings(page, ['aria-required-children', 'aria-required-parent'])).toEqual([]);
    // What is ticked is sent, wherever it stands.
    await page.getByRole('button', { name: 'Deny ticked' }).click();
    await page.locator('.bulk').waitFor();
    expect(await page.locator('.bulk input[name="row"]').count()).toBe(1);
    expect(await page.locator('.bulk').innerHTML()).toContain(all[505]);
    await page.context().close();
  }, 120_000);

  it('goes back to a call whose row is far away, and on from there by keys', async () => {
    const page = await opened(true);
    const all = await scrolledToTheEnd(page);
    const isShown = (id: string | undefined) => page.locator(`[data-review="${id}"]`).waitFor();
    // The last row of a list, whose next one stands in another.
    await scrolledTo(page, 499 / PARKED, all[499]);
    await page.locator(`[data-row="${all[499]}"] > a`).click();
    await isShown(all[499]);
    await scrolledTo(page, 0, all[0]);
    await page.locator(`[data-row="${all[0]}"] > a`).click();
    await isShown(all[0]);
    await eventually(
      'its row is taken out',
      async () => !((await page.evaluate(IDS)) as string[]).includes(all[499] ?? ''),
    );
    await page.goBack();
    await isShown(all[499]);
    expect(await page.locator('[data-row]:has(> a[aria-current])').getAttribute('data-row')).toBe(all[499]);
    await page.keyboard.press('j');
    await isShown(all[500]);
    await page.keyboard.press('k');
    await page.keyboard.press('k');
    await isShown(all[498]);
    await page.context().close();
  }, 120_000);

  it('a search that stopped before the end says how far it came, and goes on: by itself, and without scripts by a link', async () => {
    const searched = { tenant: 'globex', sandbox_report: reportOf('move 5 EUR to `other`') };
    for (let n = 1; n <= OPENED; n += 1) await fixture.hil.park(2_000 + n, searched);
    const row = await fixture.hil.park(4_000, { ...searched, sandbox_report: reportOf('move 5 EUR to `vendor`') });
    const glx = { subject: 'operator:glx', tenant: 'globex' };
    const plain = await opened(false, '/hil?q=vendor', undefined, glx);
    expect(await plain.locator('[data-next]').innerText()).toMatch(
      /^None so far\. Searched as far as what was asked for .*\. Search on$/s,
    );
    await plain.getByRole('link', { name: 'Search on' }).click();
    await plain.locator(`[data-row="${row.id}"]`).waitFor();
    await plain.context().close();
    const live = await opened(true, '/hil?q=vendor', undefined, glx);
    await live.locator(`[data-row="${row.id}"]`).waitFor();
    // What comes meanwhile is searched too, and nothing else comes into the list.
    await fixture.hil.park(4_001, { ...searched, sandbox_report: reportOf('move 6 EUR to `other`') });
    const next = await fixture.hil.park(4_002, { ...searched, sandbox_report: reportOf('move 7 EUR to `vendor`') });
    await live.locator(`[data-row="${next.id}"]`).waitFor();
    expect(await live.locator('[data-row]').evaluateAll((rows) => rows.map((one) => one.dataset['row']))).toEqual([
      row.id,
      next.id,
    ]);
    await live.goto(`${address}/hil?q=nothing+has+this`);
    await live.getByText('No more of them: the search is at its end.').waitFor();
    await live.context().close();
    const times = 'update reviews set created_ms = -9223372036854775807 where tenant = ? and id not in (?, ?)';
    await fixture.hil.place.sql(times, ['globex', row.id, next.id]);
    const edited = await opened(false, '/hil?q=vendor', undefined, glx);
    expect(await edited.locator('[data-next]').innerText()).toBe(
      'None so far. The list is not searched to its end. Search on',
    );
    await edited.getByRole('link', { name: 'Search on' }).click();
    await edited.locator(`[data-row="${row.id}"]`).waitFor();
    await edited.context().close();
  }, 60_000);

  describe('the calls beside the shown one', () => {
    /** A page that shows the first of these calls and holds those beside it. */
    const holding = async (agent: string, count: number) => {
      const rows: PendingRequest[] = [];
      for (let at = 0; at < count; at += 1) rows.push(await fixture.hil.park(5_000 + parked++, { agent_id: agent }));
      const asked: string[] = [];
      const page = await opened(true, `/hil?q=${agent}`, (answer) => {
        if (!answer.url().includes('part=detail')) return;
        const told = () => void asked.push(`${answer.status()} ${new URL(answer.url()).pathname.slice(5)}`);
        // Nothing is held of a page that did not come whole, and none comes of a page that is closed meanwhile.
        if (answer.status() === 304) told();
        else void answer.finished().then(told, () => undefined);
      });
      await eventually('the next ones are held', () => Promise.resolve(asked.length === Math.min(2, count - 1)));
      const isShown = (row: PendingRequest | undefined) => page.locator(`[data-review="${row?.id}"]`).waitFor();
      const posted: string[] = [];
      page.on('request', (one) => one.method() === 'POST' && posted.push(new URL(one.url()).pathname));
      return { page, rows, asked, posted, isShown };
    };
    /** Holds back what is asked of calls until it is let through. */
    const held = (page: Page) => {
      let letThrough = () => undefined as void;
      gates.set(page, new Promise<void>((done) => (letThrough = done)));
      return () => letThrough();
    };

    /** Notes whether buttons that decide come back. */
    const watched = (page: Page) =>
      page.evaluate(`globalThis.cameBack = 0; new MutationObserver(() => { if (document.querySelector('.decide')) cameBack += 1; })
        .observe(document.body, { childList: true, subtree: true })`);

    it('are held, so that a key shows one at once, with what is asked about it on its way', async () => {
      const { page, rows, asked, isShown } = await holding('ahead', 4);
      expect(asked).toEqual([`200 ${rows[1]?.id}`, `200 ${rows[2]?.id}`]);
      const letThrough = held(page);
      await page.keyboard.press('j');
      await isShown(rows[1]);
      await page.keyboard.press('j');
      await isShown(rows[2]);
      letThrough();
      await eventually('both were looked at again, and nothing came again', () =>
        Promise.resolve([1, 2].every((at) => asked.includes(`304 ${rows[at]?.id}`))),
      );
      await eventually('the next one and the one before are held', () =>
        Promise.resolve(asked.slice(2).filter((one) => one.startsWith('200')).length === 2),
      );
      await page.keyboard.press('k');
      await isShown(rows[1]);
      await page.context().close();
    }, 60_000);

    it('are decided once it is known that they are as they were shown', async () => {
      const { page, rows, posted, isShown } = await holding('sure', 2);
      const letThrough = held(page);
      for (const key of ['j', 'd', 'n', 'o', 'Enter']) await page.keyboard.press(key);
      await isShown(rows[1]);
      expect(posted).toEqual([]);
      letThrough();
      await page.locator('article .tag.denied').waitFor();
      expect(posted).toEqual([`/hil/${rows[1]?.id}/deny`]);
      await page.context().close();
    }, 60_000);

    it('do not keep another one from being decided: after a look that was lost, or that another call overtook', async () => {
      for (const look of ['lost', 'overtaken'] as const) {
        const { page, rows, posted, isShown } = await holding(`look-${look}`, 6);
        let letThrough = () => undefined as void;
        const may = new Promise<void>((done) => (letThrough = done));
        const isOfIt = (url: URL) => url.search.includes('part=detail') && url.pathname.endsWith(rows[1]?.id ?? '');
        await page.route(isOfIt, async (route) => (look === 'lost' ? route.abort() : (await may, route.continue())));
        await page.keyboard.press('j');
        await isShown(rows[1]);
        if (look === 'lost') await page.waitForLoadState('networkidle');
        await page.locator(`[data-row="${rows[5]?.id}"] > a`).click();
        await isShown(rows[5]);
        letThrough();
        await page.getByRole('button', { name: 'Approve', exact: true }).click();
        await page.locator('article .tag.approved').waitFor();
        expect(posted).toEqual([`/hil/${rows[5]?.id}/approve`]);
        await page.context().close();
      }
    }, 90_000);

    it('do not come back as they were, from a look that is older than they are shown', async () => {
      const { page, rows, isShown } = await holding('late-look', 3);
      // So that the answer is a page.
      await fixture.hil.settle(rows[2] as PendingRequest, { status: 'denied' });
      let [letThrough, isLooked] = [() => undefined as void, false];
      const may = new Promise<void>((done) => (letThrough = done));
      const isOfIt = (url: URL) => url.search.includes('part=detail') && url.pathname.endsWith(rows[1]?.id ?? '');
      await page.route(
        isOfIt,
        async (route) => {
          const response = await route.fetch();
          isLooked = true;
          await may;
          await route.fulfill({ response });
        },
        { times: 1 },
      );
      await page.keyboard.press('j');
      await isShown(rows[1]);
      await eventually('it was looked at', () => Promise.resolve(isLooked));
      await page.keyboard.press('k');
      await isShown(rows[0]);
      await fixture.hil.settle(rows[1] as PendingRequest);
      await page.goBack();
      await isShown(rows[1]);
      await page.locator('article .tag.approved').waitFor();
      await watched(page);
      const late = page.waitForResponse((answer) => isOfIt(new URL(answer.url())));
      letThrough();
      await (await late).finished();
      await page.locator(`[data-row="${rows[1]?.id}"]`).waitFor({ state: 'detached' });
      expect(await page.evaluate('cameBack')).toBe(0);
      await page.context().close();
    }, 60_000);

    it('nor from a list that was asked for before they were decided', async () => {
      const { page, rows, isShown } = await holding('late-list', 3);
      const letLook = held(page);
      await page.keyboard.press('j');
      await isShown(rows[1]);
      let [letList, isAsked] = [() => undefined as void, false];
      const may = new Promise<void>((done) => (letList = done));
      await page.route(
        (url) => url.pathname.endsWith(rows[1]?.id ?? '') && !url.search.includes('part='),
        async (route) => {
          const response = await route.fetch();
          isAsked = true;
          await may;
          await route.fulfill({ response });
        },
        { times: 1 },
      );
      await fixture.hil.park(5_000 + parked++, { agent_id: 'late-list' });
      await eventually('the list was asked for', () => Promise.resolve(isAsked));
      await fixture.hil.settle(rows[1] as PendingRequest);
      letLook();
      await page.locator('article .tag.approved').waitFor();
      await watched(page);
      const list = page.waitForResponse(
        (answer) => answer.url().includes(rows[1]?.id ?? '-') && !answer.url().includes('part='),
      );
      letList();
      await (await list).finished();
      await page.locator(`[data-row="${rows[1]?.id}"]`).waitFor({ state: 'detached' });
      expect(await page.evaluate('cameBack')).toBe(0);
      await page.context().close();
    }, 60_000);

    it('are looked at also where the key that opened them waited for another call', async () => {
      const { page, rows, posted, isShown } = await holding('look-waits', 4);
      const gates = new Map<string, () => void>();
      const closed = new Map(
        [rows[3], rows[2]].map((row) => [row?.id ?? '', new Promise<void>((done) => gates.set(row?.id ?? '', done))]),
      );
      await page.route(PART, async (route) => {
        await closed.get(new URL(route.request().url()).pathname.slice(5));
        await route.continue();
      });
      await page.locator(`[data-row="${rows[3]?.id}"] > a`).click();
      await page.keyboard.press('k');
      gates.get(rows[3]?.id ?? '')?.();
      await isShown(rows[2]);
      await page.getByRole('button', { name: 'Approve', exact: true }).click();
      await page.getByText('Looking whether the call is still as it is shown.').waitFor();
      expect(posted).toEqual([]);
      gates.get(rows[2]?.id ?? '')?.();
      await page.locator('article .tag.approved').waitFor();
      expect(posted).toEqual([`/hil/${rows[2]?.id}/approve`]);
      await page.context().close();
    }, 60_000);

    it('are not decided while the review service is away: the page says which, and sends once it is back', async () => {
      const { page, rows, posted, isShown } = await holding('look-away', 2);
      const letThrough = held(page);
      await page.keyboard.press('j');
      await isShown(rows[1]);
      fixture.away.add('hil');
      const approve = page.getByRole('button', { name: 'Approve', exact: true });
      try {
        await approve.click();
        letThrough();
        await page.getByRole('alert').filter({ hasText: 'Nothing was sent: ' }).waitFor();
        // An event of another call does not wipe it away.
        expect(await page.locator('[data-not-sent]').textContent()).toMatch(/review/i);
      } finally {
        fixture.away.delete('hil');
      }
      expect(posted).toEqual([]);
      await approve.click();
      await page.locator('article .tag.approved').waitFor();
      expect(posted).toEqual([`/hil/${rows[1]?.id}/approve`]);
      await page.context().close();
    }, 60_000);

    it('are not decided where somebody else did so before they were shown: nothing is sent, and what was typed stays', async () => {
      const { page, rows, posted } = await holding('old', 2);
      const letThrough = held(page);
      const [, other] = rows;
      if (other) await fixture.hil.settle(other, { by: 'operator:second', status: 'approved' });
      for (const key of ['j', 'd', 'n', 'o', 'Enter']) await page.keyboard.press(key);
      letThrough();
      await page.getByText('What you typed is still here.').waitFor();
      expect(await page.getByLabel('Reason, which its agent is told').inputValue()).toBe('no');
      expect(posted).toEqual([]);
      await page.context().close();
    }, 60_000);

    it('keep the reason that was typed for each, until it is sent or somebody signs out', async () => {
      const { page, rows, isShown } = await holding('typed', 2);
      const reason = page.getByLabel('Reason, which its agent is told');
      const typed = async (at: number, words: string) => {
        await isShown(rows[at]);
        await reason.fill(words);
        await page.keyboard.press('Escape');
      };
      await typed(0, 'of the first');
      await page.keyboard.press('j');
      await isShown(rows[1]);
      expect(await reason.inputValue()).toBe('');
      await typed(1, 'of the second');
      await page.keyboard.press('k');
      await isShown(rows[0]);
      expect(await reason.inputValue()).toBe('of the first');
      await page.keyboard.press('d');
      await page.keyboard.press('Enter');
      await page.locator('article .tag.denied').waitFor();
      const kept = () => page.evaluate("sessionStorage.getItem('gate.typed')");
      expect(await kept()).toBe(JSON.stringify({ by: 'operator:dev', reasons: [[rows[1]?.id, 'of the second']] }));
      await page.keyboard.press('j');
      await isShown(rows[1]);
      expect(await reason.inputValue()).toBe('of the second');
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.waitForURL(/\/login/);
      expect(await kept()).toBeNull();
      await page.context().close();
    }, 60_000);

    it('and show how they stand where nothing was typed', async () => {
      const { page, rows } = await holding('stands', 2);
      const [, other] = rows;
      if (other) await fixture.hil.settle(other, { by: 'operator:second', status: 'approved' });
      await page.keyboard.press('j');
      await page.getByText('by operator:second').waitFor();
      expect(await page.getByRole('button', { name: 'Approve', exact: true }).count()).toBe(0);
      await page.context().close();
    }, 60_000);
  });

  describe('of which more than the first page was loaded', () => {
    const IN_SIGHT = "document.querySelector('.list').getBoundingClientRect().top";
    const topOf = (page: Page, row: PendingRequest | undefined) =>
      page.evaluate<number>(
        `document.querySelector('[data-row="${row?.id}"]').getBoundingClientRect().top - ${IN_SIGHT}`,
      );
    /** A page with so many rows of this agent in it, of so many that wait. */
    const loaded = async (agent: string, count = 120, shown = count) => {
      const rows: PendingRequest[] = [];
      const park = async () => {
        // Rows of one moment stand in the order of their ids.
        fixture.hil.now += 1_000;
        rows.push(await fixture.hil.park(20_000 + parked++, { agent_id: agent }));
      };
      for (let at = 0; at < count; at += 1) await park();
      const page = await opened(true, `/hil?q=${agent}`);
      const all = page.locator('[data-row]');
      await eventually('all rows are loaded', async () => {
        if ((await all.count()) >= shown) return true;
        await page.evaluate("document.querySelector('.list').scrollBy(0, 2000)");
        return false;
      });
      return { page, rows, park, all };
    };

    it('is live still: a row that is decided elsewhere goes and one that arrives comes, and what is looked at stays', async () => {
      const { page, rows, park, all } = await loaded('long-list');
      await page.locator(`[data-row="${rows[115]?.id}"]`).getByRole('checkbox').check();
      await page.locator(`[data-row="${rows[60]?.id}"]`).scrollIntoViewIfNeeded();
      await page.locator(`[data-row="${rows[61]?.id}"] > a`).focus();
      const wasAt = await topOf(page, rows[61]);
      await fixture.hil.settle(rows[20] as PendingRequest);
      await page.locator(`[data-row="${rows[20]?.id}"]`).waitFor({ state: 'detached' });
      // Behind the page that is asked for again.
      await fixture.hil.settle(rows[110] as PendingRequest, { status: 'denied' });
      await page.locator(`[data-row="${rows[110]?.id}"]`).waitFor({ state: 'detached' });
      await park();
      await page.locator(`[data-row="${rows[120]?.id}"]`).waitFor({ state: 'attached' });
      const left = rows.filter((_, at) => at !== 20 && at !== 110).map(({ id }) => id);
      expect(await page.evaluate(IDS)).toEqual(left);
      expect(Math.abs((await topOf(page, rows[61])) - wasAt)).toBeLessThan(2);
      expect(await page.evaluate("document.activeElement.closest('[data-row]').dataset.row")).toBe(rows[61]?.id);
      expect(await page.locator('[data-row] input:checked').count()).toBe(1);
      expect(await page.locator('[data-row] > a[aria-current]').count()).toBe(1);
      expect(await page.locator('[data-live-status]').textContent()).toBe('');
      // The row with the focus goes: the one behind it has it, and nothing is opened.
      await fixture.hil.settle(rows[61] as PendingRequest);
      await page.locator(`[data-row="${rows[61]?.id}"]`).waitFor({ state: 'detached' });
      expect(await page.evaluate("document.activeElement.closest('[data-row]').dataset.row")).toBe(rows[62]?.id);
      await page.locator(`[data-review="${rows[0]?.id}"]`).waitFor();
      expect(await all.count()).toBe(118);
      await page.context().close();
    }, 120_000);

    it('goes on by keys from the place of the opened call, of which rows went before and which was decided itself', async () => {
      const { page, rows } = await loaded('long-keys');
      await page.locator(`[data-row="${rows[105]?.id}"] > a`).click();
      await page.locator(`[data-review="${rows[105]?.id}"]`).waitFor();
      for (const at of [3, 4, 105]) await fixture.hil.settle(rows[at] as PendingRequest);
      await page.locator('article .tag.approved').waitFor();
      for (const at of [3, 4, 105]) await page.locator(`[data-row="${rows[at]?.id}"]`).waitFor({ state: 'detached' });
      await page.getByText('The opened call waits no more.').waitFor();
      // Of the page that its row came with, which its address names, as of all others.
      expect(await page.locator('[data-row]').count()).toBe(117);
      expect(await page.locator('.list .count').textContent()).toMatch(/^some of /);
      await page.keyboard.press('j');
      await page.locator(`[data-review="${rows[106]?.id}"]`).waitFor();
      await page.context().close();
    }, 120_000);

    /** A page that nobody sees listens to nothing. */
    const seen = (page: Page, isSeen: boolean) =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${!isSeen}, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'))`);

    it('is asked for anew as a whole after a time in which nobody listened', async () => {
      const { page, rows } = await loaded('long-lost');
      await seen(page, false);
      await fixture.hil.settle(rows[112] as PendingRequest);
      await seen(page, true);
      await page.locator(`[data-row="${rows[112]?.id}"]`).waitFor({ state: 'detached' });
      expect(await page.locator('[data-row]').count()).toBe(119);
      await page.context().close();
    }, 120_000);

    it('says that it may be old while a page of it does not come, and asks again for all of it', async () => {
      const { page, rows } = await loaded('long-away');
      await seen(page, false);
      await fixture.hil.settle(rows[112] as PendingRequest);
      await page.route(/part=rows/, (route) => route.abort());
      await seen(page, true);
      await page.getByText('what is shown may be old').waitFor();
      expect(await page.locator(`[data-row="${rows[112]?.id}"]`).count()).toBe(1);
      await page.unroute(/part=rows/);
      await page.locator(`[data-row="${rows[112]?.id}"]`).waitFor({ state: 'detached' });
      await eventually('it is live again', async () => (await page.locator('[data-live-status]').textContent()) === '');
      await page.context().close();
    }, 120_000);

    it.each([
      ['before the next page is near', false],
      ['while the next page is on its way', true],
    ])(
      'leads on from the end that it has then, and has each row once: %s',
      async (_when, isOnItsWay) => {
        const { page, rows, all } = await loaded(`long-on-${isOnItsWay}`, 215, 200);
        let letThrough = () => undefined as void;
        if (isOnItsWay) {
          const held = new Promise<void>((done) => (letThrough = done));
          const asked = page.waitForRequest(/part=rows/);
          await page.route(/part=rows/, (route) => held.then(() => route.continue()), { times: 1 });
          await page.evaluate(
            "document.querySelector('.list').scrollTop = document.querySelector('.list').scrollHeight",
          );
          await asked;
        } else await page.evaluate("document.querySelector('.list').scrollTop = 0");
        expect(await all.count()).toBe(200);
        const next = page.locator('[data-next] a');
        const led = await next.getAttribute('href');
        await seen(page, false);
        for (const row of rows.slice(5, 10)) await fixture.hil.settle(row);
        await seen(page, true);
        // Five of the last fifteen came with the pages that were asked for again.
        await page.locator(`[data-row="${rows[204]?.id}"]`).waitFor({ state: 'attached' });
        expect(await next.getAttribute('href')).not.toBe(led);
        letThrough();
        const left = [...rows.slice(0, 5), ...rows.slice(10)].map(({ id }) => id);
        await eventually('all rows are loaded', async () => {
          await page.evaluate("document.querySelector('.list').scrollBy(0, 2000)");
          return (await page.evaluate<string[]>(IDS)).includes(left.at(-1) ?? '');
        });
        expect(await page.evaluate(IDS)).toEqual(left);
        await page.context().close();
      },
      120_000,
    );
  });

  it('leads on by a link without scripts', async () => {
    const page = await opened(false);
    const first = await page.locator('[data-row]').first().getAttribute('data-row');
    await page.getByRole('link', { name: 'Next 100' }).click();
    await page.waitForURL(/cursor=/);
    expect(await page.locator('[data-row]').count()).toBe(100);
    expect(await page.locator(`[data-row="${first}"]`).count()).toBe(0);
    await page.getByRole('link', { name: 'From the beginning' }).click();
    await page.waitForURL(/hil(?!.*cursor=)/);
    expect(await page.locator(`[data-row="${first}"]`).count()).toBe(1);
    await page.context().close();
  }, 60_000);
});
