import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import type { JsonObject } from '../../contracts/json.js';
import { seriousInBothThemes } from '../support/accessibility.js';
import { chromiumPath, openBrowser } from '../support/browser.js';
import { echoTools, type EchoTools, type LiteFixture, openLite } from '../support/lite.js';
import { needs } from '../support/needs.js';
import { watchedPage } from '../support/watched-page.js';

const OPERATOR = 'operator-token-0123456789-0123456789';
const executable = chromiumPath();
const inBrowser = executable === null ? describe.skip : describe;

inBrowser(`the console of lite in a browser${needs('chromium', executable !== null)}`, () => {
  let browser: Browser;
  let tools: EchoTools;
  let gate: LiteFixture;
  let page: Page;
  const complaints: string[] = [];

  beforeAll(async () => {
    browser = await openBrowser(executable ?? '');
  }, 90_000);
  afterAll(() => browser?.close(), 60_000);
  beforeEach(async () => {
    tools = await echoTools();
  }, 60_000);
  afterEach(async () => {
    await page.context().close();
    await gate.close();
    await tools.close();
    expect(complaints.splice(0)).toEqual([]);
  }, 60_000);

  const open = async (context: BrowserContextOptions = {}, env: Record<string, string> = {}) => {
    gate = await openLite({ GATE_LITE_UPSTREAM_URL: tools.url, GATE_LITE_DECIDE_TOKEN: OPERATOR, ...env });
    page = await watchedPage(browser, complaints, context);
    page.on('request', (request) => {
      const { origin, protocol } = new URL(request.url());
      if (protocol !== 'data:' && origin !== gate.lite.url) complaints.push(`asked elsewhere: ${request.url()}`);
    });
  };
  const signIn = () => page.goto(gate.lite.signInLink() ?? '');
  const parked = async (args: JsonObject = { amount: 25 }, tool = 'wire_transfer') =>
    (await gate.call(tool, { arguments: args })).body['pending_id'] as string;
  const notice = () => page.locator('.notice').first();
  /** The cell of a table that says so; what a style puts before its text counts. */
  const seen = (table: Locator, words: string) => {
    const [head, value] = words.includes(' ') ? words.split(' ') : [undefined, words];
    const cells = head === undefined ? table.locator('td, th[scope="row"]') : table.locator(`td[data-head="${head}"]`);
    return cells.filter({ hasText: value ?? '' });
  };
  const detail = () => page.getByRole('region', { name: 'The chosen call' });

  describe.each([
    ['with scripts', true],
    ['without scripts', false],
  ])('%s', (_name, javaScriptEnabled) => {
    it('signs in by the link, shows what an agent wrote as text, approves, and says what came of it', async () => {
      await open({ javaScriptEnabled });
      await gate.call('delete_file');
      await parked({ to: '<img src=x onerror=alert(1)>', amount: 25 });
      await signIn();
      await page.getByRole('heading', { level: 1, name: /^Waiting 1$/ }).waitFor();
      expect(await detail().textContent()).toContain('<img src=x onerror=alert(1)>');
      expect(await detail().textContent()).toContain('definition of the tool ');
      await page.getByRole('button', { name: 'Approve', exact: true }).click();
      expect(await notice().textContent()).toMatch(
        /^Approved: wire_transfer for anonymous, by operator:lite\. Gate executed it, once\./,
      );
      expect(tools.executed).toHaveLength(1);
      await page.getByRole('link', { name: 'What came of it' }).click();
      await page.getByText('operator:lite approved wire_transfer').first().waitFor();
      await page.getByRole('link', { name: 'Audit' }).click();
      await page.getByText('delete_file').first().waitFor();
      await page.getByText('The chain holds').waitFor();
    }, 90_000);

    it('denies with Enter in the field for the reason, and takes a sign-in by the token', async () => {
      await open({ javaScriptEnabled });
      const id = await parked();
      await page.goto(`${gate.lite.url}/hil/${id}`);
      await page.getByLabel('Operator token').fill('not-the-token');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByText('This is no operator token.').waitFor();
      await page.getByLabel('Operator token').fill(OPERATOR);
      await page.getByLabel('Operator token').press('Enter');
      await page.getByLabel('Reason, which its agent is told').fill('not this vendor');
      await page.getByLabel('Reason, which its agent is told').press('Enter');
      expect(await notice().textContent()).toMatch(/^Denied: wire_transfer for anonymous/);
      expect(await detail().textContent()).toContain('not this vendor');
      expect(tools.executed).toHaveLength(0);
    }, 90_000);

    it('leads whoever was signed out to the sign-in', async () => {
      await open({ javaScriptEnabled });
      const id = await parked();
      await signIn();
      await page.goto(`${gate.lite.url}/hil/${id}`);
      await page.context().clearCookies();
      const toSignIn = page.locator('main a[href^="/login?return_to="]');
      const approve = page.getByRole('button', { name: 'Approve', exact: true });
      // A page that has heard of it says so, and its buttons are off; any other one hears of it by the press.
      await Promise.any([toSignIn.waitFor(), approve.click().then(() => toSignIn.waitFor())]);
      await toSignIn.click();
      await page.getByLabel('Operator token').waitFor();
      expect(tools.executed).toHaveLength(0);
    }, 90_000);
  });

  it('follows what comes while a reason is typed, and keeps the reason', async () => {
    await open();
    const first = await parked();
    await signIn();
    await page.getByLabel('Reason, which its agent is told').fill('half a rea');
    const second = await parked({ to: 'x' }, 'send_email');
    await page.locator(`[data-row="${second}"]`).waitFor();
    expect(await page.getByLabel('Reason, which its agent is told').inputValue()).toBe('half a rea');
    await gate.send('POST', `/decide/${first}`, {
      body: { decision: 'deny' },
      headers: { authorization: `Bearer ${OPERATOR}` },
    });
    await page.getByText('What you typed is still here.').waitFor();
    expect(await page.getByLabel('Reason, which its agent is told').inputValue()).toBe('half a rea');
  }, 90_000);

  it('goes on by keys from the call that was decided: j to the next one, k to the one before', async () => {
    await open();
    const ids = [await parked({ amount: 1 }), await parked({ amount: 2 }), await parked({ amount: 3 })];
    await signIn();
    await page.goto(`${gate.lite.url}/hil/${ids[1]}`);
    const opens = (id: string | undefined) => page.locator(`[data-review="${id}"]`).waitFor();
    for (const [key, at] of [
      ['j', 2],
      ['k', 0],
    ] as const) {
      await page.keyboard.press('d');
      await page.keyboard.press('Enter');
      await page.locator('article .tag.denied').waitFor();
      await page.keyboard.press(key);
      await opens(ids[at]);
    }
  }, 90_000);

  it('opens the next call beside the list: keys that are pressed before it is there act on it alone, and decide nothing', async () => {
    await open();
    const ids = [await parked({ amount: 1 }), await parked({ amount: 2 }), await parked({ amount: 3 })];
    await signIn();
    let asked: (() => void) | undefined;
    const isAsked = new Promise<void>((done) => (asked = done));
    let answer: (() => void) | undefined;
    const mayAnswer = new Promise<void>((done) => (answer = done));
    await page.route(/part=detail/, async (route) => {
      asked?.();
      await mayAnswer;
      await route.continue();
    });
    await page.goto(`${gate.lite.url}/hil/${ids[0]}`);
    const opens = (at: number) => page.locator(`[data-review="${ids[at]}"]`).waitFor();
    const reason = () => page.getByLabel('Reason, which its agent is told');
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    await opens(0);
    await page.evaluate('globalThis.isSamePage = true');
    await reason().fill('of the first one');
    await press('Escape');

    await press('j', 'd', 'n', 'o', 'Enter');
    await isAsked;
    expect(await page.locator('[data-review]').getAttribute('data-review')).toBe(ids[0]);
    expect(await reason().inputValue()).toBe('of the first one');
    answer?.();
    await opens(1);
    expect(await reason().inputValue()).toBe('no');
    expect(await page.locator('[data-row]').count()).toBe(3);
    expect(await page.locator('[data-row] > [aria-current="true"]').getAttribute('href')).toBe(`/hil/${ids[1]}`);
    expect(new URL(page.url()).pathname).toBe(`/hil/${ids[1]}`);

    await page.goBack();
    await opens(0);
    expect(await reason().inputValue()).toBe('of the first one');
    await page.goForward();
    await opens(1);
    expect(await reason().inputValue()).toBe('no');
    await reason().fill('');
    const fourth = await parked({ amount: 4 });
    await page.locator(`[data-row="${fourth}"]`).waitFor();
    expect(await page.locator('[data-row] > [aria-current="true"]').getAttribute('href')).toBe(`/hil/${ids[1]}`);
    expect(await page.evaluate('globalThis.isSamePage')).toBe(true);

    await page.unroute(/part=detail/);
    await page.route(/part=detail/, (route) => route.abort());
    await press('d', 'n', 'o', 'Enter');
    expect(await notice().textContent()).toMatch(/^Denied: /);
    await page.evaluate('globalThis.isSamePage = true');
    await press('j', 'd', 'n', 'o', 'Enter');
    await page.locator('[data-live-status]', { hasText: 'The call did not come' }).waitFor();
    await opens(1);
    expect(await page.evaluate('globalThis.isSamePage')).toBe(true);
  }, 90_000);

  it('shows that a call expired while somebody looks at it', async () => {
    await open({}, { GATE_LITE_PENDING_TTL_SECS: '5' });
    await parked();
    await signIn();
    await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
    await page.locator('article .tag.expired').waitFor({ timeout: 60_000 });
    expect(await page.getByRole('button', { name: 'Deny', exact: true }).count()).toBe(0);
  }, 90_000);

  it.each([
    ['with scripts', true],
    ['without scripts', false],
  ])(
    'is worked by the keyboard alone: sign in, read long arguments, approve; %s',
    async (_name, javaScriptEnabled) => {
      await open({ javaScriptEnabled });
      await parked({ amount: 1, note: Array.from({ length: 60 }, (_, index) => index) });
      await page.goto(gate.lite.url);
      /** Goes on by Tab until this has the focus. */
      const reach = async (said: RegExp) => {
        for (let presses = 0; presses < 60; presses += 1) {
          await page.keyboard.press('Tab');
          const at = page.locator(':focus');
          const words = [await at.getAttribute('aria-label'), await at.getAttribute('name'), await at.textContent()];
          if (words.some((word) => said.test(word ?? ''))) return;
        }
        throw new Error(`nothing that says ${String(said)} is reached by Tab`);
      };
      await reach(/^token$/);
      await page.keyboard.type(OPERATOR);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: /^Waiting/ }).waitFor();
      await reach(/^Arguments as JSON$/);
      await reach(/^Approve$/);
      await page.keyboard.press('Enter');
      // With scripts the first presses read on, and the one after them asks.
      const question = page.getByRole('dialog', { name: /^Approve\?/ });
      for (let presses = 0; javaScriptEnabled && presses < 40 && (await question.count()) === 0; presses += 1) {
        await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
        await page.keyboard.press('Enter');
      }
      if (javaScriptEnabled) {
        expect(await page.locator(':focus').textContent()).toBe('Not now');
        await page.keyboard.press('Shift+Tab');
        await page.keyboard.press('Enter');
      }
      await page.getByText('Gate executed it, once.').waitFor();
    },
    90_000,
  );

  it.each([true, false])(
    'has what matters of each row in the width of a telephone, and fields behind a button; with scripts: %s',
    async (javaScriptEnabled) => {
      await open({ javaScriptEnabled, viewport: { width: 320, height: 800 } });
      await gate.call('delete_file');
      await signIn();
      /** Nothing of it is to be scrolled to. */
      const isInSight = async (of: Locator) => {
        const box = await of.first().boundingBox();
        return box !== null && box.x >= 0 && box.x + box.width <= 320;
      };
      const tables = [
        ['/audit', 'Rows', ['anonymous', 'delete_file', 'denied']],
        ['/agents', 'What agents did', ['anonymous', 'denied 1']],
        ['/audit/hunt', 'Agents', ['anonymous', 'denied 1']],
      ] as const;
      for (const [path, name, words] of tables) {
        await page.goto(gate.lite.url + path);
        const table = page.getByRole('region', { name, exact: true });
        expect(await table.evaluate((of) => of.scrollWidth - of.clientWidth)).toBe(0);
        for (const word of words) expect([path, word, await isInSight(seen(table, word))]).toEqual([path, word, true]);
      }
      await page.goto(`${gate.lite.url}/audit?tool=delete_file`);
      const tool = page.getByRole('textbox', { name: 'Tool' });
      expect(await tool.isVisible()).toBe(false);
      await page.getByRole('button', { name: 'Find, filter (1 set)' }).click();
      expect(await isInSight(tool)).toBe(true);
      await tool.fill('another');
      await page.getByRole('button', { name: 'Show' }).click();
      await page.waitForURL(/tool=another/);
    },
    90_000,
  );

  it('says which keys there are, and in the question what they do there', async () => {
    await open({ viewport: { width: 1280, height: 800 } });
    await parked();
    await signIn();
    await page.getByRole('button', { name: '? keys' }).click();
    const help = page.getByRole('dialog', { name: 'Keys' });
    const lines = await help
      .locator('dt')
      .evaluateAll((keys) =>
        keys.map((key) => key.nextElementSibling?.getBoundingClientRect().top === key.getBoundingClientRect().top),
      );
    expect(lines.length).toBeGreaterThan(8);
    expect(lines).not.toContain(false);
    await page.keyboard.press('Escape');
    await page.keyboard.press('a');
    const question = page.getByRole('dialog', { name: /^Approve\?/ });
    await question.getByText('Shift+Tab, then Enter, approves').waitFor();
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    await page.getByText('Gate executed it, once.').waitFor();
  }, 90_000);

  it('says nothing of keys to who switched them off', async () => {
    await open({ viewport: { width: 1280, height: 800 } });
    await parked();
    await signIn();
    await page.goto(`${gate.lite.url}/me`);
    await page.getByRole('checkbox', { name: /keys/i }).uncheck();
    await page.goto(gate.lite.url);
    await page.getByRole('heading', { level: 1, name: /^Waiting/ }).waitFor();
    expect(await page.getByRole('button', { name: '? keys' }).isVisible()).toBe(false);
  }, 90_000);

  it.each([true, false])(
    'says of a decided call that it waited, and leads back to the list on a telephone; with scripts: %s',
    async (javaScriptEnabled) => {
      await open({ javaScriptEnabled, viewport: { width: 320, height: 800 } });
      const ids = [await parked({ amount: 1 }), await parked({ amount: 2 }), await parked({ amount: 2 }, 'send_email')];
      await signIn();
      await page.goto(`${gate.lite.url}/hil/${ids[0]}`);
      await page.getByRole('heading', { name: 'Why it waits' }).waitFor();
      await page.getByRole('button', { name: 'Deny', exact: true }).click();
      await page.getByRole('heading', { name: 'Why it waited' }).waitFor();
      await page.getByRole('link', { name: '2 waiting' }).click();
      await page.getByRole('heading', { level: 1, name: /^Waiting 2$/ }).waitFor();
      await page.goto(`${gate.lite.url}/hil?q=send_email`);
      await page.getByRole('heading', { level: 1, name: /^Waiting 1 of 2$/ }).waitFor();
      await page.setViewportSize({ width: 1280, height: 800 });
      await page.goto(`${gate.lite.url}/hil/${ids[0]}`);
      expect(await page.getByRole('link', { name: '2 waiting' }).isVisible()).toBe(false);
      await page.getByRole('link', { name: 'Those that are denied' }).click();
      await page.locator(`[data-row="${ids[0]}"]`).waitFor();
    },
    90_000,
  );

  it.each([true, false])(
    'offers to decide those that are ticked where any is; with scripts: %s',
    async (javaScriptEnabled) => {
      await open({ javaScriptEnabled });
      await parked({ amount: 1 });
      await parked({ amount: 1 }, 'send_email');
      await signIn();
      const buttons = page.getByRole('button', { name: /(?:Approve|Deny) ticked/ });
      const areOff = () =>
        buttons.evaluateAll((all) => all.map((button) => (button as HTMLButtonElement).disabled).join());
      // Nothing but a script knows what is ticked.
      expect(await areOff()).toBe(javaScriptEnabled ? 'true,true' : 'false,false');
      const boxes = page.locator('[data-row] input[type="checkbox"]');
      for (const box of await boxes.all()) await box.check();
      expect(await areOff()).toBe('false,false');
      await page.getByRole('button', { name: 'Approve ticked' }).click();
      expect(await notice().textContent()).toContain('untick the others. They can be denied at once');
      expect(await areOff()).toBe('false,false');
      for (const box of await boxes.all()) await box.uncheck();
      expect(await areOff()).toBe(javaScriptEnabled ? 'true,true' : 'false,false');
    },
    90_000,
  );

  it('has who asks for what as large as the rest of a heading, and what Gate says in the typeface of the page', async () => {
    await open();
    await parked({ to: 'vendor', amount: 25 });
    await signIn();
    const fontOf = (of: Locator) =>
      of.evaluate((element) => {
        const style = element.ownerDocument.defaultView?.getComputedStyle(element);
        return [style?.fontSize, style?.fontFamily];
      });
    const heading = detail().getByRole('heading', { level: 2 });
    expect(await fontOf(heading.locator('.foreign').first())).toEqual(await fontOf(heading));
    const predicted = page.locator('[data-predicted]');
    expect(await fontOf(predicted.locator('bdi'))).toEqual(await fontOf(predicted));
    expect(await predicted.textContent()).not.toContain('`');
    expect(await fontOf(predicted.locator('code', { hasText: 'vendor' }))).toEqual(
      await fontOf(page.locator('.arguments .foreign', { hasText: 'vendor' }).first()),
    );
  }, 90_000);

  it('shows the exact time without hovering where times are compared: rows of the audit, and the story of a call', async () => {
    await open({ viewport: { width: 1280, height: 800 } });
    await parked();
    await signIn();
    expect(await page.locator('.list .exact').first().isVisible()).toBe(false);
    await page.goto(`${gate.lite.url}/audit`);
    expect(await page.locator('td .exact').first().isVisible()).toBe(true);
    await page.locator('td a[href^="/audit/correlation/"]').first().click();
    expect(await page.locator('.story .exact').first().isVisible()).toBe(true);
  }, 90_000);

  it('fits 320 and 1280 pixels, and axe finds nothing serious on it, in both themes', async () => {
    await open({}, { GATE_LITE_MODE: 'observe' });
    await gate.call('delete_file');
    await gate.call('wire_transfer', { arguments: { to: 'x'.repeat(400), amount: 1 } });
    await signIn();
    for (const path of ['/', '/audit', '/agents', '/policies', '/health-of-services', '/me']) {
      await page.goto(gate.lite.url + path);
      await page.getByText('Observe mode: every call runs').waitFor();
      for (const width of [320, 1280]) {
        await page.setViewportSize({ width, height: 844 });
        const over = await page.evaluate<number>(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        );
        const found = await seriousInBothThemes(page);
        expect({ path, width, found, over }).toEqual({ path, width, found: [], over: 0 });
      }
    }
  }, 180_000);
});
