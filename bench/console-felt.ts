import type { Page } from 'playwright-core';
import { quantile, rounded } from './numbers.js';

const TIMES = 9;
/** Calls that are opened one after the other. */
const CALLS = 40;
/** Ticked before they are decided at once: as many as one page takes. */
const TICKED = 50;
const MOST_LOADING_MS = 120_000;

/** One thing that somebody does. Times are from the event to the frame after the one that shows what it did. */
interface Act {
  readonly what: string;
  readonly event: 'keydown' | 'pointerdown';
  /** In the page; `before` is what stood there as the event came. */
  readonly shown: string;
  /** What `before` is: which call stands there, unless said otherwise. */
  readonly standing?: string;
  readonly times?: number;
  does(page: Page): Promise<unknown>;
  /** Takes it back, so that it can be done again. */
  back?(page: Page): Promise<unknown>;
}
interface Felt {
  readonly interaction: string;
  readonly rows: number;
  readonly p50_ms: number;
  readonly p95_ms: number;
  readonly max_ms: number;
}

const OPEN_CALL = `document.querySelector('[data-review]')?.dataset.review`;
const pressing = (key: string) => (page: Page) => page.keyboard.press(key);
const escape = pressing('Escape');
const key = (what: string, pressed: string, shown: string, back: Act['back'] = escape): Act => ({
  what: `${pressed} ${what}`,
  event: 'keydown',
  shown,
  does: pressing(pressed),
  back,
});
const IS_DIALOG = `document.querySelector('dialog[open]') !== null`;
const CHOSEN_BOX = `document.querySelector('[data-row] > a[aria-current="true"]').parentElement.querySelector('input')`;

/** What is done beside a call, whatever else the list holds. */
const BESIDE_A_CALL: readonly Act[] = [
  key('opens the help', '?', IS_DIALOG),
  key('asks whether to approve', 'a', IS_DIALOG),
  key('leads to the reason', 'd', `document.activeElement.name === 'reason'`),
  key('leads to the search', '/', `document.activeElement.matches('[data-search]')`),
  key('ticks the call', 'x', `${CHOSEN_BOX}.checked`, pressing('x')),
  {
    what: 'a letter of the reason',
    event: 'keydown',
    shown: `document.activeElement.value !== ''`,
    async does(page) {
      await page.locator('.decide input[name="reason"]').focus();
      await page.keyboard.press('n');
    },
    back: (page) => page.evaluate(`document.activeElement.value = ''; document.activeElement.blur()`),
  },
];
const TICKS = `document.querySelectorAll('[data-row] input:checked').length`;
const opens = (what: string, does: Act['does'], event: Act['event'] = 'keydown'): Act => ({
  what,
  event,
  shown: `${OPEN_CALL} !== before`,
  times: CALLS,
  does,
});
const AMONG_ROWS: readonly Act[] = [
  opens('j shows the next call, to who reads each for a second', async (page) => {
    await page.waitForTimeout(1_000);
    await page.keyboard.press('j');
  }),
  opens('j shows the next call, pressed as soon as the one before is there', pressing('j')),
  opens('k shows the call before, pressed as soon as the one after is there', pressing('k')),
  opens('a click opens a call some rows on', (page) => clicked(page, 3, 'a'), 'pointerdown'),
  {
    what: 'a click ticks a call',
    event: 'pointerdown',
    shown: `${TICKS} !== before`,
    standing: TICKS,
    does: (page) => clicked(page, 2, 'input'),
  },
];

/** What is felt of keys, clicks, the search, the filter and of many calls at once; first as the page comes, then with every row in its list. */
export async function measureFelt({
  tab,
  address,
  review,
  pending,
  say,
}: {
  readonly tab: Page;
  readonly address: string;
  readonly review: string;
  readonly pending: number;
  readonly say: (line: string) => void;
}): Promise<readonly Felt[]> {
  const felt: Felt[] = [];
  const told = async (what: string, sample: readonly number[]): Promise<void> => {
    const rows = await rowsIn(tab);
    const figure = { interaction: what, rows, ...spread(sample) };
    felt.push(figure);
    say(`${what}, ${rows} rows: ${figure.p50_ms} ms, p95 ${figure.p95_ms} ms`);
  };
  const all = async (acts: readonly Act[]): Promise<void> => {
    for (const act of acts) await told(act.what, await times(tab, act));
  };
  const leaving = async (what: string, from: string, prepared: (page: Page) => Promise<unknown>, does: Act['does']) => {
    const sample: number[] = [];
    for (let at = 0; at < TIMES; at += 1) {
      await tab.goto(address + from);
      await prepared(tab);
      sample.push(await feltAcross(tab, does));
    }
    await told(what, sample);
  };
  await tab.goto(`${address}/hil/${review}`);
  await all(BESIDE_A_CALL);
  await tab.goto(`${address}/hil`);
  await all(AMONG_ROWS);
  await loadEveryRow(tab, pending);
  await tab.evaluate(`document.querySelector('.list').scrollTop = document.querySelector('.list').scrollHeight / 2`);
  // Rows far from what was seen come back into the page.
  await tab.evaluate(
    `new Promise((done) => {
      const look = () => (document.elementFromPoint(200, innerHeight / 2)?.closest('[data-row]') ? done() : requestAnimationFrame(look));
      look();
    })`,
  );
  await clicked(tab, 3, 'a');
  await all([...BESIDE_A_CALL, ...AMONG_ROWS]);
  const nothing = () => Promise.resolve();
  await leaving('m leads to the arguments', `/hil/${review}`, nothing, pressing('m'));
  await leaving('Enter searches', '/hil', (page) => page.locator('[data-search]').fill('agent-18'), pressing('Enter'));
  await leaving(
    'Show filters by the predicted effect',
    '/hil',
    (page) => page.locator('select[name="risk"]').selectOption('destructive'),
    (page) => page.locator('.filter button[type="submit"]').click(),
  );
  await leaving(
    `Approve ticked shows ${TICKED} calls to approve`,
    '/hil',
    (page) =>
      page.evaluate(
        `[...document.querySelectorAll('[data-row] input[type="checkbox"]')].slice(0, ${TICKED}).forEach((box) => box.click())`,
      ),
    (page) => page.locator('.bulk-acts button[value="approve"]').click(),
  );
  return felt;
}

