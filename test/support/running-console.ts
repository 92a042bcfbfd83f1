import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe } from '@jest/globals';
import type { Browser, BrowserContext } from 'playwright-core';
import { consoleOf } from '../../cli/stack-target.js';
import { chromiumPath, openBrowser } from './browser.js';
import { consoleCookie } from './console-page.js';
import { STACK_START_LIMIT_MS, startStack, type TestStack } from './stack.js';

const executable = chromiumPath();
export const hasBrowser = executable !== null;
export const inBrowser = hasBrowser ? describe : describe.skip;
/** A call of tier `strict` needs two people, and here waits only so long. */
const STRICT_SECS = 25;

/** The stack and a browser, once for the parts of one test file (test/e2e/console). Each part has agents, contexts and pages of its own. */
export let gate: TestStack;
export let browser: Browser;
/** What the ledger signs its archives with, and a folder for them. */
export const { privateKey: exportKey } = generateKeyPairSync('ed25519');
export let folder: string;

beforeAll(async () => {
  if (executable === null) return;
  folder = mkdtempSync(join(tmpdir(), 'gate-console-'));
  const file = join(folder, 'export.pem');
  writeFileSync(file, exportKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  [gate, browser] = await Promise.all([
    startStack({
      env: { GATE_REVIEW_TTL_STRICT_SECS: String(STRICT_SECS), GATE_LEDGER_EXPORT_KEY_FILE: file },
    }),
    openBrowser(executable),
  ]);
}, STACK_START_LIMIT_MS);
afterAll(async () => {
  await browser?.close();
  await gate?.stop();
  if (folder) rmSync(folder, { recursive: true, force: true });
}, 150_000);

/** A path of the console, under the name that browsers know it by. */
export const atConsole = (path: string): string => new URL(path, consoleOf(gate.development)).href;

/** Signs the browser in by a link of its own, without a page: only who tests signing in opens one for it. */
export async function signIn(context: BrowserContext, as?: string): Promise<void> {
  await context.addCookies([{ ...(await consoleCookie(gate.development, as)), url: atConsole('/') }]);
}
