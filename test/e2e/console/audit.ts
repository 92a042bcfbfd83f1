import { createPublicKey } from 'node:crypto';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { verifyRegulatoryBundle } from '../../../adapters/evidence/regulatory/verify-bundle.js';
import { needs } from '../../support/needs.js';
import { browser, exportKey, folder, gate, hasBrowser, inBrowser } from '../../support/running-console.js';
import { eventually } from '../../support/waiting.js';

const LIMIT_MS = 120_000;

inBrowser(`the audit of the console in a browser${needs('chromium', hasBrowser)}`, () => {
  const signedIn = async (javaScriptEnabled = true): Promise<{ page: Page; complaints: string[] }> => {
    const page = await (await browser.newContext({ javaScriptEnabled, acceptDownloads: true })).newPage();
    const complaints: string[] = [];
    page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
    page.on('pageerror', (error) => void complaints.push(error.message));
    page.on('dialog', (dialog) => void complaints.push(`a dialog: ${dialog.message()}`));
    await page.goto(`${gate.development.console.url}/login`);
    await page.getByLabel('Operator token').fill(gate.development.operator_token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(/:\d+\/$/);
    return { page, complaints };
  };
  const at = (path: string) => `${gate.development.console.url}${path}`;
  const called = async (tool: string, args: Record<string, string | number> = {}) => {
    const agent = await gate.agent();
    const { correlationId } = await agent.call(tool, args);
    return correlationId;
  };

  it(
    'follows rows; pauses, counts what is new meanwhile, and goes on',
    async () => {
      const { page, complaints } = await signedIn();
      const followed = page.waitForResponse((answer) => answer.url().endsWith('/stream/audit'));
      await page.goto(at('/audit?methods=proxy.verdict'));
      await followed;
      const rows = page.locator('tbody tr');
      const before = await rows.count();
      await called('list_files');
      await eventually('the new row', async () => (await rows.count()) === before + 1);
      // A press on a row that goes before it ends would be no click.
      await rows.first().hover();
      await page.mouse.down();
      const came = page.waitForResponse(
        (answer) => answer.request().resourceType() === 'fetch' && answer.url().includes('/audit?'),
      );
      await called('list_files');
      await (await came).finished();
      await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
      expect(await rows.count()).toBe(before + 1);
      await page.mouse.up();
      await eventually('the row that came meanwhile', async () => (await rows.count()) === before + 2);
      await page.getByRole('button', { name: 'Pause' }).click();
      await called('list_files');
      const badge = page.getByRole('button', { name: /^\d+\+? new$/ });
      await badge.waitFor();
      expect(await rows.count()).toBe(before + 2);
      await badge.click();
      expect(await rows.count()).toBe(before + 3);
      expect(complaints).toEqual([]);
      await page.context().close();
    },
    LIMIT_MS,
  );

  it(
    'hands an administrator the signed archive of a window, as the ledger made it',
    async () => {
      await called('list_files');
      const { page, complaints } = await signedIn();
      await page.goto(at('/exports'));
      await page.getByLabel('From').fill('2020-01-01');
      await page.getByRole('textbox', { name: 'to', exact: true }).fill('2100-01-01');
      await page.getByRole('checkbox', { name: /register/ }).check();
      const begun = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Make the archive' }).click();
      const download = await begun;
      const bundle = join(folder, download.suggestedFilename());
      await download.saveAs(bundle);
      const publicKeyPem = createPublicKey(exportKey).export({ type: 'spki', format: 'pem' }).toString();
      expect(await verifyRegulatoryBundle(bundle, { publicKeyPem })).toMatchObject({ valid: true });
      expect(complaints).toEqual([]);
      await page.context().close();
    },
    LIMIT_MS,
  );

  it.each([true, false])(
    'finds a call by agent and tool, tells it, and gives its proof, with scripts: %s',
    async (scripts) => {
      const { page, complaints } = await signedIn(scripts);
      const cid = await called('wire_transfer', { from: 'operating', to: '<img src=x onerror=alert(1)>', amount: 25 });
      await gate.rows(cid, (kinds) => kinds.includes('hil.created'));
      await page.goto(at('/audit'));
      await page.getByRole('textbox', { name: 'Agent' }).fill('SUPPORT-*');
      await page.getByRole('textbox', { name: 'Tool' }).fill('wire_transfer');
      await page.getByRole('button', { name: 'Show' }).click();
      expect(new URL(page.url()).searchParams.get('agent')).toBe('SUPPORT-*');
      await page.locator(`a[href="/audit/correlation/${cid}"]`).first().click();
      await page.getByRole('heading', { name: 'What happened' }).waitFor();
      expect(await page.locator('pre').first().textContent()).toContain('<img src=x onerror=alert(1)>');
      await page.getByRole('link', { name: "Ask today's rules about this call" }).click();
      await page.getByText('They say of it what was said then; the rules are the same.').waitFor();
      const download = page.waitForEvent('download');
      await page.getByRole('link', { name: 'proof' }).first().click();
      expect((await download).suggestedFilename()).toMatch(/^gate-proof-\d+\.json$/);
      await page.goto(at('/audit?tool=wire_transfer'));
      await page.getByRole('textbox', { name: 'Keep this search as' }).fill(`wires ${scripts}`);
      await page.getByRole('button', { name: 'Keep', exact: true }).click();
      await page.goto(at('/audit'));
      await page.getByRole('link', { name: `wires ${scripts}` }).click();
      expect(new URL(page.url()).search).toBe('?tool=wire_transfer');
      await page.goto(at('/agents'));
      await page
        .getByRole('img', { name: /sent to a person/ })
        .first()
        .waitFor();
      await page.setViewportSize({ width: 375, height: 740 });
      for (const path of [
        '/agents',
        '/audit',
        `/audit/correlation/${cid}`,
        '/audit/agents/support-bot/narrative',
        '/audit/hunt',
      ]) {
        await page.goto(at(path));
        expect(await page.locator('html').evaluate((html) => html.scrollWidth)).toBeLessThanOrEqual(375);
      }
      expect(complaints).toEqual([]);
      await page.context().close();
    },
    LIMIT_MS,
  );
});
