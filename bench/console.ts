import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { PROJECT_ROOT } from '../config/project-root.js';
import { DEVICE } from '../console/pages/device/device.js';
import { QUEUE } from '../console/pages/queue/queue.js';
import { PAGES } from '../console/routes.js';
import { chromiumPath } from '../test/support/browser.js';
import { startChildProcess } from './child.js';
import { type BrowserFigures, measureBrowser } from './console-browser.js';
import { SCROLLED_PX, TRACED_MS } from './console-frames.js';
import { type AskedPage, askedPages, type NotAsked } from './console-pages.js';
import type { ConsoleQuestions, ConsoleSize } from './console-process.js';
import { press, together, type Pressed } from './load.js';
import { describeMachine } from './machine.js';
import { quantile, rounded } from './numbers.js';
import { writeReport } from './report.js';

/** Callers at once: one person, and a full room. */
const CALLERS = [1, 16] as const;
/** The page that asks no other service, where nothing is typed yet: what the others cost beyond it is theirs. */
const BASELINE = DEVICE.path;
/** One person, and no other caller: a page that takes longer is told by name. */
const SLOW_MS = 200;

export interface ConsoleBenchOptions {
  readonly pending: number;
  readonly rows: number;
  /** Policies of operators. */
  readonly policies: number;
  readonly rounds: number;
  readonly roundMs: number;
  /** Paths of the pages that are asked, in the large stores alone and by no browser; without it all of them. */
  readonly only?: readonly string[] | undefined;
  readonly say: (line: string) => void;
}

/** What pages of the console cost beside much that waits and a long ledger, and what of that a browser feels. */
export async function runConsoleBench({
  pending,
  rows,
  policies,
  rounds,
  roundMs,
  only,
  say,
}: ConsoleBenchOptions): Promise<void> {
  const machine = describeMachine(tmpdir());
  const pages: PageFigure[] = [];
  const memory: MemoryFigure[] = [];
  let browser: BrowserFigures | null = null;
  let notAsked: readonly NotAsked[] = [];
  const whole: ConsoleSize = { pending, rows, policies, cases: 1_000, copies: 1_000 };
  const hundredth = (count: number): number => Math.ceil(count / 100);
  // Small first: what grows with the store shows itself beside it.
  const small = {
    pending: hundredth(pending),
    rows: hundredth(rows),
    policies: hundredth(whole.policies),
    cases: hundredth(whole.cases),
    copies: hundredth(whole.copies),
  };
  for (const size of only === undefined ? [small, whole] : [whole]) {
    const child = startChildProcess<ConsoleQuestions>('./console-process.js', { execArgv: ['--expose-gc'] });
    try {
      say(`${size.pending} wait, ${size.rows} rows: loading`);
      const console = await child.ask.open(size);
      const visitor = visitorOf(console);
      say('asking every page');
      const all = askedPages(PAGES, { ...console.held, lastOfQueue: await lastOfQueue(visitor) });
      const isAsked = ({ page }: { readonly page: string }) =>
        only === undefined || page === BASELINE || only.includes(page);
      const asked = all.flatMap((one) => ('address' in one && isAsked(one) ? [one] : []));
      notAsked = all.flatMap((one) => ('why' in one && isAsked(one) ? [one] : []));
      for (const { address } of asked) await visitor.get(address);
      const before = await child.ask.held();
      await child.ask.most();
      const found = new Map<string, { readonly pressed: Pressed[]; cpuMs: number }>();
      for (let round = 0; round < rounds; round += 1)
        for (const { address } of asked)
          for (const concurrency of CALLERS) {
            const key = JSON.stringify([address, concurrency]);
            const sample = found.get(key) ?? { pressed: [], cpuMs: 0 };
            found.set(key, sample);
            const cpuMs = await child.ask.cpuMs();
            sample.pressed.push(
              await press({ concurrency, forMs: roundMs, maxCalls: Number.POSITIVE_INFINITY }, async () => {
                const { status } = await visitor.get(address);
                return String(status);
              }),
            );
            sample.cpuMs += (await child.ask.cpuMs()) - cpuMs;
          }
      for (const one of asked)
        for (const callers of CALLERS) {
          const { pressed, cpuMs } = found.get(JSON.stringify([one.address, callers])) ?? { pressed: [], cpuMs: 0 };
          const baseline = together(found.get(JSON.stringify([BASELINE, callers]))?.pressed ?? []);
          const got = await visitor.get(one.address);
          const figure = figureOf(one, callers, size, together(pressed), baseline, cpuMs, got);
          const slow = callers === 1 && figure.p95_ms > SLOW_MS ? ', slow' : '';
          say(
            `${one.page} ${one.what}, ${callers}: ${figure.pages_per_s} pages/s, p95 ${figure.p95_ms} ms, CPU ${figure.cpu_ms} ms${slow}${figure.others > 0 ? `, ${figure.others} answers that are no page` : ''}`,
          );
          pages.push(figure);
        }
      const mostOfPages = await child.ask.most();
      await visitor.get('/audit/export');
      const mostOfExport = await child.ask.most();
      const after = await child.ask.held();
      memory.push({
        pending: size.pending,
        rows: size.rows,
        held_before_mib: before.heap,
        held_after_mib: after.heap,
        most_while_pages_mib: mostOfPages,
        most_while_an_export_of_50000_mib: mostOfExport,
        resident_after_mib: after.resident,
      });
      if (only === undefined && size.pending === pending && chromiumPath() !== null)
        browser = await measureBrowser({ ...console, review: console.held.review, asked, pending, say });
      visitor.close();
    } finally {
      await child.stop();
    }
  }
  writeReport(only === undefined ? `console-${rows}` : `console-pages-${rows}`, {
    title: 'Pages of the console',
    machine,
    notes: [
      `${rounds} rounds of ${roundMs} ms for each page and number of callers, in turns; the stores are SQLite files. Console, HIL, ledger and policy engine are one process and speak mutual TLS with each other; who asks is another process.`,
      `times_baseline: time of a page over that of "${BASELINE}" (session and document alone), at the median of the same run. Beyond it a page is its services.`,
      'cpu_ms: CPU of that process for one page, its threads included, which says more than the time on a shared machine.',
      'held: heap and buffers after a collection, before the first and after the last page; most: at any time between (also what was not yet collected).',
      'The ledger’s rows were loaded past the chain, so the pages say that it does not hold; the walk, which happens once in five minutes, is not in these figures (`npm run bench -- ledger`).',
      ...(browser === null ? [] : ofTheBrowser()),
    ],
    tables: {
      pages,
      slow: pages.filter(({ callers, p95_ms: p95 }) => callers === 1 && p95 > SLOW_MS),
      not_asked: notAsked,
      memory,
      script: [scriptFigure('console.js'), scriptFigure('console.css')],
      ...browser,
    },
  });
}

