import { cpus } from 'node:os';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { LISTED } from './console-felt.js';
import { quantile, rounded, sum } from './numbers.js';

/** A list of 10,000 rows is at its end after some 4,000 frames. */
export const SCROLLED_PX = 200;
export const TRACED_MS = 10_000;
const SCROLL_LIMIT_MS = 180_000;
/** Enough frames to compare with. */
const PLAIN_LIMIT_MS = 60_000;
const SIXTIETH_MS = 1_000 / 60 + 1;
const THIRTIETH_MS = 1_000 / 30 + 1;

interface Scrolled {
  readonly frames: readonly number[];
  readonly rows: number;
  readonly tookMs: number;
}

/**
 * The frames of the list while it is scrolled at an even pace until every row was in it, and back to its first row; the same of a plain page of as
 * many rows, because a browser without a graphics card draws late frames of any long page; and what filled those of both that came late.
 */
export async function measureFrames(options: {
  readonly browser: Browser;
  readonly visit: () => Promise<Page>;
  readonly address: string;
  readonly pending: number;
  readonly say: (line: string) => void;
}): Promise<Record<'frames' | 'beside_a_plain_page' | 'late_frames', readonly object[]>> {
  const { browser, visit, address, pending, say } = options;
  const page = await visit();
  await page.goto(`${address}/hil`);
  const idle = (await page.evaluate(FRAMES_AT_REST)) as number[];
  const frames: Frames[] = [];
  const told = (way: string, scrolled: Scrolled): Frames => {
    const figure = framesOf(way, scrolled, idle);
    frames.push(figure);
    say(
      `${way}: ${figure.per_second} frames/s, p95 ${figure.p95_ms} ms, late ${figure.later_than_a_sixtieth_percent} %`,
    );
    return figure;
  };
  const down = told(
    'to the end, while rows come',
    await page.evaluate<Scrolled>(`(${TO_END})(${pending}, ${SCROLL_LIMIT_MS})`),
  );
  const back = told(
    'back to the top, all rows there',
    await page.evaluate<Scrolled>(`(${TO_TOP})(${SCROLL_LIMIT_MS})`),
  );
  const row = await page.evaluate<{ height: number; text: string }>(A_ROW);
  const late = [await lateFrames('the list, all rows there', page, say)];
  await page.context().close();
  const fresh = await visit();
  await fresh.goto(`${address}/hil`);
  late.unshift(await lateFrames('the list, while rows come', fresh, say));
  await fresh.context().close();

  const plain = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await plain.setContent(plainPage(pending, row));
  const plainDown = told(
    'a plain page, to the end',
    await plain.evaluate<Scrolled>(`(${TO_END})(${pending}, ${PLAIN_LIMIT_MS})`),
  );
  const plainBack = told(
    'a plain page, back to the top',
    await plain.evaluate<Scrolled>(`(${TO_TOP})(${PLAIN_LIMIT_MS})`),
  );
  late.push(await lateFrames('a plain page', plain, say));
  await plain.context().close();
  const beside = [compared('to the end', down, plainDown), compared('back to the top', back, plainBack)];
  for (const { way, times_frames_per_second: times } of beside)
    say(`${way}: ${times} times the frames per second of a plain page`);
  return { frames, beside_a_plain_page: beside, late_frames: late };
}

type Frames = ReturnType<typeof framesOf>;

function framesOf(way: string, { frames, rows, tookMs }: Scrolled, idle: readonly number[]) {
  const late = (ms: number) => rounded((100 * frames.filter((frame) => frame > ms).length) / frames.length);
  return {
    way,
    rows,
    frames: frames.length,
    at_rest_p50_ms: rounded(quantile(idle, 0.5)),
    p50_ms: rounded(quantile(frames, 0.5)),
    p95_ms: rounded(quantile(frames, 0.95)),
    p99_ms: rounded(quantile(frames, 0.99)),
    longest_ms: rounded(Math.max(...frames)),
    later_than_a_sixtieth_percent: late(SIXTIETH_MS),
    later_than_a_thirtieth_percent: late(THIRTIETH_MS),
    per_second: rounded(frames.length / (tookMs / 1_000)),
  };
}

