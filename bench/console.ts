import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { PROJECT_ROOT } from '../config/project-root.js';
import { chromiumPath } from '../test/support/browser.js';
import { startChildProcess } from './child.js';
import { type BrowserFigures, measureBrowser } from './console-browser.js';
import { SCROLLED_PX, TRACED_MS } from './console-frames.js';
import type { ConsoleQuestions } from './console-process.js';
import { press, together, type Pressed } from './load.js';
import { describeMachine } from './machine.js';
import { quantile, rounded } from './numbers.js';
import { writeReport } from './report.js';

/** Callers at once: one person, and a full room. */
const CALLERS = [1, 16] as const;
/** The page that asks no other service: what the others cost beyond it is theirs. */
const BASELINE = 'a page that asks nobody';

export interface ConsoleBenchOptions {
  readonly pending: number;
  readonly rows: number;
  readonly rounds: number;
  readonly roundMs: number;
  readonly say: (line: string) => void;
}

/** What pages of the console cost beside much that waits and a long ledger, and what of that a browser feels. */
export async function runConsoleBench({ pending, rows, rounds, roundMs, say }: ConsoleBenchOptions): Promise<void> {
  const machine = describeMachine(tmpdir());
  const pages: PageFigure[] = [];
  const memory: MemoryFigure[] = [];
  let browser: BrowserFigures | null = null;
  // Small first: what grows with the store shows itself beside it.
  for (const size of [
    { pending: Math.ceil(pending / 100), rows: Math.ceil(rows / 100) },
    { pending, rows },
  ]) {
    const child = startChildProcess<ConsoleQuestions>('./console-process.js', { execArgv: ['--expose-gc'] });
    try {
      say(`${size.pending} wait, ${size.rows} rows: loading`);
      const console = await child.ask.open(size);
      const visitor = visitorOf(console);
      const asked = await pagesOf(console, size.rows, visitor);
      for (const [, path] of asked) await visitor.get(path);
      const before = await child.ask.held();
      await child.ask.most();
      const found = new Map<string, { readonly pressed: Pressed[]; cpuMs: number }>();
      for (let round = 0; round < rounds; round += 1)
        for (const [page, path] of asked)
          for (const concurrency of CALLERS) {
            const key = JSON.stringify([page, concurrency]);
            const sample = found.get(key) ?? { pressed: [], cpuMs: 0 };
            found.set(key, sample);
            const cpuMs = await child.ask.cpuMs();
            sample.pressed.push(
              await press({ concurrency, forMs: roundMs, maxCalls: Number.POSITIVE_INFINITY }, async () => {
                const { status } = await visitor.get(path);
                return String(status);
              }),
            );
            sample.cpuMs += (await child.ask.cpuMs()) - cpuMs;
          }
      for (const [page, path] of asked)
        for (const callers of CALLERS) {
          const { pressed, cpuMs } = found.get(JSON.stringify([page, callers])) ?? { pressed: [], cpuMs: 0 };
          const baseline = together(found.get(JSON.stringify([BASELINE, callers]))?.pressed ?? []);
          const figure = figureOf(page, callers, size, together(pressed), baseline, cpuMs, await visitor.get(path));
          say(`${page}, ${callers}: ${figure.pages_per_s} pages/s, p95 ${figure.p95_ms} ms`);
          pages.push(figure);
        }
      const mostOfPages = await child.ask.most();
      await visitor.get('/audit/export');
      const mostOfExport = await child.ask.most();
      const after = await child.ask.held();
      memory.push({
        ...size,
        held_before_mib: before.heap,
        held_after_mib: after.heap,
        most_while_pages_mib: mostOfPages,
        most_while_an_export_of_50000_mib: mostOfExport,
        resident_after_mib: after.resident,
      });
      if (size.pending === pending && chromiumPath() !== null)
        browser = await measureBrowser({ ...console, pending, say });
      visitor.close();
    } finally {
      await child.stop();
    }
  }
  writeReport(`console-${rows}`, {
    title: 'Pages of the console',
    machine,
    notes: [
      `${rounds} rounds of ${roundMs} ms for each page and number of callers, in turns; the stores are SQLite files. Console, HIL, ledger and policy engine are one process and speak mutual TLS with each other; who asks is another process.`,
      `times_baseline: time of a page over that of "${BASELINE}" (session and document alone), at the median of the same run. Beyond it a page is its services.`,
      'cpu_ms: CPU of that process for one page, its threads included, which says more than the time on a shared machine.',
      'held: heap and buffers after a collection, before the first and after the last page; most: at any time between (also what was not yet collected).',
      'The ledger’s rows were loaded past the chain, so the pages say that it does not hold; the walk, which happens once in five minutes, is not in these figures (`npm run bench -- ledger`).',
      `frames: time between two frames while the list scrolls by ${SCROLLED_PX} pixels a frame from the first row on to the last and back, each for three minutes at most, in a headless browser without a graphics card.`,
      'plain page: as many rows of the same height and text in a list of the same size, without a script and without anything that skips what nobody sees, scrolled in the same way in the same browser.',
      `late_frames: ${TRACED_MS / 1_000} s of scrolling with the browser’s tracing on (slower than without): what each of its threads did on a core in frames that came late, in ms for one of them, and what the main thread did most. idle: of this machine’s cores, that this page did not use.`,
      'first_paint_ms: from the navigation to the first contentful paint, in a context without a cache. interaction_ms: from a key to the frame that shows what it did.',
    ],
    tables: {
      pages,
      memory,
      script: [scriptFigure('console.js'), scriptFigure('console.css')],
      ...browser,
    },
  });
}
interface PageFigure {
  readonly page: string;
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
  page: string,
  callers: number,
  size: { readonly pending: number; readonly rows: number },
  { latencies, tookMs, answers }: Pressed,
  baseline: Pressed,
  cpuMs: number,
  { bytes }: { readonly bytes: number },
): PageFigure {
  return {
    page,
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

interface Opened {
  readonly address: string;
  readonly cookie: string;
  readonly review: string;
  readonly call: string;
  readonly agent: string;
}

/** Somebody's browser that keeps its connections. */
function visitorOf({ address, cookie }: Opened) {
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

/** Each page with its address; of the long lists also one far behind the first. */
async function pagesOf(
  { review, call, agent }: Opened,
  rows: number,
  { get }: ReturnType<typeof visitorOf>,
): Promise<readonly (readonly [page: string, path: string])[]> {
  let far = '/hil';
  for (;;) {
    const next = /<a href="([^"]+)" rel="next"/.exec((await get(far, true)).text)?.[1]?.replaceAll('&amp;', '&');
    if (next === undefined) break;
    far = next;
  }
  return [
    [BASELINE, '/me'],
    ['the queue and its first call', '/hil'],
    ['the queue, its last page', far],
    ['the queue, a search', `/hil?q=${agent}`],
    ['a call that waits', `/hil/${review}`],
    ['a call, its story', `/audit/correlation/${call}`],
    ['audit, newest rows', '/audit'],
    ['audit, behind half of the rows', `/audit?before=${Math.floor(rows / 2)}`],
    ['audit, an agent in 7 days', `/audit?agent=${agent}&window=7d`],
    ['audit, denied of every agent', '/audit?verdict=deny'],
    ['audit, a tool that nobody used', '/audit?tool=nothing'],
    ['hunt, 24 hours', '/audit/hunt?window=24h'],
    ['narrative, 7 days', `/audit/agents/${agent}/narrative?window=7d`],
    ['agents', '/agents'],
    ['policies', '/policies'],
  ];
}
