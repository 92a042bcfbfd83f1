import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { chromiumPath, openBrowser } from '../support/browser.js';
import { echoTools, openLite, type EchoTools, type LiteFixture } from '../support/lite.js';
import { eventually } from '../support/stack.js';

const OPERATOR = 'operator-token-0123456789-0123456789';
const executable = chromiumPath();
if (executable === null)
  process.stderr.write('skipped: no browser here; install chromium or set GATE_TEST_CHROMIUM to one\n');
const inBrowser = executable === null ? describe.skip : describe;

inBrowser.each([
  ['with scripts', true],
  ['without scripts', false],
])('the page of lite in a browser, %s', (_name, javaScriptEnabled) => {
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
    page.on('requestfailed', (request) => void complaints.push(`not loaded: ${request.url()}`));
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

  it('signs in, shows what an agent wrote as text, approves, and shows what came of it', async () => {
    await gate.call('delete_file');
    await gate.call('wire_transfer', { arguments: { to: '<img src=x onerror=alert(1)>', amount: 25 } });
    await signIn();
    await card('wire_transfer').waitFor();
    expect(await card('wire_transfer').locator('pre').textContent()).toContain('<img src=x onerror=alert(1)>');
    expect(await page.getByRole('row', { name: /delete_file/ }).textContent()).toContain('deny');

    await card('wire_transfer').getByLabel('Reason').fill('seen');
    await card('wire_transfer').getByRole('button', { name: 'Approve and execute' }).click();
    await page.getByText('Nothing waits.').waitFor();
    await eventually('the execution', () => Promise.resolve(tools.executed.length === 1));
    await eventually('its row on the page', async () => {
      await page.getByRole('link', { name: 'Look again' }).click();
      return (await page.getByRole('row', { name: /wire_transfer/ }).textContent())?.includes(
        'park → approved by operator:lite → completed',
      );
    });
    expect(complaints).toEqual([]);
  }, 90_000);

  it('denies by the first button, which is also what Enter does', async () => {
    await gate.call('wire_transfer');
    await signIn();
    await card('wire_transfer').getByLabel('Reason').press('Enter');
    await page.getByText('Nothing waits.').waitFor();
    expect(await page.getByRole('row', { name: /wire_transfer/ }).textContent()).toContain('denied by operator:lite');
    expect(tools.executed).toHaveLength(0);
    expect(complaints).toEqual([]);
  }, 90_000);

  it('names the effect of an approval: a decision call is approved, not executed', async () => {
    await gate.call('wire_transfer', { decision: true });
    await signIn();
    expect(await card('wire_transfer').getByRole('button').allTextContents()).toEqual(['Deny', 'Approve']);
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
    expect(await page.getByRole('alert').textContent()).toBe('This call is denied already, by operator:lite.');
    await page.getByRole('link', { name: 'Back to the calls that wait' }).click();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    await page.context().clearCookies();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('The session has ended; sign in again.').waitFor();
    expect(tools.executed).toHaveLength(0);
  }, 90_000);
});