const compared = (way: string, list: Frames, plain: Frames) => ({
  way,
  times_frames_per_second: rounded(list.per_second / plain.per_second),
  times_p95: rounded(list.p95_ms / plain.p95_ms),
  late_percent: list.later_than_a_sixtieth_percent,
  late_percent_plain: plain.later_than_a_sixtieth_percent,
});

/** Nothing but rows that look as the list's do, drawn by the same scroll box. */
const plainPage = (rows: number, { height, text }: { readonly height: number; readonly text: string }): string => `
<!doctype html><title>plain</title><style>
  *{box-sizing:border-box} body{margin:0;padding:80px 16px;font:14px/1.45 system-ui,sans-serif}
  .list{width:380px;height:700px;overflow-y:auto} [data-row]{height:${height}px;padding:8px;border-top:1px solid #d0d7de;overflow:hidden;white-space:pre-line}
</style><div class="list">${Array.from({ length: rows }, (_, at) => `<div data-row="${at}">${escaped(`${at} ${text}`)}</div>`).join('')}</div>`;

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** The threads of a browser that make a frame, by the names that its trace gives them. */
const THREADS = {
  main_ms: /^CrRendererMain$/,
  compositor_ms: /^Compositor$/,
  raster_ms: /^(?:CompositorTileWorker|ThreadPoolForegroundWorker)/,
  // Puts together what is shown; without a graphics card also its pixels.
  display_ms: /^(?:VizCompositorThread|CrGpuMain)$/,
} as const;
type Thread = keyof typeof THREADS;
/** What the main thread did most is told so far. */
const TOLD = 6;

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  readonly dur?: number;
  /** Of it on a core: a thread that waits for one on a busy machine does nothing. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}
interface Span {
  readonly from: number;
  readonly to: number;
}

/** Scrolls for a while with tracing on, and tells what each thread did in frames that came late. */
async function lateFrames(name: string, page: Page, say: (line: string) => void) {
  const session = await page.context().newCDPSession(page);
  const events = await traced(session, () => page.evaluate(`(${FOR_A_WHILE})(${TRACED_MS})`));
  await session.detach();
  const names = new Map(
    events.flatMap(({ name: kind, pid, tid, args }) =>
      kind === 'thread_name' ? [[`${pid} ${tid}`, args?.name ?? ''] as const] : [],
    ),
  );
  const on = (thread: Thread) => (event: TraceEvent) =>
    THREADS[thread].test(names.get(`${event.pid} ${event.tid}`) ?? '');
  const renderer = busiestOf(events.filter(on('main_ms')));
  const main = events.filter((event) => event.pid === renderer && on('main_ms')(event));
  const starts = main
    .filter((event) => event.name === 'FireAnimationFrame')
    .map(({ ts }) => ts)
    .toSorted((a, b) => a - b);
  const windows = starts.slice(1).map((to, at): Span => ({ from: starts[at] ?? to, to }));
  const late = windows.filter(({ from, to }) => to - from > SIXTIETH_MS * 1_000);
  const perLate = (us: number): number => rounded(us / 1_000 / Math.max(1, late.length));
  const busy = (thread: Thread): number => {
    const tasks = (thread === 'main_ms' ? main : events.filter(on(thread))).filter((event) => isTask(event));
    return sum(late.map((span) => sum(tasks.map((task) => overlapUs(task, span)))));
  };
  const threads = Object.keys(THREADS) as Thread[];
  const spent = threads.map((thread) => [thread, busy(thread)] as const);
  const length = sum(late.map(({ from, to }) => to - from));
  const figure = {
    page: name,
    frames: windows.length,
    late: late.length,
    late_frame_ms: perLate(length),
    ...Object.fromEntries(spent.map(([thread, us]) => [thread, perLate(us)])),
    idle_ms: perLate(Math.max(0, length * cpus().length - sum(spent.map(([, us]) => us)))),
    main_most: mostOf(main, late)
      .map(([what, us]) => `${what} ${perLate(us)}`)
      .join(', '),
  };
  say(`${name}, late frames: ${JSON.stringify(figure)}`);
  return figure;
}

const isTask = ({ name }: TraceEvent): boolean => name.endsWith('RunTask');

const overlapUs = ({ ts, dur = 0, tdur = dur }: TraceEvent, { from, to }: Span): number =>
  dur === 0 ? 0 : Math.max(0, Math.min(ts + dur, to) - Math.max(ts, from)) * (tdur / dur);