export const spread = (sample: readonly number[]) => ({
  p50_ms: rounded(quantile(sample, 0.5)),
  p95_ms: rounded(quantile(sample, 0.95)),
  max_ms: rounded(Math.max(...sample)),
});

/** From the navigation to the first contentful paint. */
export const firstPaint = (page: Page): Promise<number> =>
  page.evaluate(
    `new Promise((done) => {
      const found = () => performance.getEntriesByName('first-contentful-paint')[0];
      if (found()) return done(found().startTime);
      new PerformanceObserver(() => found() && done(found().startTime)).observe({ type: 'paint', buffered: true });
    })`,
  );

async function times(page: Page, act: Act): Promise<number[]> {
  const { event, shown, standing = OPEN_CALL, does, back, times: count = TIMES } = act;
  const sample: number[] = [];
  for (let at = 0; at < count; at += 1) {
    await page.evaluate(`(${LISTENS})('${event}', (before) => ${shown}, () => ${standing})`);
    await does(page);
    sample.push(await page.evaluate('globalThis.felt'));
    await back?.(page);
  }
  return sample;
}

/** Runs in the page: from when the browser had the event, which is before the page hears of it. */
const LISTENS = `(event, shown, standing) => void (globalThis.felt = new Promise((done) => addEventListener(event, ({ timeStamp }) => {
  const before = standing();
  const look = () => shown(before)
    ? requestAnimationFrame(() => done(performance.now() - timeStamp))
    : requestAnimationFrame(look);
  requestAnimationFrame(look);
}, { once: true, capture: true })))`;

/** From the event to the first contentful paint of the page that it leads to. */
async function feltAcross(page: Page, does: Act['does']): Promise<number> {
  await page.evaluate(
    `for (const event of ['keydown', 'pointerdown']) addEventListener(event, ({ timeStamp }) =>
      sessionStorage.setItem('felt', performance.timeOrigin + timeStamp), { once: true, capture: true })`,
  );
  const came = page.waitForEvent('load');
  await does(page);
  await came;
  const painted = await firstPaint(page);
  return painted + (await page.evaluate<number>(`performance.timeOrigin - Number(sessionStorage.getItem('felt'))`));
}

/** In the page: its rows, also those of the lists of 100 that are taken out where nobody looks. */
export const LISTED = `([...document.querySelectorAll('[data-rows] > .rows')].reduce((sum, list) =>
  sum + (list.ariaBusy ? 100 : list.querySelectorAll('[data-row]').length), 0) || document.querySelectorAll('[data-row]').length)`;
const rowsIn = (page: Page): Promise<number> => page.evaluate(LISTED);

/** Clicks into a row so many after the chosen one that is in sight. */
async function clicked(page: Page, after: number, part: 'a' | 'input'): Promise<void> {
  const place = await page.evaluate<{ readonly x: number; readonly y: number }>(
    `(() => {
      const list = document.querySelector('.list').getBoundingClientRect();
      const seen = [...document.querySelectorAll('[data-row]')].filter((row) => {
        const { top, bottom } = row.getBoundingClientRect();
        return top >= Math.max(0, list.top) && bottom <= Math.min(innerHeight, list.bottom) - 60;
      });
      const chosen = seen.findIndex((row) => row.querySelector('a[aria-current]'));
      const row = seen[(chosen + ${after}) % seen.length];
      const { left, top, width, height } = row.querySelector('${part}').getBoundingClientRect();
      return { x: left + width / 2, y: top + Math.min(height / 2, 20) };
    })()`,
  );
  await page.mouse.click(place.x, place.y);
}

/** Scrolls until every row is in the list. */
const loadEveryRow = (page: Page, pending: number): Promise<void> =>
  page.evaluate(
    `new Promise((done) => {
      const list = document.querySelector('.list');
      const begun = performance.now();
      const look = () => {
        if (${LISTED} >= ${pending} || performance.now() - begun > ${MOST_LOADING_MS}) return done();
        list.scrollTop = list.scrollHeight;
        setTimeout(look, 50);
      };
      look();
    })`,
  );
