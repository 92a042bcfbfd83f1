import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Result } from 'axe-core';
import type { Page } from 'playwright-core';

/** Less than half of what the package itself loads: every page that is looked at reads it anew. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds wrong on the page as it is shown now, with the elements it means. */
async function violations(page: Page, rules?: readonly string[]): Promise<Result[]> {
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(AXE);
  // Of what passes only the names of the rules are gathered, and nothing of it leaves the browser. No page plays anything or is locked to one
  // orientation by a style sheet, for which axe would load all of them again.
  const options = JSON.stringify({ resultTypes: ['violations'], preload: false, ...(rules && { runOnly: rules }) });
  return page.evaluate<Result[]>(`axe.run(${options}).then(({ violations }) => violations)`);
}

const told = ({ id, nodes }: Result): string => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`;

/** What axe finds less serious, and what somebody who listens goes by: landmarks of one name, and a page without a heading. */
const GONE_BY = new Set(['landmark-unique', 'page-has-heading-one']);

/** What is serious, or worse, or what people go by. */
export const seriousFindings = async (page: Page, rules?: readonly string[]): Promise<string[]> =>
  (await violations(page, rules))
    .filter(({ id, impact }) => impact === 'serious' || impact === 'critical' || GONE_BY.has(id))
    .map(told);

/** The size at which pages are looked at, unless a test says otherwise. */
const AT_A_DESK = { width: 1280, height: 800 };
const NARROWEST_AND_WIDEST = [
  { width: 320, height: 640 },
  { width: 2560, height: 1440 },
];

/** Of the rules of axe, those that go by colours. */
const OF_COLOURS = ['color-contrast', 'link-in-text-block'];

/** What is found in both themes, which differ by colours alone: the page is loaded once, and in the second theme its colours are looked at. */
async function inBothThemes(
  page: Page,
  look: (rules?: readonly string[]) => Promise<readonly string[]>,
): Promise<string[]> {
  const found: string[] = [];
  for (const [colorScheme, rules] of [
    ['light', undefined],
    ['dark', OF_COLOURS],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    found.push(...(await look(rules)).map((one) => `${colorScheme}: ${one}`));
  }
  return found;
}
export const findingsInBothThemes = (page: Page): Promise<string[]> =>
  inBothThemes(page, async (rules) => (await violations(page, rules)).map(told));
export const seriousInBothThemes = (page: Page): Promise<string[]> =>
  inBothThemes(page, (rules) => seriousFindings(page, rules));

/** Buttons whose words stand below each other: the narrowest of them is drawn far higher than it is wide. */
const SQUEEZED = `[...document.querySelectorAll('button')].filter((button) => {
  const { width, height } = button.getBoundingClientRect();
  return height > 2 * width && height > 60;
}).map((button) => button.textContent.trim())`;

/**
 * That in both themes, with all that is folded open, the windows in which the page scrolls sideways, and the buttons that have no room there: the
 * narrowest one and the widest are tried without loading it again.
 */
export async function seriousOrTooWide(page: Page): Promise<string[]> {
  // As somebody would open them, and folded again for whoever goes on with the page.
  await page.evaluate(
    "for (const one of document.querySelectorAll('details:not([open])')) one.dataset.folded = '', one.open = true",
  );
  const found = await seriousInBothThemes(page);
  for (const size of NARROWEST_AND_WIDEST) {
    await page.setViewportSize(size);
    const width = await page.evaluate<number>('document.documentElement.scrollWidth');
    if (width !== size.width) found.push(`${width} pixels wide in ${size.width}`);
    for (const words of await page.evaluate<string[]>(SQUEEZED)) found.push(`no room for "${words}" in ${size.width}`);
  }
  await page.setViewportSize(AT_A_DESK);
  await page.evaluate(
    "for (const one of document.querySelectorAll('[data-folded]')) one.open = false, delete one.dataset.folded",
  );
  return found;
}
