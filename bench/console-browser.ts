import type { Page } from 'playwright-core';
import { chromiumPath, openBrowser } from '../test/support/browser.js';
import { measureFrames } from './console-frames.js';
import { quantile, rounded } from './numbers.js';

const LOADS = 5;
const PRESSES = 9;
/** Calls that are opened one after the other. */
const CALLS = 40;

export interface BrowserFigures {
  readonly first_paint: readonly object[];
  readonly interaction: readonly object[];
  readonly [table: string]: readonly object[];
}

/** What somebody at a browser feels: first paint, keys, and the frames of a list that scrolls to its end. */
export async function measureBrowser(options: {
  readonly address: string;
  readonly cookie: string;
  readonly review: string;
  readonly call: string;
  readonly pending: number;
  readonly say: (line: string) => void;
}): Promise<BrowserFigures> {
  const { address, cookie, review, call, pending, say } = options;
  const browser = await openBrowser(chromiumPath() ?? '');
  const visit = async () => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    await context.addCookies([{ name: 'gate_console_session', value: cookie, url: address }]);
    return context.newPage();
  };
  try {
    const first_paint = [];
    for (const [page, path] of [
      ['the queue and its first call', '/hil'],
      ['a call that waits', `/hil/${review}`],
      ['a call, its story', `/audit/correlation/${call}`],
      ['audit, newest rows', '/audit'],
      ['agents', '/agents'],
    ] as const) {
      const sample: number[] = [];
      for (let at = 0; at < LOADS; at += 1) {
        const tab = await visit();
        await tab.goto(address + path);
        sample.push(await firstPaint(tab));
        await tab.context().close();
      }
      first_paint.push({ page, ...spread(sample) });
      say(`first paint, ${page}: ${rounded(quantile(sample, 0.5))} ms`);
    }
    const tab = await visit();
    await tab.goto(`${address}/hil/${review}`);
    const interaction = [];
    for (const [what, key, back] of [
      ['? opens the help', '?', 'Escape'],
      ['a asks whether to approve', 'a', 'Escape'],
      ['x ticks the call', 'x', 'x'],
      ['d leads to the reason', 'd', 'Escape'],
    ] as const) {
      const sample: number[] = [];
      for (let at = 0; at < PRESSES; at += 1) {
        sample.push(await shownAfter(tab, key));
        await tab.keyboard.press(back);
      }
      interaction.push({ interaction: what, ...spread(sample) });
      say(`${what}: ${rounded(quantile(sample, 0.5))} ms`);
    }
    await tab.goto(`${address}/hil`);
    for (const [what, pauseMs] of [
      ['j shows the next call, to who reads each for a second', 1_000],
      ['j shows the next call, pressed as soon as the one before is there', 0],
    ] as const) {
      const sample: number[] = [];
      for (let at = 0; at < CALLS; at += 1) {
        await tab.waitForTimeout(pauseMs);
        sample.push(await nextShownAfter(tab));
      }
      interaction.push({ interaction: what, ...spread(sample) });
      say(`${what}: ${rounded(quantile(sample, 0.5))} ms, p95 ${rounded(quantile(sample, 0.95))} ms`);
    }
    await tab.context().close();
    return { first_paint, interaction, ...(await measureFrames({ browser, visit, address, pending, say })) };
  } finally {
    await browser.close();
  }
}

const spread = (sample: readonly number[]) => ({
  p50_ms: rounded(quantile(sample, 0.5)),
  p95_ms: rounded(quantile(sample, 0.95)),
  max_ms: rounded(Math.max(...sample)),
});

const firstPaint = (page: Page): Promise<number> =>
  page.evaluate(
    `new Promise((done) => {
      const found = () => performance.getEntriesByName('first-contentful-paint')[0];
      if (found()) return done(found().startTime);
      new PerformanceObserver(() => found() && done(found().startTime)).observe({ type: 'paint', buffered: true });
    })`,
  );

/** From the moment at which the page hears of a key to the frame after that in which it was handled. */
async function shownAfter(page: Page, key: string): Promise<number> {
  await page.evaluate(
    `void (globalThis.shown = new Promise((done) => addEventListener('keydown', () => {
      const begun = performance.now();
      requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - begun)));
    }, { once: true, capture: true })))`,
  );
  await page.keyboard.press(key);
  return page.evaluate('globalThis.shown');
}

/** From the moment at which the page hears of `j` to the frame after that in which another call stands there. */
async function nextShownAfter(page: Page): Promise<number> {
  await page.evaluate(
    `void (globalThis.shown = new Promise((done) => addEventListener('keydown', () => {
      const begun = performance.now();
      const open = () => document.querySelector('[data-review]')?.dataset.review;
      const before = open();
      const look = () => open() === before
        ? requestAnimationFrame(look)
        : requestAnimationFrame(() => done(performance.now() - begun));
      requestAnimationFrame(look);
    }, { once: true, capture: true })))`,
  );
  await page.keyboard.press('j');
  return page.evaluate('globalThis.shown');
}
