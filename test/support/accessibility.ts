import axe, { type Result } from 'axe-core';
import type { Page } from 'playwright-core';

/** What axe finds wrong on the page as it is shown now, with the elements it means. */
async function violations(page: Page, rules?: readonly string[]): Promise<Result[]> {
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(axe.source);
  // Of what passes only the names of the rules are gathered, and nothing of it leaves the browser.
  const options = JSON.stringify({ resultTypes: ['violations'], ...(rules && { runOnly: rules }) });
  return page.evaluate<Result[]>(`axe.run(${options}).then(({ violations }) => violations)`);
}

const told = ({ id, nodes }: Result): string => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`;

/** All of it. */
export const findings = async (page: Page): Promise<string[]> => (await violations(page)).map(told);

/** All of it in both themes, which differ by colours alone. */
export async function findingsInBothThemes(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    found.push(...(await findings(page)).map((one) => `${colorScheme}: ${one}`));
  }
  return found;
}

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

/** The same in both themes, which differ by colours alone: the page is loaded once, and in the second theme its colours are looked at. */
export async function seriousInBothThemes(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const [colorScheme, rules] of [
    ['light', undefined],
    ['dark', ['color-contrast']],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    found.push(...(await seriousFindings(page, rules)).map((one) => `${colorScheme}: ${one}`));
  }
  return found;
}

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
