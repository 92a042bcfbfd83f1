import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { readAssets } from '../../api/console/assets.js';
import { chromiumPath, openBrowser } from '../support/browser.js';
import { type ConsoleFixture, openConsole } from '../support/console-over-hil.js';
import { needs } from '../support/needs.js';
import { eventually } from '../support/waiting.js';

const executable = chromiumPath();
const inBrowser = executable === null ? describe.skip : describe;
const PARKED = 1_050;

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

  const opened = async (javaScriptEnabled: boolean) => {
    const context = await browser.newContext({ javaScriptEnabled });
    const { cookie } = await fixture.browser();
    await context.addCookies([{ name: 'gate_console_session', value: cookie, url: address }]);
    const page = await context.newPage();
    await page.goto(`${address}/hil`);
    return page;
  };

  it('loads the next page when the end is near, and holds them all, so that somebody scrolls back', async () => {
    const page = await opened(true);
    const rows = page.locator('[data-row]');
    const ticked = rows.first().getByRole('checkbox');
    const kept = await ticked.getAttribute('value');
    await ticked.check();
    const seen = new Set<string>();
    await eventually('the last of the rows', async () => {
      const ids = (await page.evaluate(
        "[...document.querySelectorAll('[data-row]')].map((row) => row.dataset.row)",
      )) as string[];
      for (const id of ids) seen.add(id);
      await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
      return seen.size === PARKED;
    });
    expect(await rows.count()).toBe(PARKED);
    await page.evaluate('scrollTo(0, 0)');
    expect(await rows.first().getAttribute('data-row')).toBe(kept);
    expect(await page.locator(`[data-row="${kept}"] input:checked`).count()).toBe(1);
    expect(await page.locator('[data-row] > a[aria-current]').count()).toBe(1);
    await page.context().close();
  }, 120_000);

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
