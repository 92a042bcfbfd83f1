import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { readAssets } from '../../api/console/assets.js';
import { sidecarSha256 } from '../../domain/ledger/sidecar-digest.js';
import { seriousOrTooWide } from '../support/accessibility.js';
import { chromiumPath, openBrowser } from '../support/browser.js';
import { ABOUT } from '../support/about-console.js';
import { type ConsoleOverLedger, consoleOverLedger } from '../support/console-over-ledger.js';
import { testRow } from '../support/ledger.js';
import { ofLedger } from '../support/looked-at.js';
import { ledgerService, type TestLedgerService } from '../support/ledger-service.js';
import { WITH_MODELS } from '../support/model-snapshot.js';
import { needs } from '../support/needs.js';

const executable = chromiumPath();
const inBrowser = executable === null ? describe.skip : describe;
const CALL = '55555555-5555-4555-8555-555555555555';
const INPUT = JSON.stringify({
  tool_type: 'pay',
  method: 'tools/call',
  arguments: {},
  taint: [{ from: CALL, tool: 'read_mail', field: '/text', argument: '/to', kind: 'name' }],
});
const REQUEST = JSON.stringify({ method: 'tools/call', params: { name: 'pay', arguments: { to: 'eve-corp' } } });
const SAID = {
  allow: false,
  reasons: ['Violation: money leaves without a person'],
  review_reasons: [],
  approval_tier: 'standard',
  policy_bundle: { schema_version: 1, version: 'v1', hash_sha256: `sha256:${'1'.repeat(64)}`, policy_count: 3 },
};

inBrowser(`the pages over the ledger in a browser${needs('chromium', executable !== null)}`, () => {
  let gate: TestLedgerService;
  let console: ConsoleOverLedger;
  let browser: Browser;
  let address: string;
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gate-pages-'));
    browser = await openBrowser(executable ?? '');
    gate = await ledgerService('sqlite', { ledger: { coldPlace: { at: { directory: folder }, retentionMs: 0 } } });
    const about = { ...ABOUT, workflowPages: 'http://127.0.0.1:8234/namespaces/gate/workflows' };
    console = consoleOverLedger(() => gate, Date.now, about, await readAssets());
    console.policy = () => ({ ...SAID, retention_class: null, review_reasons: ['Review: somebody looks at it'] });
    console.brain = () => WITH_MODELS;
    address = await console.listen();
    await gate.ledger.append([
      testRow({
        agent_id: 'pay-bot',
        tool_name: 'pay',
        signal: 'injection_detected',
        policy_decision: { outcome: 'deny', reasons: SAID.reasons },
        payload_sha256: sidecarSha256(REQUEST),
        payload_canonical_json: REQUEST,
      }),
      testRow({
        agent_id: 'pay-bot',
        method: 'policy.evaluated',
        event_kind: 'policy.evaluated',
        policy_decision: SAID,
        payload_sha256: sidecarSha256(INPUT),
        payload_canonical_json: INPUT,
      }),
      testRow({
        agent_id: 'a-robot-with-a-name-that-does-not-end-where-a-narrow-page-does',
        tool_name: 'x'.repeat(90),
        correlation_id: null,
      }),
    ]);
    const posted = await console.post('/exports/run');
    expect(posted.status).toBe(303);
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await console?.close();
    await gate?.close();
    rmSync(folder, { recursive: true, force: true });
  }, 60_000);

  const opened = async (options: BrowserContextOptions = {}): Promise<{ page: Page; complaints: string[] }> => {
    const context = await browser.newContext(options);
    await context.addCookies([{ name: 'gate_console_session', value: 'acme', url: address }]);
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => {
      // Nobody streams here.
      if (message.type() === 'error' && !message.location().url.endsWith('/stream/audit'))
        complaints.push(message.text());
    });
    page.on('pageerror', (error) => void complaints.push(error.message));
    return { page, complaints };
  };
  const opensCase = async (page: Page): Promise<string> => {
    await page.goto(`${address}/audit/hunt?window=24h`);
    await page.getByRole('checkbox', { name: 'pay-bot into a case' }).check();
    await page.getByRole('textbox', { name: 'Title of the case' }).fill('money at night');
    await page.getByRole('button', { name: 'Open a case of those ticked' }).click();
    await page.getByRole('heading', { name: /money at night/ }).waitFor();
    return new URL(page.url()).pathname;
  };

  it.each([true, false])(
    'keep a case from the hunt to its end, with scripts: %s',
    async (javaScriptEnabled) => {
      const { page, complaints } = await opened({ javaScriptEnabled });
      await opensCase(page);
      await page.getByRole('combobox', { name: 'Severity' }).selectOption('death');
      await page.getByRole('button', { name: 'Classify' }).click();
      await page.getByText('in 9 days').first().waitFor();
      await page.getByRole('textbox', { name: 'Note' }).fill('the owner was told');
      await page.getByRole('button', { name: 'Write it down' }).click();
      await page.getByText('the owner was told').waitFor();
      const download = page.waitForEvent('download');
      await page.getByRole('link', { name: 'a report of one page' }).click();
      expect((await download).suggestedFilename()).toMatch(/^gate-case-[0-9a-f-]{36}\.md$/);
      await page.getByRole('combobox', { name: 'Status' }).selectOption('closed');
      await page.getByRole('button', { name: 'Set' }).click();
      await page.getByText('open to closed').waitFor();
      expect(complaints).toEqual([]);
      await page.context().close();
    },
    90_000,
  );

  it.each([true, false])(
    'lead from a signal of a call to its evidence in the text, with scripts: %s',
    async (javaScriptEnabled) => {
      const { page, complaints } = await opened({ javaScriptEnabled });
      await page.goto(`${address}/audit/correlation/${CALL}`);
      await page.getByRole('link', { name: 'marked in the request' }).click();
      expect(new URL(page.url()).hash).toBe('#evidence-1');
      const mark = page.locator('mark:target');
      expect(await mark.textContent()).toBe('[evidence of 1: "eve-corp" end of evidence]');
      await page.getByRole('link', { name: 'Brain', exact: true }).click();
      await page.getByRole('heading', { name: 'Providers' }).waitFor();
      expect(await page.getByRole('row', { name: /^local/ }).textContent()).toContain('held back');
      expect(complaints).toEqual([]);
      await page.context().close();
    },
    90_000,
  );

  it('have no serious finding of axe in both themes, and fit 320 and 2560 px', async () => {
    const { page, complaints } = await opened();
    const one = await opensCase(page);
    const found: Record<string, string[]> = {};
    for (const path of ofLedger(one, CALL)) {
      await page.goto(address + path);
      found[path] = await seriousOrTooWide(page);
    }
    expect(Object.entries(found).filter(([, findings]) => findings.length > 0)).toEqual([]);
    expect(complaints).toEqual([]);
    await page.context().close();
  }, 180_000);
});
