import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { PROJECT_ROOT } from '../../config/project-root.js';

const FOLDER = join(PROJECT_ROOT, 'docs', 'images');
/** The pages that the console's navigation names. */
const NAVIGATION = "[...document.querySelectorAll('.top nav a')].map((link) => link.textContent.trim())";

/** What a failure says. */
const TAKE_ANEW = 'take it anew with GATE_TEST_PICTURES=write (docs/how-to/add-a-page.md), the picture';

/**
 * Takes the picture of a page that README and the manual show, in a run with `GATE_TEST_PICTURES=write`. Any other run walks there, and fails where
 * the page of a console has another navigation than it had when its picture was taken.
 */
export async function pictured(page: Page, name: string): Promise<void> {
  const words = join(FOLDER, `${name}.txt`);
  const navigation = await page.evaluate<string[]>(NAVIGATION);
  const said = navigation.map((label) => `${label}\n`).join('');
  if (process.env['GATE_TEST_PICTURES'] !== 'write') {
    expect({ [TAKE_ANEW]: name, navigation: existsSync(words) ? readFileSync(words, 'utf8') : '' }).toEqual({
      [TAKE_ANEW]: name,
      navigation: said,
    });
    return;
  }
  mkdirSync(FOLDER, { recursive: true });
  await page.screenshot({ path: join(FOLDER, `${name}.png`), animations: 'disabled' });
  if (said !== '') writeFileSync(words, said);
}
