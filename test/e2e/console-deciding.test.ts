import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { loadAnalyzer } from '../../adapters/sandbox/analyzer.js';
import { readAssets } from '../../api/console/assets.js';
import { ASK_LIMITS } from '../../api/console/ask-limits.js';
import { chromiumPath, openBrowser } from '../support/browser.js';
import { type ConsoleFixture, openConsole } from '../support/console-over-hil.js';
import { needs } from '../support/needs.js';
import { eventually } from '../support/waiting.js';

const executable = chromiumPath();
const inBrowser = executable === null ? describe.skip : describe;

inBrowser(`a decision in a browser${needs('chromium', executable !== null)}`, () => {
  let fixture: ConsoleFixture;
  let browser: Browser;
  let address: string;
  beforeAll(async () => {
    browser = await openBrowser(executable ?? '');
    fixture = await openConsole(await readAssets(), { limits: { ...ASK_LIMITS, decideMs: 1_000, readMs: 300 } });
    address = (await fixture.service.app.listen({ host: '127.0.0.1', port: 0 })).replace('127.0.0.1', 'localhost');
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await fixture?.close();
  }, 60_000);

  const opened = async (
    path: string,
    over: BrowserContextOptions = {},
    as: Parameters<ConsoleFixture['browser']>[0] = {},
  ) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...over });
    const { cookie } = await fixture.browser(as);
    await context.addCookies([{ name: 'gate_console_session', value: cookie, url: address }]);
    const page = await context.newPage();
    await page.goto(`${address}${path}`);
    return page;
  };

  it('asks below the arguments, and says in the question what the call would do', async () => {
    const call = { name: 'wire_transfer', arguments: { from: 'operating', to: 'vendor', amount: 25 } };
    const row = await fixture.hil.park(1, { sandbox_report: (await loadAnalyzer())('tools/call', call) });
    const page = await opened(`/hil/${row.id}`);
    await page.keyboard.press('a');
    const question = page.getByRole('dialog');
    expect(await question.textContent()).toContain('risky move 25 to vendor (cannot be undone)');
    const [asked, read] = [await question.boundingBox(), await page.locator('table.values').first().boundingBox()];
    expect(asked?.y).toBeGreaterThan((read?.y ?? 0) + (read?.height ?? 0));
    await page.context().close();
  }, 60_000);

  it('is not a viewer’s: no button, and no key asks', async () => {
    const row = await fixture.hil.park(31);
    const page = await opened(`/hil/${row.id}`, {}, { role: 'viewer' });
    await page.getByText('Your role, viewer, looks on: an approver decides.').waitFor();
    for (const name of ['Approve', 'Deny', 'Change…', 'Assign to me', 'Approve ticked'])
      expect([name, await page.getByRole('button', { name, exact: true }).count()]).toEqual([name, 0]);
    for (const key of ['a', 'd', 'm', 'Enter']) await page.keyboard.press(key);
    expect(await page.getByRole('dialog').count()).toBe(0);
    expect(new URL(page.url()).pathname).toBe(`/hil/${row.id}`);
    expect((await fixture.hil.reviews.get(row.id, 'acme'))?.status).toBe('pending');
    await page.context().close();
  }, 60_000);

  it('copies an id by click and by keyboard', async () => {
    const spiffe = 'spiffe://acme.example/agent/payments';
    const row = await fixture.hil.park(32, { agent_spiffe: spiffe });
    const page = await opened(`/hil/${row.id}`, { permissions: ['clipboard-read', 'clipboard-write'] });
    const id = page.locator(`[data-copy="${row.id}"]`).first();
    const copied = () => page.evaluate('navigator.clipboard.readText()');
    await id.click();
    await page.locator('.copied').waitFor();
    expect(await copied()).toBe(row.id);
    await page.locator(`[data-copy="${spiffe}"]`).click();
    await eventually('the agent’s identity is copied', async () => (await copied()) === spiffe);
    for (const key of ['Enter', 'Space']) {
      await page.evaluate("navigator.clipboard.writeText('another text')");
      await id.focus();
      await page.keyboard.press(key);
      await eventually(`${key} copied it`, async () => (await copied()) === row.id);
      expect(await page.evaluate('scrollY')).toBe(0);
    }
    // Also of a call that came anew.
    await fixture.hil.settle(row);
    await page.locator('article .tag.approved').waitFor();
    await id.focus();
    expect(await page.locator(':focus').getAttribute('role')).toBe('button');
    await page.context().close();
  }, 60_000);

  it.each([true, false])(
    'goes back through the previews of a change, scripts: %s',
    async (javaScriptEnabled) => {
      const row = await fixture.hil.park(11);
      const page = await opened(`/hil/${row.id}/modify`, { javaScriptEnabled });
      const [heading, amount] = [page.getByRole('heading', { level: 1 }), page.getByLabel('amount')];
      const button = (name: string) => page.getByRole('button', { name });
      expect(await page.locator(':focus').getAttribute('id')).toBe(await amount.getAttribute('id'));
      await amount.fill('7');
      await button('Look at the change').click();
      // A tab away from the button that approves.
      expect(await page.locator(':focus').getAttribute('name')).toBe('reason');
      await button('Change more').click();
      expect(await amount.inputValue()).toBe('7');
      await amount.fill('8');
      await button('Look at the change').click();
      expect(await page.locator('tr.changed ins').textContent()).toBe('8');
      const preview = await heading.textContent();
      await page.goBack();
      expect(await amount.inputValue()).toMatch(/^[78]$/);
      await page.goBack();
      expect([await heading.textContent(), await page.locator('tr.changed ins').textContent()]).toEqual([preview, '7']);
      await page.context().close();
    },
    60_000,
  );

  it.each([true, false])(
    'covers no argument that was not on screen yet, on a telephone, scripts: %s',
    async (javaScriptEnabled) => {
      const row = await fixture.hil.park(3, {
        request_payload: {
          method: 'tools/call',
          params: { name: 'pay', arguments: { list: Array.from({ length: 64 }, (_, at) => `item ${at}`) } },
        },
      });
      const page = await opened(`/hil/${row.id}`, { viewport: { width: 360, height: 640 }, javaScriptEnabled });
      const decide = page.locator('.decide');
      const pre = page.getByLabel('Arguments as JSON');
      const [read, bar] = [await pre.boundingBox(), await decide.boundingBox()];
      expect(bar?.y).toBeGreaterThanOrEqual((read?.y ?? 0) + (read?.height ?? 0));
      expect(read?.height).toBeGreaterThan(640);
      // Whoever jumps to the end has not seen what is between.
      await page.locator('[data-arguments-end]').scrollIntoViewIfNeeded();
      expect(await page.locator('.decide.stays').count()).toBe(0);
      if (javaScriptEnabled) {
        await page.evaluate('scrollTo(0, 0)');
        while ((await page.locator('.decide.stays').count()) === 0) {
          await page.mouse.move(180, 200);
          await page.mouse.wheel(0, 300);
          await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
        }
      }
      expect(await page.locator('.decide.stays').count()).toBe(javaScriptEnabled ? 1 : 0);
      await page.context().close();
    },
    60_000,
  );

  it('says that it was sent, and not once its page is there', async () => {
    const row = await fixture.hil.park(2);
    const page = await opened(`/hil/${row.id}`);
    const said: string[] = [];
    page.on('console', (message) => void said.push(message.text()));
    // Playwright looks at no page that is being left.
    await page.evaluate(`new MutationObserver(() => console.info(document.querySelector('form [role=status]')?.textContent))
      .observe(document.querySelector('.decide'), { childList: true, subtree: true })`);
    fixture.hanging.add('hil');
    await page.getByRole('button', { name: 'Deny', exact: true }).click();
    await page.getByText('may have taken the decision').waitFor();
    expect(said).toContain('Sent: waiting for the answer.');
    expect(await page.getByText('Sent: waiting').count()).toBe(0);
    fixture.hanging.clear();
    await page.context().close();
  }, 60_000);
});