const ofTheBrowser = (): readonly string[] => [
  `frames: time between two frames while the list scrolls by ${SCROLLED_PX} pixels a frame from the first row on to the last and back, each for three minutes at most, in a headless browser without a graphics card.`,
  'plain page: as many rows of the same height and text in a list of the same size, without a script and without anything that skips what nobody sees, scrolled in the same way in the same browser.',
  `late_frames: ${TRACED_MS / 1_000} s of scrolling with the browser’s tracing on (slower than without): what each of its threads did on a core in frames that came late, in ms for one of them, and what the main thread did most. idle: of this machine’s cores, that this page did not use.`,
  'first_paint_ms: from the navigation to the first contentful paint, in a context without a cache. interaction: from the key or press to the frame after the one that shows what it did; where it leads to a page, to the first paint of that.',
];

interface PageFigure {
  readonly page: string;
  readonly what: string;
  readonly waiting: number;
  readonly ledger_rows: number;
  readonly callers: number;
  readonly pages_per_s: number;
  readonly p50_ms: number;
  readonly p95_ms: number;
  readonly times_baseline: number;
  readonly cpu_ms: number;
  readonly kib: number;
  /** Answers that were not 200. */
  readonly others: number;
}

interface MemoryFigure {
  readonly pending: number;
  readonly rows: number;
  readonly held_before_mib: number;
  readonly held_after_mib: number;
  readonly most_while_pages_mib: number;
  readonly most_while_an_export_of_50000_mib: number;
  readonly resident_after_mib: number;
}

function figureOf(
  { page, what }: AskedPage,
  callers: number,
  size: { readonly pending: number; readonly rows: number },
  { latencies, tookMs, answers }: Pressed,
  baseline: Pressed,
  cpuMs: number,
  { bytes }: { readonly bytes: number },
): PageFigure {
  return {
    page,
    what,
    waiting: size.pending,
    ledger_rows: size.rows,
    callers,
    pages_per_s: rounded((latencies.length / tookMs) * 1_000),
    p50_ms: rounded(quantile(latencies, 0.5)),
    p95_ms: rounded(quantile(latencies, 0.95)),
    times_baseline: rounded(quantile(latencies, 0.5) / quantile(baseline.latencies, 0.5)),
    cpu_ms: rounded(cpuMs / latencies.length),
    kib: Math.round(bytes / 1_024),
    others: latencies.length - (answers['200'] ?? 0),
  };
}

const scriptFigure = (name: string) => {
  const body = readFileSync(join(PROJECT_ROOT, 'dist', 'console', 'static', name));
  return {
    file: name,
    kib: rounded(body.length / 1_024),
    gzip_kib: rounded(gzipSync(body).length / 1_024),
    brotli_kib: rounded(brotliCompressSync(body).length / 1_024),
  };
};

/** Somebody's browser that keeps its connections. */
function visitorOf({ address, cookie }: { readonly address: string; readonly cookie: string }) {
  const agent = new Agent({ keepAlive: true, maxSockets: Math.max(...CALLERS) });
  const headers = { accept: 'text/html', cookie: `gate_console_session=${cookie}` };
  const get = (path: string, keeps = false) =>
    new Promise<{ readonly status: number; readonly bytes: number; readonly text: string }>((resolve, reject) => {
      request(new URL(path, address), { agent, headers }, (answer) => {
        let bytes = 0;
        const parts: Buffer[] = [];
        answer.on('data', (part: Buffer) => {
          bytes += part.length;
          if (keeps) parts.push(part);
        });
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, bytes, text: Buffer.concat(parts).toString('utf8') }),
        );
        answer.on('error', reject);
      })
        .on('error', reject)
        .end();
    });
  return { get, close: () => agent.destroy() };
}

/** The page of the queue behind all others. */
async function lastOfQueue({ get }: ReturnType<typeof visitorOf>): Promise<string> {
  let far: string = QUEUE.path;
  for (;;) {
    const next = /<a href="([^"]+)" rel="next"/.exec((await get(far, true)).text)?.[1]?.replaceAll('&amp;', '&');
    if (next === undefined) return far;
    far = next;
  }
}
