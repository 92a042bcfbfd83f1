import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The browser of `GATE_TEST_CHROMIUM`, else the distribution's; `null` where there is none. */
export const chromiumPath = (): string | null =>
  [process.env['GATE_TEST_CHROMIUM'], ...PLACES].find((path) => path !== undefined && existsSync(path)) ?? null;

/** Without its sandbox: a test container has no user namespaces, and the pages are Gate's own. */
export const openBrowser = (executablePath: string): Promise<Browser> =>
  chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'], timeout: 60_000 });