/** What a thread did that began in one of these spans, without what it did for it, most first. */
function mostOf(thread: readonly TraceEvent[], spans: readonly Span[]): readonly (readonly [string, number])[] {
  const open: { readonly to: number; readonly take: (us: number) => void }[] = [];
  const took = new Map<string, number>();
  let at = 0;
  const whole = thread.filter(({ ph, dur }) => ph === 'X' && dur !== undefined);
  for (const { name, ts, dur = 0, tdur = dur } of whole.toSorted(
    (a, b) => a.ts - b.ts || (b.dur ?? 0) - (a.dur ?? 0),
  )) {
    while (open.length > 0 && (open.at(-1)?.to ?? 0) <= ts) open.pop();
    open.at(-1)?.take(tdur);
    while (at < spans.length && (spans[at]?.to ?? 0) <= ts) at += 1;
    const isLate = (spans[at]?.from ?? Number.POSITIVE_INFINITY) <= ts;
    const add = (us: number) => took.set(name, (took.get(name) ?? 0) + us);
    if (isLate) add(tdur);
    open.push({ to: ts + dur, take: (us) => isLate && add(-us) });
  }
  return [...took].toSorted(([, one], [, other]) => other - one).slice(0, TOLD);
}

/** The process of the page that was scrolled. */
function busiestOf(events: readonly TraceEvent[]): number | undefined {
  const counted = new Map<number, number>();
  for (const { name, pid } of events) if (name === 'FireAnimationFrame') counted.set(pid, (counted.get(pid) ?? 0) + 1);
  return [...counted].toSorted(([, one], [, other]) => other - one)[0]?.[0];
}

async function traced(session: CDPSession, run: () => Promise<unknown>): Promise<readonly TraceEvent[]> {
  const events: TraceEvent[] = [];
  session.on('Tracing.dataCollected', ({ value }) => {
    for (const event of value) events.push(event as unknown as TraceEvent);
  });
  const complete = new Promise<void>((done) => session.once('Tracing.tracingComplete', () => done()));
  await session.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { includedCategories: ['toplevel', 'devtools.timeline', 'v8'] },
  });
  await run();
  await session.send('Tracing.end');
  await complete;
  return events;
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

/** Runs in the page: the list by one step in each frame until `isOver`. */
const SCROLL = `(stepAt, isOver, rows) => new Promise((done) => {
  const list = document.querySelector('.list');
  const frames = [];
  const begun = performance.now();
  let last = begun;
  const frame = (now) => {
    frames.push(now - last);
    last = now;
    if (isOver(now - begun)) return done({ frames: frames.slice(2), rows: rows(), tookMs: now - begun });
    list.scrollBy(0, stepAt(list));
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})`;

const TO_END = `(pending, limitMs) => {
  const seen = new Set();
  const look = () => {
    const rows = document.querySelectorAll('[data-row]');
    for (let at = rows.length - 1; at >= 0 && !seen.has(rows[at].dataset.row); at -= 1) seen.add(rows[at].dataset.row);
  };
  const list = document.querySelector('.list');
  new MutationObserver(look).observe(list.querySelector('[data-rows]') ?? list, { childList: true });
  look();
  const atEnd = () => list.scrollTop + list.clientHeight >= list.scrollHeight - 2;
  return (${SCROLL})(() => ${SCROLLED_PX}, (ms) => (seen.size >= pending && atEnd()) || ms > limitMs, () => seen.size);
}`;

const TO_TOP = `(limitMs) =>
  (${SCROLL})(() => -${SCROLLED_PX}, (ms) => document.querySelector('.list').scrollTop <= 0 || ms > limitMs, () => ${LISTED})`;

/** Down and up again at the same pace. */
const FOR_A_WHILE = `(ms) => {
  let step = ${SCROLLED_PX};
  const stepAt = (list) => {
    if (list.scrollTop + list.clientHeight >= list.scrollHeight - 2) step = -${SCROLLED_PX};
    else if (list.scrollTop <= 0) step = ${SCROLLED_PX};
    return step;
  };
  return (${SCROLL})(stepAt, (after) => after > ms, () => 0);
}`;

/** How high a row is on average, and what stands in one. */
const A_ROW = `({
  height: document.querySelector('.list [data-rows]').getBoundingClientRect().height / (${LISTED}),
  text: document.querySelector('[data-row] > a').innerText,
})`;
