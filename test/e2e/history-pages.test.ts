import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { chromiumPath, openBrowser } from '../support/browser.js';
import { commandLine } from '../support/command.js';
import { needs } from '../support/needs.js';
import { pictured } from '../support/pictures.js';
import { STACK_START_LIMIT_MS, startStack, type TestStack } from '../support/stack.js';

const executable = chromiumPath();
/** How long a call waits here for a person. */
const WAITS_SECS = 15;

(executable === null ? describe.skip : describe)(
  `the engine's pages, as the manual shows them${needs('chromium', executable !== null)}`,
  () => {
    let gate: TestStack;
    let browser: Browser;
    /** A call that nobody decides. It waits from the beginning, so that its time passes beside the other pages. */
    let expires: string;
    const command = commandLine(() => gate.stateDir);
    beforeAll(async () => {
      [gate, browser] = await Promise.all([
        startStack({ env: { GATE_REVIEW_TTL_STANDARD_SECS: String(WAITS_SECS) } }),
        openBrowser(executable ?? ''),
      ]);
      expires = (await call('wire_transfer', { from: 'operating', to: 'vendor', amount: 26 })).correlationId;
    }, STACK_START_LIMIT_MS);
    afterAll(async () => {
      await browser?.close();
      await gate?.stop();
    }, 150_000);

    const call = async (tool: string, args: object) => {
      const bot = await gate.agent('support-bot');
      return bot.call(tool, args as never);
    };
    /** The page of the newest run of a call, in clear. */
    const pageOf = async (correlationId: string, height: number) => {
      const { code, out } = await command.done(['history', correlationId, '--link'], { GATE_STATE_DIR: gate.stateDir });
      expect(code).toBe(0);
      const context = await browser.newContext({ viewport: { width: 1160, height }, colorScheme: 'light' });
      const page = await context.newPage();
      // What is said on the other stream stands behind it.
      await page.goto(out.split('\n')[0] ?? '');
      await page.waitForURL(/\/history$/);
      return page;
    };

    const waits = { from: 'operating', to: 'vendor', amount: 25 };
    it.each([
      ['history-allow', 1060, 'list_files', {}, 'upstream.outcome', 'completed'],
      ['history-deny', 1060, 'delete_file', { path: 'notes/todo.txt' }, 'policy.evaluated', 'denied'],
      ['history-park', 940, 'wire_transfer', waits, 'hil.created', 'yellow'],
      ['history-uncertain', 1060, 'drop_connection', {}, 'upstream.outcome', 'uncertain'],
      ['history-expire', 940, 'wire_transfer', null, 'hil.expired', 'expired'],
    ] as const)(
      '%s',
      async (name, height, tool, args, last, word) => {
        const correlationId = args === null ? expires : (await call(tool, args)).correlationId;
        await gate.kinds(correlationId, last);
        const page = await pageOf(correlationId, height);
        await page.getByText(`"${tool}"`).first().waitFor();
        await page.getByText(word).first().waitFor();
        await pictured(page, name);
        await page.context().close();
      },
      90_000,
    );
  },
);
