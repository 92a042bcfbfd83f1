import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { chromiumPath, openBrowser } from '../support/browser.js';
import { echoTools, openLite, type EchoTools, type LiteFixture } from '../support/lite.js';
import { needs } from '../support/needs.js';
import { machineClock } from '../../lite/clock.js';
import { eventually } from '../support/waiting.js';

const OPERATOR = 'operator-token-0123456789-0123456789';
const executable = chromiumPath();
const inBrowser = executable === null ? describe.skip : describe;

inBrowser.each([
  ['with scripts', true],
  ['without scripts', false],
])(`the page of lite in a browser, %s${needs('chromium', executable !== null)}`, (_name, javaScriptEnabled) => {
  let browser: Browser;
  let tools: EchoTools;
  let gate: LiteFixture;
  let page: Page;
  let complaints: string[];

  beforeAll(async () => {
    browser = await openBrowser(executable ?? '');
  }, 90_000);
  afterAll(() => browser?.close(), 60_000);
  beforeEach(async () => {
    tools = await echoTools();
    gate = await openLite({ GATE_LITE_UPSTREAM_URL: tools.url, GATE_LITE_DECIDE_TOKEN: OPERATOR });
    const context = await browser.newContext({ javaScriptEnabled });
    page = await context.newPage();
    complaints = [];
    page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
    page.on('dialog', (dialog) => void complaints.push(`a dialog: ${dialog.message()}`));
    // A page that is left takes the line in its frame with it.
    page.on('requestfailed', (request) => {
      if (!request.url().includes('/since?')) complaints.push(`not loaded: ${request.url()}`);
    });
  }, 60_000);
  afterEach(async () => {
    await page.context().close();
    await gate.close();
    await tools.close();
  }, 60_000);

  const signIn = async (token = OPERATOR) => {
    await page.goto(gate.lite.url);
    await page.getByLabel('Decide token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
  };
  const card = (tool: string) => page.getByRole('article', { name: tool });
  const verdict = (tool: string) =>
    page.getByRole('complementary', { name: 'Newest verdicts' }).getByRole('listitem').filter({ hasText: tool });

  it('signs in, shows what an agent wrote as text, approves, and shows what came of it', async () => {
    await gate.call('delete_file');
    await gate.call('wire_transfer', { arguments: { to: '<img src=x onerror=alert(1)>', amount: 25 } });
    await signIn();
    await card('wire_transfer').waitFor();
    expect(await card('wire_transfer').locator('pre').textContent()).toContain('<img src=x onerror=alert(1)>');
    expect(await card('wire_transfer').textContent()).toContain('definition of the tool ');
    expect(await verdict('delete_file').textContent()).toContain('deny');

    await card('wire_transfer').getByLabel('Reason').fill('seen');
    await card('wire_transfer').getByRole('button', { name: 'Approve and execute' }).click();
    await page.getByText('Nothing waits.').waitFor();
    await eventually('the execution', () => Promise.resolve(tools.executed.length === 1));
    await eventually('its row on the page', async () => {
      await page.getByRole('link', { name: 'Look again' }).click();
      return (await verdict('wire_transfer').textContent())?.includes('park → approved by operator:lite → completed');
    });
    expect(complaints).toEqual([]);
  }, 90_000);

  it('denies by the first button, which is also what Enter does', async () => {
    await gate.call('wire_transfer');
    await signIn();
    await card('wire_transfer').getByLabel('Reason').press('Enter');
    await page.getByText('Nothing waits.').waitFor();
    expect(await verdict('wire_transfer').textContent()).toContain('denied by operator:lite');
    expect(tools.executed).toHaveLength(0);
    expect(complaints).toEqual([]);
  }, 90_000);

  it('names the effect of an approval: a decision call is approved, not executed', async () => {
    await gate.call('wire_transfer', { decision: true });
    await signIn();
    await card('wire_transfer').getByRole('button', { name: 'Approve wire_transfer for anonymous' }).click();
    expect(await page.getByRole('status').textContent()).toBe(
      'Approved: wire_transfer for anonymous. Gate executes nothing here: its agent asked for the decision, and may act now.',
    );
    expect(tools.executed).toHaveLength(0);
  }, 90_000);

  it('answers what it refuses as a page: a wrong token, a late decision, an ended session', async () => {
    const { body } = await gate.call('wire_transfer');
    await signIn('not-the-token');
    await page.getByText('This is not a decide token.').waitFor();
    await page.getByLabel('Decide token').fill(OPERATOR);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await card('wire_transfer').waitFor();
    await gate.send('POST', `/decide/${body.pending_id as string}`, {
      body: { decision: 'deny' },
      headers: { authorization: `Bearer ${OPERATOR}` },
    });
    await card('wire_transfer').getByRole('button', { name: 'Approve and execute' }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').textContent()).toMatch(
      /^This call is denied already, by operator:lite \(.*\): wire_transfer for anonymous\. The first decision stands; yours was not taken\.$/,
    );
    await page.getByText('Nothing waits.').waitFor();
    await page.getByRole('link', { name: 'Look again' }).click();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    await page.context().clearCookies();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('The session has ended; sign in again.').waitFor();
    expect(tools.executed).toHaveLength(0);
  }, 90_000);
});

/** Runs in the page: words that are faint before what is behind them (WCAG 2.2, 1.4.3), and what is wider than the screen. */
const LOOKED_AT = `(() => {
  const luminance = (colour) => {
    const [red, green, blue] = colour.match(/[0-9.]+/g).map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const canvas = document.body.appendChild(document.createElement('div'));
  canvas.style.background = 'Canvas';
  const ground = getComputedStyle(canvas).backgroundColor;
  canvas.remove();
  const behind = (element) => {
    const own = element ? getComputedStyle(element).backgroundColor : ground;
    return own === 'rgba(0, 0, 0, 0)' ? behind(element.parentElement) : own;
  };
  const faint = [];
  for (const element of document.querySelectorAll('p,small,span,b,code,a,h1,h2,h3,pre,button,time,label')) {
    const [one, other] = [getComputedStyle(element).color, behind(element)].map(luminance);
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < 4.5) faint.push(element.tagName + ' ' + element.textContent.slice(0, 20) + ': ' + ratio.toFixed(1));
  }
  const page = document.documentElement;
  return { ground, faint, over: page.scrollWidth - page.clientWidth };
})()`;

inBrowser('what an operator meets on the page of lite', () => {
  let browser: Browser;
  let tools: EchoTools;
  let gate: LiteFixture;
  let page: Page;
  beforeAll(async () => {
    browser = await openBrowser(executable ?? '');
  }, 90_000);
  afterAll(() => browser?.close(), 60_000);
  beforeEach(async () => {
    tools = await echoTools();
  });
  afterEach(async () => {
    await page.context().close();
    await gate.close();
    await tools.close();
  }, 60_000);

  const open = async (
    env: Record<string, string> = {},
    context: Parameters<Browser['newContext']>[0] = {},
    options: Parameters<typeof openLite>[1] = {},
  ) => {
    const operators = env['GATE_LITE_DECIDERS'] === undefined ? { GATE_LITE_DECIDE_TOKEN: OPERATOR } : {};
    gate = await openLite({ GATE_LITE_UPSTREAM_URL: tools.url, ...operators, ...env }, options);
    page = await (await browser.newContext(context)).newPage();
  };
  const signIn = () => page.goto(gate.lite.signInLink() ?? '');
  const approve = () => page.getByRole('button', { name: /^Approve/ }).first();

  it('says what a decision came to: executed, refused by the tool, uncertain, denied with its reason', async () => {
    await open();
    await signIn();
    const decided = async (answer: EchoTools['answer'] | null, button: RegExp, reason = '') => {
      if (answer) tools.answer = answer;
      await gate.call('wire_transfer');
      await page.goto(gate.lite.url);
      await page.getByLabel('Reason').fill(reason);
      await page.getByRole('button', { name: button }).click();
      await page.waitForURL(/decided=/);
      const said = page.locator('.notice');
      // A keyboard and a screen reader begin with it.
      expect(await said.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
      return `${await said.getAttribute('role')}: ${await said.textContent()}`;
    };
    const call = 'wire_transfer for anonymous.';
    expect(await decided(null, /^Approve/)).toBe(`status: Approved: ${call} Gate executed it, once.`);
    expect(
      await decided(
        ({ id }) => ({ jsonrpc: '2.0', id: id ?? null, error: { code: -1, message: 'no money' } }),
        /^Approve/,
      ),
    ).toContain(`alert: Approved: ${call} Gate executed it, once, and the tool answered with an error`);
    expect(await decided(() => null, /^Approve/)).toMatch(
      /^alert: Approved: wire_transfer for anonymous\. Nobody knows whether it ran: .*It is not sent again; look at the tool itself\.$/,
    );
    expect(await decided(null, /^Deny/, '<b>not</b> today')).toBe(
      `status: Denied: ${call} Nothing was executed; its agent is told so. Reason: <b>not</b> today.`,
    );
    expect(tools.executed).toHaveLength(3);
  }, 90_000);

  it('says nothing of a decision that an address only claims', async () => {
    await open({
      GATE_LITE_DECIDERS: `alpha:${OPERATOR},beta:other-${OPERATOR}`,
      GATE_LITE_AGENTS: 'alpha/buyer:agent-token-0123456789-0123456789',
    });
    const headers = { authorization: 'Bearer agent-token-0123456789-0123456789' };
    const { body } = await gate.call('wire_transfer', { headers });
    const id = body.pending_id as string;
    const claimed = async (token: string) => {
      await page.context().clearCookies();
      await page.goto(gate.lite.url);
      await page.getByLabel('Decide token').fill(token);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.goto(`${gate.lite.url}/?decided=${id}`);
      return page.locator('.notice').count();
    };
    expect(await claimed(OPERATOR)).toBe(0);
    await gate.send('POST', `/decide/${id}`, {
      body: { decision: 'deny' },
      headers: { authorization: `Bearer ${OPERATOR}` },
    });
    expect(await claimed(OPERATOR)).toBe(1);
    expect(await claimed(`other-${OPERATOR}`)).toBe(0);
  }, 90_000);

  it('shows at one look what waits, what happened last and whether the chain holds, however much waits', async () => {
    await open({}, { viewport: { width: 1280, height: 800 } });
    await gate.call('read_file');
    for (let count = 0; count < 4; count += 1) await gate.call('wire_transfer', { arguments: { amount: count } });
    await signIn();
    const glance = page.getByRole('list').first();
    expect(await glance.textContent()).toMatch(
      /^4 wait for you, the first ends in 9 min.*last verdict .*: park wire_transfer.*The ledger holds: \d+ entries, head [0-9a-f]{16}$/s,
    );
    expect(await page.title()).toBe('(4) Gate lite');
    for (const text of ['Newest verdicts', 'Waiting for you (4)'])
      expect((await page.getByRole('heading', { name: text }).boundingBox())?.y).toBeLessThan(400);
  }, 90_000);

  it('gives every button and field a name of its own, with tool, agent and call', async () => {
    await open();
    for (const tool of ['wire_transfer', 'wire_transfer', 'send_email']) await gate.call(tool);
    await signIn();
    const names: string[] = [];
    for (const role of ['button', 'textbox'] as const)
      for (const element of await page.getByRole('main').getByRole(role).all())
        names.push((await element.ariaSnapshot()).replace(/^- (\w+) "(.*)"(?:.|\n)*$/, '$1 $2'));
    expect(names).toHaveLength(9);
    expect(new Set(names).size).toBe(9);
    for (const name of names)
      expect(name).toMatch(
        /^(?:button (?:Deny|Approve and execute)|textbox Reason) (?:wire_transfer|send_email) for anonymous, call [0-9a-f]{8}$/,
      );
  }, 90_000);

  it.each([
    [390, 'light'],
    [390, 'dark'],
    [1280, 'dark'],
  ] as const)(
    'fits a screen of %i pixels, %s, with contrast for every word',
    async (width, colorScheme) => {
      await open({}, { viewport: { width, height: 844 }, colorScheme });
      await gate.call('delete_file');
      await gate.call('wire_transfer', { arguments: { to: 'x'.repeat(400), amount: 1 } });
      await signIn();
      const measured = await page.evaluate(LOOKED_AT);
      expect(measured).toEqual({
        ground: colorScheme === 'dark' ? 'rgb(18, 18, 18)' : 'rgb(255, 255, 255)',
        faint: [],
        over: 0,
      });
    },
    90_000,
  );

  it('is worked by the keyboard alone: sign in, read long arguments, approve', async () => {
    await open();
    await gate.call('wire_transfer', {
      arguments: { amount: 1, note: Array.from({ length: 40 }, (_, index) => index) },
    });
    await page.goto(gate.lite.url);
    // The page puts the cursor there itself; on a busy machine after its first paint.
    await page.locator('input:focus').waitFor();
    await page.keyboard.type(OPERATOR);
    await page.keyboard.press('Enter');
    await approve().waitFor();
    const reached: string[] = [];
    for (let presses = 0; presses < 20 && !reached.at(-1)?.startsWith('Approve'); presses += 1) {
      await page.keyboard.press('Tab');
      reached.push(
        await page.evaluate<string>('document.activeElement.ariaLabel ?? document.activeElement.textContent'),
      );
    }
    expect(reached).toContain('arguments');
    await page.keyboard.press('Enter');
    await page.getByText('Gate executed it, once.').waitFor();
  }, 90_000);

  it('does not approve a call that it does not show whole, whatever its form sends', async () => {
    await open();
    await gate.call('wire_transfer', { arguments: { amount: 1, note: 'x'.repeat(120_000) } });
    await signIn();
    await page.getByText('Cut after 100000 characters.').waitFor();
    await page.getByText(/scroll within the box to read all of it/).waitFor();
    await approve().evaluate((button) => button.removeAttribute('disabled'));
    await approve().click();
    expect(await page.getByRole('alert').textContent()).toContain(
      'too large to be read here, so it is not approved here',
    );
    await page.getByRole('article', { name: 'wire_transfer' }).waitFor();
    expect(tools.executed).toHaveLength(0);
  }, 90_000);

  it('tells what came since while a reason is typed, and keeps the reason', async () => {
    await open();
    await gate.call('wire_transfer');
    await signIn();
    const since = page.frameLocator('iframe[title="What came since this page was made"]');
    await since.getByText('Nothing has changed since').waitFor();
    await page.getByLabel('Reason').fill('half a rea');
    await gate.call('send_email');
    await since.getByText('What waits has changed (2 now)').waitFor({ timeout: 30_000 });
    expect(await page.getByLabel('Reason').inputValue()).toBe('half a rea');
    await since.getByRole('link', { name: 'show it' }).click();
    await page.getByRole('article', { name: 'send_email' }).waitFor();
    await page.getByText('Where the line above says nothing, Gate does not answer').waitFor();
  }, 90_000);

  it('says that a call expired under its reader, and that another one than the shown is not decided', async () => {
    let aheadMs = 0;
    const clock = { ...machineClock, now: () => Date.now() + aheadMs };
    await open({ GATE_LITE_PENDING_TTL_SECS: '30' }, {}, { clock });
    await gate.call('wire_transfer');
    await signIn();
    await page
      .locator('input[name=action_digest]')
      .evaluate((field) => field.setAttribute('value', `sha256:${'0'.repeat(64)}`));
    await approve().click();
    expect(await page.getByRole('alert').textContent()).toBe(
      'The call that waits is not the one this decision names; look at it again. Nothing was decided.',
    );
    aheadMs = 31_000;
    await approve().click();
    expect(await page.getByRole('alert').textContent()).toBe(
      'Too late: wire_transfer for anonymous expired before anybody decided. Nothing was executed; its agent has to ask again under a new id.',
    );
    expect(tools.executed).toHaveLength(0);
  }, 90_000);

  it('explains a link that was used, and takes it from whoever is signed in', async () => {
    await open();
    const link = gate.lite.signInLink() ?? '';
    await page.goto(link);
    await page.getByText('Nothing waits.').waitFor();
    await page.goto(link);
    await page.getByText('Nothing waits.').waitFor();
    await page.context().clearCookies();
    const again = await page.goto(link);
    expect(again?.status()).toBe(401);
    expect(await page.getByRole('alert').textContent()).toContain('npx gate lite link prints a new one');
    await page.getByLabel('Decide token').waitFor();
  }, 90_000);

  it('says that nothing waits, that no call came, and what observe mode means', async () => {
    await open({ GATE_LITE_MODE: 'observe' });
    await signIn();
    await page.getByText('No call yet.').waitFor();
    await page.getByText('Observe mode: every call runs, and nothing waits for you.').waitFor();
    await gate.call('wire_transfer');
    await page.getByRole('link', { name: 'Look again' }).click();
    await page.getByText('allow, would park').first().waitFor();
    await page.getByText('Nothing waits.').waitFor();
  }, 90_000);
});
