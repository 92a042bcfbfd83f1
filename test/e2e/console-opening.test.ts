import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, BrowserContext, BrowserContextOptions, Page, Route } from 'playwright-core';
import { readAssets } from '../../api/console/assets.js';
import type { PendingRequest } from '../../contracts/review.js';
import { chromiumPath, openBrowser } from '../support/browser.js';
import { type ConsoleFixture, openConsole } from '../support/console-over-hil.js';
import { identityThatTells, tenantThatIs } from '../support/identity-answers.js';
import { needs } from '../support/needs.js';
import { oneOfEach, someOf } from '../support/some-of.js';
import { eventually } from '../support/waiting.js';

const executable = chromiumPath();
const inBrowser = executable === null ? describe.skip : describe;
const PART = /part=detail/;
const POSTED = (url: URL) => /\/(?:approve|deny)$/.test(url.pathname);

const TWO_FRAMES = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))';
/** Notes of each frame which call it shows, and how far it is scrolled. */
const NOTE_FRAMES = `(() => {
  const drawn = (globalThis.drawn = []);
  const note = () => {
    drawn.push([document.querySelector('[data-review]')?.dataset.review, scrollY]);
    requestAnimationFrame(note);
  };
  requestAnimationFrame(note);
})()`;
/** How many values of arguments lie under the buttons. */
const COVERED = `[...document.querySelectorAll('.arguments td')].filter((cell) => {
  const { x, y, width, height } = cell.getBoundingClientRect();
  const at = document.elementFromPoint(x + width / 2, y + height / 2);
  return at !== null && at.closest('.decide') !== null;
}).length`;

