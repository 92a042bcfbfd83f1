import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { PROJECT_ROOT } from '../../config/project-root.js';

const FOLDER = join(PROJECT_ROOT, 'docs', 'images');

/** Takes the picture of a page that README and the manual show, in a run with `GATE_TEST_PICTURES=write`; any other run only walks there. */
export async function pictured(page: Page, name: string): Promise<void> {
  if (process.env['GATE_TEST_PICTURES'] !== 'write') return;
  mkdirSync(FOLDER, { recursive: true });
  await page.screenshot({ path: join(FOLDER, `${name}.png`), animations: 'disabled' });
}
