import type { Page } from 'playwright-core';
import { chromiumPath, openBrowser } from '../test/support/browser.js';
import { quantile, rounded } from './numbers.js';

const LOADS = 5;
const PRESSES = 9;
/** Calls that are opened one after the other. */
const CALLS = 40;
/** A list of 10,000 rows is at its end after some 2,800 frames. */
export const SCROLLED_PX = 200;
const SCROLL_LIMIT_MS = 180_000;

export interface BrowserFigures {
  readonly first_paint: readonly object[];
  readonly interaction: readonly object[];
  readonly frames: readonly object[];
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
    const frames = await scrolled(await visit(), address, pending, say);
    return { first_paint, interaction, frames };
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

/** Scrolls the list at an even pace until every row was in it, then back to its first row, and tells the time between frames. */
async function scrolled(
  page: Page,
  address: string,
  pending: number,
  say: (line: string) => void,
): Promise<readonly object[]> {
  await page.goto(`${address}/hil`);
  const idle = (await page.evaluate(FRAMES_AT_REST)) as number[];
  const ways = [];
  for (const [way, script] of [
    ['to the end, while rows come', `(${SCROLL_TO_END})(${pending}, ${SCROLL_LIMIT_MS})`],
    ['back to the top, all rows there', `(${SCROLL_BACK})(${SCROLL_LIMIT_MS})`],
  ] as const) {
    const { frames, rows, tookMs } = (await page.evaluate(script)) as {
      frames: number[];
      rows: number;
      tookMs: number;
    };
    const late = (ms: number) => rounded((100 * frames.filter((frame) => frame > ms).length) / frames.length);
    say(`${rows} rows, ${way}: ${Math.round(tookMs / 1_000)} s, p95 of frames ${rounded(quantile(frames, 0.95))} ms`);
    ways.push({
      way,
      rows,
      frames: frames.length,
      at_rest_p50_ms: rounded(quantile(idle, 0.5)),
      p50_ms: rounded(quantile(frames, 0.5)),
      p95_ms: rounded(quantile(frames, 0.95)),
      p99_ms: rounded(quantile(frames, 0.99)),
      longest_ms: rounded(Math.max(...frames)),
      later_than_a_sixtieth_percent: late(1_000 / 60 + 1),
      later_than_a_thirtieth_percent: late(1_000 / 30 + 1),
      per_second: rounded(frames.length / (tookMs / 1_000)),
    });
  }
  return ways;
}

const FRAMES_AT_REST = `new Promise((done) => {
  const frames = [];
  let last = performance.now();
  const frame = (now) => {
    frames.push(now - last);
    last = now;
    if (frames.length < 120) requestAnimationFrame(frame);
    else done(frames.slice(1));
  };
  requestAnimationFrame(frame);
})`;

/** Runs in the page: by one step in each frame until `isOver`. */
const SCROLL = `(step, isOver, rows) => new Promise((done) => {
  const frames = [];
  const begun = performance.now();
  let last = begun;
  const frame = (now) => {
    frames.push(now - last);
    last = now;
    if (isOver(now - begun)) return done({ frames: frames.slice(2), rows: rows(), tookMs: now - begun });
    scrollBy(0, step);
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})`;

const SCROLL_TO_END = `(pending, limitMs) => {
  const seen = new Set();
  const look = () => {
    const rows = document.querySelectorAll('[data-row]');
    for (let at = rows.length - 1; at >= 0 && !seen.has(rows[at].dataset.row); at -= 1) seen.add(rows[at].dataset.row);
  };
  new MutationObserver(look).observe(document.querySelector('[data-rows]'), { childList: true });
  look();
  const atEnd = () => scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
  return (${SCROLL})(${SCROLLED_PX}, (ms) => (seen.size >= pending && atEnd()) || ms > limitMs, () => seen.size);
}`;

const SCROLL_BACK = `(limitMs) =>
  (${SCROLL})(-${SCROLLED_PX}, (ms) => scrollY <= 0 || ms > limitMs, () => document.querySelectorAll('[data-row]').length)`;