inBrowser(`one call after the other in a browser${needs('chromium', executable !== null)}`, () => {
  let fixture: ConsoleFixture;
  let browser: Browser;
  let address: string;
  const contexts: BrowserContext[] = [];
  beforeAll(async () => {
    browser = await openBrowser(executable ?? '');
    fixture = await openConsole(await readAssets());
    address = (await fixture.service.app.listen({ host: '127.0.0.1', port: 0 })).replace('127.0.0.1', 'localhost');
  }, 120_000);
  afterEach(async () => {
    await Promise.all(contexts.splice(0).map((context) => context.close()));
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await fixture?.close();
  }, 60_000);

  let count = 0;
  const parked = async (agent: string, rows: number, over = {}) => {
    const all: PendingRequest[] = [];
    for (let at = 0; at < rows; at += 1) all.push(await fixture.hil.park((count += 1), { agent_id: agent, ...over }));
    return all;
  };
  const enter = async (page: Page, as: Parameters<ConsoleFixture['browser']>[0] = {}) => {
    const { cookie } = await fixture.browser(as);
    await page.context().addCookies([{ name: 'gate_console_session', value: cookie, url: address }]);
  };
  /** A page of the calls of an agent. `parts` says what becomes of what is asked about a call; by default no call is held ahead. */
  const opened = async (
    agent: string,
    { parts = (route) => route.abort(), ...over }: BrowserContextOptions & { parts?: (route: Route) => unknown } = {},
  ) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...over });
    contexts.push(context);
    const page = await context.newPage();
    await enter(page);
    await page.route(PART, parts);
    await page.goto(`${address}/hil?q=${agent}`);
    return page;
  };
  /** Lets what was asked through when the test says so. */
  const gated = () => {
    let open = () => undefined as void;
    const may = new Promise<void>((done) => (open = done));
    return { open: () => open(), parts: async (route: Route) => (await may, route.continue()) };
  };
  const isShown = (page: Page, row: PendingRequest | undefined) => page.locator(`[data-review="${row?.id}"]`).waitFor();
  const shown = (page: Page) => page.locator('[data-review]').getAttribute('data-review');
  const chosen = (page: Page) => page.locator('[data-row]:has(> a[aria-current])').getAttribute('data-row');
  const says = (page: Page, words: string) => page.locator('[data-live-status]', { hasText: words }).waitFor();
  const press = async (page: Page, ...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key);
  };

  describe('while a decision is on its way', () => {
    it('no key and no row opens another call, which would throw the decision away', async () => {
      const rows = await parked('on-its-way', 2);
      const page = await opened('on-its-way');
      const { open, parts } = gated();
      await page.route(POSTED, parts);
      const said: string[] = [];
      page.on('console', (message) => void said.push(message.text()));
      const went: string[] = [];
      page.on(
        'request',
        (one) => one.isNavigationRequest() && went.push(`${one.method()} ${new URL(one.url()).pathname}`),
      );
      // Playwright looks at no page that is being left.
      await page.evaluate(`new MutationObserver(() => console.info(document.querySelector('form [role=status]')?.textContent))
        .observe(document.querySelector('.decide'), { childList: true, subtree: true })`);
      const row = await page.locator(`[data-row="${rows[1]?.id}"] > a`).boundingBox();
      await press(page, 'a');
      await page.getByRole('dialog').waitFor();
      await press(page, 'Shift+Tab', 'Enter', 'j', 'm', 'g', 'h');
      await page.mouse.click((row?.x ?? 0) + 20, (row?.y ?? 0) + 20);
      expect(said).toContain('Sent: waiting for the answer.');
      open();
      await page.locator('.notice', { hasText: 'Approved:' }).waitFor();
      expect(went).toEqual([`POST /hil/${rows[0]?.id}/approve`, `GET /hil/${rows[0]?.id}`]);
    }, 60_000);

    it('nor while it waits for the answer whether the call still is as it is shown', async () => {
      const rows = await parked('still-so', 3);
      const { open, parts } = gated();
      let asked = 0;
      const page = await opened('still-so', {
        parts: (route) => ((asked += 1) <= 2 ? route.continue() : parts(route)),
      });
      await eventually('the next ones are held', () => Promise.resolve(asked === 2));
      await page.waitForLoadState('networkidle');
      await press(page, 'j');
      await isShown(page, rows[1]);
      await press(page, 'a');
      await page.getByRole('dialog').waitFor();
      await press(page, 'Shift+Tab', 'Enter', 'j');
      await page.getByText('Looking whether the call is still as it is shown.').waitFor();
      expect(await shown(page)).toBe(rows[1]?.id);
      open();
      await page.locator('.notice', { hasText: 'Approved:' }).waitFor();
    }, 60_000);
  });

  it('the two calls on the way that keys moved last are held, and the next one on the other way', async () => {
    const rows = await parked('heading', 9);
    let asked: string[] = [];
    const page = await opened('heading', {
      parts: (route) => {
        const id = new URL(route.request().url()).pathname.split('/')[2];
        asked.push(String(rows.findIndex((row) => row.id === id)));
        return route.continue();
      },
    });
    const held = (...wanted: string[]) =>
      eventually(`${wanted.join(', ')} are asked for`, () =>
        Promise.resolve(wanted.every((row) => asked.includes(row))),
      );
    await held('1', '2');
    for (const [at, key] of ['j', 'j', 'j', 'j'].entries()) {
      await press(page, key);
      await isShown(page, rows[at + 1]);
    }
    await held('5', '6', '3');
    asked = [];
    await press(page, 'k');
    await isShown(page, rows[3]);
    await held('2', '1');
    expect(asked.indexOf('2')).toBeLessThan(asked.indexOf('1'));
  }, 60_000);

  it('a call that was made for another session loads the page whole, so that nobody decides as somebody whom it does not name', async () => {
    const rows = await parked('anew', 3);
    const page = await opened('anew', { parts: (route) => route.continue() });
    await page.waitForLoadState('networkidle');
    const csrf = () => page.locator('.top .who [name="csrf"]').inputValue();
    const before = await csrf();
    await enter(page);
    // Held ahead for the session before.
    await press(page, 'j');
    await eventually('the page is of the session of now', async () => (await csrf().catch(() => before)) !== before);
    await isShown(page, rows[1]);
    expect(await page.locator('.detail [name="csrf"]').first().inputValue()).toBe(await csrf());
    await page.getByRole('alert').getByText('You signed in anew in this browser').waitFor();
    await page.route(PART, (route) => route.continue());
    await page.waitForLoadState('networkidle');
    await enter(page, { subject: 'operator:glx', tenant: 'globex' });
    await page.locator(`[data-row="${rows[2]?.id}"] > a`).click();
    await page.locator('.top .who', { hasText: 'operator:glx' }).waitFor();
    expect(await page.getByRole('alert').textContent()).toBe(
      'Somebody else signed in in this browser: you were operator:dev, and this page is for operator:glx. Nothing of yours was sent.',
    );
    expect(await page.getByRole('button', { name: 'Approve', exact: true }).count()).toBe(0);
    // What one person typed is not put into the page of another.
    const typed = JSON.stringify({ by: 'operator:glx', reasons: [[rows[0]?.id, 'as glx']] });
    await page.evaluate(`sessionStorage.setItem('gate.typed', ${JSON.stringify(typed)})`);
    await enter(page);
    await page.goto(`${address}/hil/${rows[0]?.id}`);
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(await page.getByLabel('Reason, which its agent is told').inputValue()).toBe('');
  }, 60_000);

  describe('a call that does not come', () => {
    it('is said to be opened, marked in the list, and after five seconds given up: the shown one stays', async () => {
      const rows = await parked('hangs', 2);
      const page = await opened('hangs', { parts: () => undefined });
      await press(page, 'j');
      expect(await chosen(page)).toBe(rows[1]?.id);
      await says(page, 'Opening the call…');
      expect(await page.locator('.detail').getAttribute('aria-busy')).toBe('true');
      const posted: string[] = [];
      page.on('request', (one) => one.method() === 'POST' && posted.push(one.url()));
      const box = await page.getByRole('button', { name: 'Deny', exact: true, includeHidden: true }).boundingBox();
      await page.mouse.click((box?.x ?? 0) + 5, (box?.y ?? 0) + 5);
      await says(page, 'The call did not come');
      expect(posted).toEqual([]);
      expect([await shown(page), await chosen(page)]).toEqual([rows[0]?.id, rows[0]?.id]);
      await page.getByRole('button', { name: 'Deny', exact: true }).click();
      await page.locator('.notice', { hasText: 'Denied:' }).waitFor();
    }, 60_000);

    it('leaves what was typed and its address where there is no network, also backwards in the history', async () => {
      const rows = await parked('offline', 2);
      const first = rows[0]?.id ?? '-';
      const page = await opened('offline', {
        parts: (route) => (route.request().url().includes(first) ? route.abort() : route.continue()),
      });
      await page.locator(`[data-row="${rows[1]?.id}"] > a`).click();
      await isShown(page, rows[1]);
      const at = page.url();
      const reason = page.getByLabel('Reason, which its agent is told');
      await reason.fill('half a reason');
      await page.evaluate('history.back()');
      await says(page, 'The call did not come');
      await page.locator(`[data-row="${first}"] > a`).click();
      await says(page, 'The call did not come');
      expect([await shown(page), page.url(), await reason.inputValue()]).toEqual([rows[1]?.id, at, 'half a reason']);
    }, 60_000);
  });

  it('the last one that was asked for is shown, whichever answers first', async () => {
    const rows = await parked('order', 5);
    const first = gated();
    const page = await opened('order', {
      parts: (route) =>
        route
          .request()
          .url()
          .includes(rows[3]?.id ?? '-')
          ? first.parts(route)
          : route.continue(),
    });
    await page.locator(`[data-row="${rows[3]?.id}"] > a`).click();
    await page.locator(`[data-row="${rows[4]?.id}"] > a`).click();
    await isShown(page, rows[4]);
    const came = page.waitForResponse((answer) => answer.url().includes(`${rows[3]?.id}`));
    first.open();
    await (await came).finished();
    await page.waitForLoadState('networkidle');
    expect([await shown(page), await chosen(page)]).toEqual([rows[4]?.id, rows[4]?.id]);
  }, 60_000);

  describe('keys before the call is there', () => {
    it('are one step where they move, and nothing where they act on a call that nobody saw come', async () => {
      const rows = await parked('steps', 5);
      const { open, parts } = gated();
      const page = await opened('steps', { parts });
      await press(page, 'j', 'j', 'j', 'a', 'x');
      open();
      await isShown(page, rows[3]);
      expect(await page.getByRole('dialog').count()).toBe(0);
      expect(await page.locator('[data-row] input:checked').count()).toBe(0);
      await press(page, 'k', 'x');
      await isShown(page, rows[2]);
      expect(await page.locator('[data-row] input:checked').getAttribute('value')).toBe(rows[2]?.id);
    }, 60_000);

    it('read on by one window: those behind it were on no screen', async () => {
      const list = Array.from({ length: 64 }, (_, at) => `item ${at}`);
      const params = { name: 'pay', arguments: { list } };
      const rows = await parked('reads-on', 2, { request_payload: { method: 'tools/call', params } });
      const { open, parts } = gated();
      const page = await opened('reads-on', { parts });
      await page.evaluate(NOTE_FRAMES);
      await press(page, 'j', 'a', 'a', 'a', 'a', 'a', 'a');
      open();
      await isShown(page, rows[1]);
      await says(page, 'Read the arguments to their end');
      await page.evaluate(TWO_FRAMES);
      expect(await page.getByRole('dialog').count()).toBe(0);
      expect(await page.evaluate('scrollY')).toBeLessThanOrEqual(800);
      expect(await page.locator('#not-seen').count()).toBe(1);
      const drawn = (await page.evaluate('drawn')) as readonly (readonly [string, number])[];
      expect(drawn.find(([call]) => call === rows[1]?.id)).toEqual([rows[1]?.id, 0]);
    }, 60_000);

    it('read on from what the page itself shows first', async () => {
      const list = Array.from({ length: 64 }, (_, at) => `item ${at}`);
      const params = { name: 'pay', arguments: { list } };
      const [row] = await parked('reads-first', 1, { request_payload: { method: 'tools/call', params } });
      const page = await opened('reads-first');
      // A browser that draws nothing until it is let.
      await page.addInitScript(`{
        const asked = [];
        globalThis.requestAnimationFrame = (frame) => asked.push(frame);
        globalThis.draw = () => asked.splice(0).forEach((frame) => frame(0));
      }`);
      await page.goto(`${address}/hil/${row?.id}`);
      await press(page, 'a', 'a');
      expect(await page.evaluate('scrollY')).toBe(0);
      // Nothing moves either, since all of it may be drawn yet.
      expect(await page.locator('#not-seen').count()).toBe(0);
      await page.evaluate('draw(), draw()');
      await says(page, 'Read the arguments to their end');
    }, 60_000);

    it('ask nothing about a call that is left at once', async () => {
      const rows = await parked('asks-late', 3);
      const gates = rows.map(() => gated());
      const page = await opened('asks-late', {
        parts: (route) => gates[rows.findIndex(({ id }) => route.request().url().includes(id))]?.parts(route),
      });
      await press(page, 'j', 'a', 'j');
      gates[1]?.open();
      await isShown(page, rows[1]);
      for (let at = 0; at < 3; at += 1) await page.evaluate(TWO_FRAMES);
      expect(await page.getByRole('dialog').count()).toBe(0);
      gates[2]?.open();
      await isShown(page, rows[2]);
      for (let at = 0; at < 3; at += 1) await page.evaluate(TWO_FRAMES);
      expect(await page.getByRole('dialog').count()).toBe(0);
    }, 60_000);

    it('ask nothing where a reason is typed behind them', async () => {
      const rows = await parked('denies', 2);
      const { open, parts } = gated();
      const page = await opened('denies', { parts });
      await press(page, 'j', 'a', 'd', 'h', 'o');
      open();
      await isShown(page, rows[1]);
      for (let at = 0; at < 3; at += 1) await page.evaluate(TWO_FRAMES);
      expect(await page.getByRole('dialog').count()).toBe(0);
      expect(await page.locator('.decide input[name="reason"]').inputValue()).toBe('ho');
    }, 60_000);

    it('are nothing where a key is only held', async () => {
      const rows = await parked('held-down', 5);
      const { open, parts } = gated();
      const page = await opened('held-down', { parts });
      for (let at = 0; at < 4; at += 1) await page.keyboard.down('j');
      await page.keyboard.up('j');
      open();
      await isShown(page, rows[1]);
      await page.waitForLoadState('networkidle');
      expect(await shown(page)).toBe(rows[1]?.id);
    }, 60_000);
  });

  it('nothing of a short call moves while it is drawn', async () => {
    const rows = await parked('short', 2);
    const page = await opened('short', { parts: (route) => route.continue() });
    await page.evaluate(`globalThis.told = 0; new MutationObserver(() => { if (document.querySelector('#not-seen')) told += 1; })
      .observe(document.body, { childList: true, subtree: true })`);
    await press(page, 'j');
    await isShown(page, rows[1]);
    await page.locator('.decide.stays').waitFor();
    expect(await page.evaluate('told')).toBe(0);
  }, 60_000);

  it('a asks only once the end of the arguments was on screen, and before scrolls there', async () => {
    const list = Array.from({ length: 64 }, (_, at) => `item ${at}`);
    const params = { name: 'pay', arguments: { list } };
    await parked('long-call', 1, { request_payload: { method: 'tools/call', params } });
    const page = await opened('long-call');
    const end = page.locator('[data-arguments-end]');
    const inSight = async () => ((await end.boundingBox())?.y ?? 9_999) <= 800;
    expect(await inSight()).toBe(false);
    let [seen, presses] = [0, 0];
    const question = page.getByRole('dialog', { name: /^Approve\?/ });
    // Whoever jumps to the end has seen nothing of what is between.
    await press(page, 'd', 'Escape');
    expect(await inSight()).toBe(true);
    await press(page, 'a');
    while ((await question.count()) === 0) {
      await says(page, 'Read the arguments to their end');
      const at = (await page.evaluate('scrollY')) as number;
      // By a window at most, so that all of them were there.
      expect(at - seen).toBeLessThanOrEqual(800);
      seen = at;
      presses += 1;
      await press(page, 'a');
    }
    expect(await inSight()).toBe(true);
    expect(presses).toBeGreaterThan(1);
  }, 60_000);

  it('a call of more values than are listed is not read where its JSON is folded: a opens that', async () => {
    const list = Array.from({ length: 64 }, (_, at) => `item ${at}`);
    await parked('folds', 1, {
      request_payload: { method: 'tools/call', params: { name: 'pay', arguments: { list } } },
    });
    const page = await opened('folds');
    const json = page.locator('details[data-only-here]');
    await page.getByText('As JSON').click();
    await page.evaluate('scrollTo(0, 1e9)');
    await page.evaluate(TWO_FRAMES);
    expect(await page.locator('#not-seen').innerText()).toMatch(/^Open the JSON and scroll through it first/);
    await press(page, 'a');
    await says(page, 'Read the arguments to their end');
    expect(await page.getByRole('dialog').count()).toBe(0);
    expect(await json.getAttribute('open')).not.toBeNull();
    await page.evaluate(TWO_FRAMES);
    expect(await page.locator('#not-seen').innerText()).toMatch(/^Scroll through the arguments first/);
  }, 60_000);

  describe('Approve at its place below the arguments', () => {
    const LONG = {
      method: 'tools/call',
      params: {
        name: 'pay',
        arguments: Object.fromEntries(
          Array.from({ length: 36 }, (_, at) => [`item${String(at).padStart(2, '0')}`, 'x']),
        ),
      },
    };
    const question = (page: Page) => page.getByRole('dialog', { name: /^Approve\?/ });
    const button = (page: Page) => page.getByRole('button', { name: 'Approve', exact: true });

    /** The list stands beside the call, or above it (console.css). */
    const layoutOf = (width: number): string => (width > 760 ? 'wide' : 'narrow');
    const SIZES = [
      ['1280 px', { viewport: { width: 1280, height: 800 } }],
      ['360 px', { viewport: { width: 360, height: 640 } }],
      // As wide and high as the first, in pixels that are twice as large.
      ['a zoom of 200 %', { viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 }],
    ] as const;
    it.each(
      oneOfEach('windows in which somebody jumps to the end', SIZES, ([, { viewport }]) => layoutOf(viewport.width)),
    )(
      'only scrolls after a jump to the end, by keys too, and then asks: at %s',
      async (_size, options) => {
        const agent = `jumps-${options.viewport.width}`;
        const [row] = await parked(agent, 1, { request_payload: LONG });
        const page = await opened(agent, options);
        await page.goto(`${address}/hil/${row?.id}?q=${agent}`);
        const posted: string[] = [];
        page.on('request', (one) => one.method() === 'POST' && posted.push(one.url()));
        await page.evaluate('scrollTo(0, 1e9)');
        await page.evaluate(TWO_FRAMES);
        const missing = page.locator('#not-seen');
        const left = async () => Number.parseInt((await missing.allInnerTexts())[0]?.split(': ')[1] ?? '0');
        expect(await missing.innerText()).toMatch(/^Scroll through the arguments first: \d+ not yet seen\./);
        expect(await button(page).getAttribute('aria-describedby')).toBe('not-seen');
        const first = await left();
        await button(page).click();
        await says(page, 'Read the arguments to their end');
        await page.evaluate(TWO_FRAMES);
        expect(await left()).toBeLessThan(first);
        for (let presses = 0; presses < 40 && (await question(page).count()) === 0; presses += 1) {
          await page.keyboard.press('Enter');
          await page.evaluate(TWO_FRAMES);
        }
        expect(await missing.count()).toBe(0);
        expect(posted).toEqual([]);
        // A key that is held does not approve: what has the focus closes the question.
        expect(await page.locator(':focus').textContent()).toBe('Not now');
        await question(page).getByRole('button', { name: 'Approve' }).click();
        await page.locator('.notice', { hasText: 'Approved:' }).waitFor();
      },
      60_000,
    );

    it('approves at once where all of them were seen, and knows nothing of another call from the one before', async () => {
      const rows = await parked('read-well', 2, { request_payload: LONG });
      const page = await opened('read-well', { parts: (route) => route.continue() });
      const end = (await page.evaluate('document.documentElement.scrollHeight')) as number;
      for (let at = 0; at < end; at += 300) {
        await page.evaluate(`scrollTo(0, ${at})`);
        await page.evaluate(TWO_FRAMES);
      }
      expect(await page.locator('#not-seen').count()).toBe(0);
      await press(page, 'j');
      await isShown(page, rows[1]);
      await page.locator('#not-seen').waitFor();
      await press(page, 'k');
      await isShown(page, rows[0]);
      await page.evaluate(TWO_FRAMES);
      // It came anew.
      await page.locator('#not-seen').waitFor();
      for (let at = 0; at < end; at += 300) {
        await page.evaluate(`scrollTo(0, ${at})`);
        await page.evaluate(TWO_FRAMES);
      }
      await button(page).click();
      await page.locator('.notice', { hasText: 'Approved:' }).waitFor();
    }, 60_000);

    // Where a window is that low, the page's own words cover a good part of it.
    const WINDOWS = [
      [1280, 800, true],
      [360, 740, true],
      [640, 280, false],
      [320, 256, false],
      [320, 200, false],
    ] as const;
    it.each(
      oneOfEach('windows in which all is uncovered', WINDOWS, ([width, , folds]) => `${layoutOf(width)} ${folds}`),
    )(
      'asks at %d x %d once every value was uncovered, also after one above them was unfolded',
      async (width, height, folds) => {
        const values = Object.fromEntries(
          Array.from({ length: 38 }, (_, at) => [`f${String(at).padStart(2, '0')}`, 'v']),
        );
        const params = { name: 'pay', arguments: { ...(folds && { a_memo: 'x '.repeat(4_500) }), ...values } };
        const agent = `uncovered-${width}-${height}`;
        const [row] = await parked(agent, 1, { request_payload: { method: 'tools/call', params } });
        const page = await opened(agent, { viewport: { width, height } });
        await page.goto(`${address}/hil/${row?.id}`);
        const summary = page.locator('.arguments .values summary');
        if (folds) {
          await summary.click();
          for (let at = 200; at <= 1_800; at += 200) {
            await page.evaluate(`scrollTo(0, ${at})`);
            await page.evaluate(TWO_FRAMES);
          }
          await page.evaluate('scrollTo(0, 0)');
          await summary.click();
          await page.evaluate(TWO_FRAMES);
        }
        // What stands at the place of the value in a frame, where nothing covers it.
        await page.evaluate(`(() => {
          const uncovered = (globalThis.uncovered = new Set());
          const look = () => {
            for (const value of document.querySelectorAll('.arguments .values tr td > .foreign')) {
              const { left, top, height } = value.getBoundingClientRect();
              // A row that one window shows the upper part of, and the next one the lower, may have its middle on the very edge.
              const isUncovered = [0.25, 0.5, 0.75].some((part) =>
                value.contains(document.elementFromPoint(left + 2, top + height * part)),
              );
              if (isUncovered) uncovered.add(value.closest('tr').textContent);
            }
            requestAnimationFrame(look);
          };
          requestAnimationFrame(look);
        })()`);
        // What was there before the first key counts too.
        await page.evaluate(TWO_FRAMES);
        for (let presses = 0; presses < 80 && (await question(page).count()) === 0; presses += 1) {
          await page.keyboard.press('a');
          await page.evaluate(TWO_FRAMES);
        }
        expect(await question(page).count()).toBe(1);
        const met = (await page.evaluate('[...uncovered].sort()')) as string[];
        expect(met).toEqual(Object.keys(values).map((name) => `${name}v`));
        await page.context().close();
      },
      60_000,
    );

    it('asks again for what is laid out anew, and for that alone', async () => {
      const params = { name: 'pay', arguments: { a_memo: 'x '.repeat(4_500), to: 'vendor' } };
      const [row] = await parked('unfolded', 1, { request_payload: { method: 'tools/call', params } });
      const page = await opened('unfolded');
      await page.goto(`${address}/hil/${row?.id}`);
      const summary = page.locator('.arguments .values summary');
      const missing = page.locator('#not-seen');
      await page.locator('.decide.stays').waitFor();
      await summary.click();
      await page.getByText('first: 1 not yet seen').waitFor();
      expect(await page.locator('.decide.stays').count()).toBe(0);
      await summary.click();
      await page.locator('.decide.stays').waitFor();
      expect(await missing.count()).toBe(0);
      await page.context().close();
    }, 60_000);

    it('approves without scripts, where nothing knows what was on screen', async () => {
      const [row] = await parked('no-scripts', 1, { request_payload: LONG });
      const page = await opened('no-scripts', { javaScriptEnabled: false });
      await page.goto(`${address}/hil/${row?.id}`);
      await button(page).click();
      await page.locator('.notice', { hasText: 'Approved:' }).waitFor();
    }, 60_000);
  });

  it('the buttons cover no argument that was not seen where a telephone is turned', async () => {
    const names = ['amount', 'from', 'memo', 'note', 'reference', 'to'];
    const args = Object.fromEntries(names.map((name) => [name, 'a value']));
    const params = { name: 'wire_transfer', arguments: args };
    await parked('turned', 1, { request_payload: { method: 'tools/call', params } });
    const turns = [
      [
        { width: 844, height: 390 },
        { width: 390, height: 664 },
      ],
      [
        { width: 915, height: 412 },
        { width: 412, height: 740 },
      ],
      [
        { width: 1280, height: 300 },
        { width: 400, height: 700 },
      ],
    ] as const;
    for (const [wide, high] of someOf('telephones that are turned', turns, 1)) {
      const page = await opened('turned', { viewport: wide });
      await page.evaluate(TWO_FRAMES);
      await page.setViewportSize(high);
      await page.evaluate(TWO_FRAMES);
      expect([wide.width, await page.evaluate(COVERED)]).toEqual([wide.width, 0]);
    }
  }, 60_000);

  it('the buttons cover no argument that was not seen, however high a telephone is', async () => {
    const [row] = await parked('telephone', 1, {
      request_payload: {
        method: 'tools/call',
        params: { name: 'wire_transfer', arguments: { amount: 90_000, from: 'operating', to: 'vendor', memo: 'rent' } },
      },
    });
    const page = await opened('telephone', { viewport: { width: 360, height: 740 } });
    const heights = Array.from({ length: 13 }, (_, step) => 480 + 40 * step);
    for (const height of someOf('heights of a telephone', heights, 4)) {
      await page.setViewportSize({ width: 360, height });
      await page.goto(`${address}/hil/${row?.id}?q=telephone`);
      await page.evaluate(TWO_FRAMES);
      const covered = await page.evaluate(COVERED);
      expect([height, covered]).toEqual([height, 0]);
    }
  }, 60_000);

  it('the question whether to approve says so when somebody else was faster', async () => {
    const rows = await parked('question', 2);
    const { open, parts } = gated();
    let asked = 0;
    const page = await opened('question', { parts: (route) => ((asked += 1) === 1 ? route.continue() : parts(route)) });
    await page.waitForLoadState('networkidle');
    if (rows[1]) await fixture.hil.settle(rows[1], { by: 'operator:second', status: 'denied' });
    await press(page, 'j', 'a');
    const question = page.getByRole('dialog', { name: /^Approve\?/ });
    await question.getByRole('button', { name: 'Approve' }).waitFor();
    open();
    await question.getByRole('alert').waitFor();
    expect(await question.textContent()).toContain('decided or ended meanwhile');
    expect(await question.getByRole('button', { name: 'Approve' }).count()).toBe(0);
    await question.getByRole('button', { name: 'Close' }).click();
    await page.getByText('by operator:second').waitFor();
  }, 60_000);

  it('the time left falls with the clock of the browser, to nothing and no lower', async () => {
    const [row] = await parked('time-left', 1);
    const page = await opened('time-left');
    await page.clock.install({ time: fixture.hil.now });
    await page.reload();
    const left = async () => Number(await page.evaluate("document.querySelector('.detail meter').value"));
    const { created_at = '', ttl_seconds = 0 } = row ?? {};
    const whole = ttl_seconds - (fixture.hil.now - Date.parse(created_at)) / 1_000;
    await page.clock.pauseAt(fixture.hil.now + 60_000);
    await page.clock.runFor(1_000);
    const after = await left();
    expect([after > whole - 63, after <= whole - 60]).toEqual([true, true]);
    await page.clock.runFor(10_000);
    // It is told once a second: one tick more or less lies in those ten.
    expect(Math.abs((await left()) - (after - 10))).toBeLessThan(1.1);
    await page.clock.fastForward((whole + 60) * 1_000);
    expect(await left()).toBe(0);
  }, 60_000);

  it('a form that was refused leaves no address in the history where nothing is', async () => {
    const rows = await parked('refused', 3);
    const page = await opened('refused', { parts: (route) => route.continue() });
    await page.goto(`${address}/hil/${rows[0]?.id}?q=refused`);
    if (rows[0]) await fixture.hil.settle(rows[0], { by: 'operator:second', status: 'denied' });
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.locator('.notice.bad', { hasText: 'already_decided' }).waitFor();
    await page.locator(`[data-row="${rows[1]?.id}"] > a`).click();
    await isShown(page, rows[1]);
    await page.goBack();
    await isShown(page, rows[0]);
    expect(new URL(page.url()).pathname).toBe(`/hil/${rows[0]?.id}`);
    expect((await page.reload())?.status()).toBe(200);
  }, 60_000);

  it('the list keeps its place beside the call, and the chosen row stays in sight', async () => {
    const rows = await parked('place', 40);
    const page = await opened('place', { parts: (route) => route.continue() });
    const at = async () => ((await page.evaluate("document.querySelector('.list').scrollTop")) as number) | 0;
    const row = page.locator(`[data-row="${rows[30]?.id}"] > a`);
    await row.scrollIntoViewIfNeeded();
    // Rows that were never on screen are of a height that is guessed: the place is where the row stands.
    await page.evaluate(TWO_FRAMES);
    const before = (await row.boundingBox())?.y ?? 0;
    expect(await at()).toBeGreaterThan(500);
    await row.click();
    await isShown(page, rows[30]);
    await page.evaluate(TWO_FRAMES);
    expect(Math.abs(((await row.boundingBox())?.y ?? 0) - before)).toBeLessThanOrEqual(2);
    expect(await page.evaluate('scrollY')).toBe(0);
    for (let key = 31; key < 40; key += 1) {
      await press(page, 'j');
      await isShown(page, rows[key]);
    }
    const box = await page.locator('[data-row]:has(> a[aria-current])').boundingBox();
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(800);
    await page.reload();
    await eventually('the chosen row is in sight', async () => {
      const found = await page.locator('[data-row]:has(> a[aria-current])').boundingBox();
      return found !== null && found.y >= 0 && found.y + found.height <= 800;
    });
  }, 60_000);

  it('what was said of the call before goes', async () => {
    const rows = await parked('said-before', 2);
    const page = await opened('said-before', { parts: (route) => route.continue() });
    await isShown(page, rows[0]);
    await page.evaluate(
      `document.querySelector('main').insertAdjacentHTML('afterbegin', '<p class="notice">approved</p>')`,
    );
    await press(page, 'j');
    await isShown(page, rows[1]);
    expect(await page.locator('main > .notice').count()).toBe(0);
  }, 60_000);

  describe('that all of the tenant is stopped', () => {
    const ANSWERS = { stopped: tenantThatIs('suspended'), active: tenantThatIs('active') };
    /** As identity says it, which the console asks again after some seconds. */
    const tenantIs = (state: keyof typeof ANSWERS): void => {
      fixture.hil.now += 6_000;
      fixture.standings = ANSWERS[state];
    };
    afterEach(() => {
      fixture.hil.now += 6_000;
      fixture.standings = identityThatTells('a reason');
    });
    const line = (page: Page) => page.locator('main > .notice', { hasText: 'All of acme is stopped' });
    const isSaid = (page: Page) => line(page).waitFor();
    const isNotSaid = (page: Page) => line(page).waitFor({ state: 'detached' });
    /** Has the list come anew. */
    const refreshed = (agent: string) => parked(agent, 1);
    const continues = { parts: (route: Route) => route.continue() };

    it('comes and goes as the list does that is followed, and opening a call takes it not away', async () => {
      const rows = await parked('stopped-live', 2);
      const page = await opened('stopped-live');
      const follows = page.waitForResponse((answer) => answer.url().endsWith('/stream/hil'));
      await page.reload();
      await follows;
      tenantIs('stopped');
      await refreshed('stopped-live');
      await isSaid(page);
      await page.route(PART, (route) => route.continue());
      await press(page, 'j');
      await isShown(page, rows[1]);
      await page.waitForLoadState('networkidle');
      expect(await line(page).count()).toBe(1);
      tenantIs('active');
      await refreshed('stopped-live');
      await isNotSaid(page);
    }, 60_000);

    it('comes and goes with a call that is opened', async () => {
      const rows = await parked('stopped-opening', 2);
      const page = await opened('stopped-opening');
      await page.route(PART, (route) => route.continue());
      tenantIs('stopped');
      await page.locator(`[data-row="${rows[1]?.id}"] > a`).click();
      await isShown(page, rows[1]);
      await isSaid(page);
      tenantIs('active');
      await page.locator(`[data-row="${rows[0]?.id}"] > a`).click();
      await isShown(page, rows[0]);
      await isNotSaid(page);
    }, 60_000);

    it.each([
      ['stopped', 'active'],
      ['active', 'stopped'],
    ] as const)(
      'is looked at where a call is shown that was held while it was %s',
      async (before, now) => {
        const agent = `stopped-held-${before}`;
        const rows = await parked(agent, 4);
        tenantIs(before);
        const page = await opened(agent, continues);
        const is = { stopped: isSaid, active: isNotSaid };
        await is[before](page);
        await page.waitForLoadState('networkidle');
        tenantIs(now);
        await press(page, 'j');
        await isShown(page, rows[1]);
        await is[now](page);
        await page.waitForLoadState('networkidle');
        // The next call was held before, and what the server knows of it is the same as then: the answer has no page.
        tenantIs(before);
        const same = page.waitForResponse((answer) => answer.status() === 304);
        await press(page, 'j');
        await isShown(page, rows[2]);
        await same;
        await is[before](page);
      },
      60_000,
    );
  });

  it('a key that follows the one which closes a question at once keeps what it led to', async () => {
    await parked('closes-and-denies', 1);
    const page = await opened('closes-and-denies');
    await page.locator('[data-row] > a').focus();
    await press(page, 'a');
    await page.getByRole('dialog', { name: /^Approve\?/ }).waitFor();
    // In one task, as from somebody who types faster than the browser tells of what it closed.
    const focused = await page.evaluate(
      `new Promise((done) => {
        const dialog = document.querySelector('dialog[open]');
        dialog.addEventListener('close', () => setTimeout(() => done(document.activeElement.name)));
        dialog.close();
        document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'd', bubbles: true, cancelable: true }));
      })`,
    );
    expect(focused).toBe('reason');
    await press(page, 'Escape', 'a');
    await page.getByRole('dialog', { name: /^Approve\?/ }).waitFor();
  }, 60_000);

  it('on a telephone the pages are easy to hit in a low header, and a decision leads to the next call', async () => {
    const rows = await parked('telephone', 2);
    const page = await opened('telephone', { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true });
    expect((await page.locator('.top').boundingBox())?.height).toBeLessThanOrEqual(56);
    const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
    expect(await links.count()).toBe(0);
    await page.getByRole('button', { name: 'Pages' }).tap();
    const boxes = await Promise.all((await links.all()).map((link) => link.boundingBox()));
    expect(boxes.length).toBeGreaterThanOrEqual(11);
    for (const box of boxes) {
      expect(box?.height).toBeGreaterThanOrEqual(44);
      // All of it is in the window: there is nothing to scroll to.
      expect([(box?.x ?? -1) >= 0, (box?.x ?? 0) + (box?.width ?? 0) <= 320]).toEqual([true, true]);
      expect([(box?.y ?? -1) >= 56, (box?.y ?? 0) + (box?.height ?? 0) <= 640]).toEqual([true, true]);
    }
    await page.keyboard.press('Escape');
    expect(await links.count()).toBe(0);
    await page.goto(`${address}/hil/${rows[0]?.id}?q=telephone`);
    await page.getByRole('button', { name: 'Deny', exact: true }).click();
    await page.getByRole('link', { name: 'Next call' }).click();
    await isShown(page, rows[1]);
  }, 60_000);
});
