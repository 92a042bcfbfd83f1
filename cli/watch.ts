import { setTimeout as sleep } from 'node:timers/promises';
import { eventsIn } from '../activities/clients/event-stream.js';
import type { DecisionSurface, PendingRequest, PendingSummary, ReviewChangeType } from '../contracts/review.js';
import { CliError } from './errors.js';
import type { LiteTarget } from './lite-target.js';
import type { StackTarget } from './stack-target.js';
import {
  afterKey,
  type Asked,
  changed,
  listed,
  NOTHING,
  pressed,
  quiet,
  screenOf,
  shown,
  type Watched,
} from './watch-screen.js';
import { predictionOf } from '../domain/sandbox/told.js';
import { standingOf } from '../domain/decision/quorum.js';

/** The terminal, as the watch needs it. */
export interface Terminal {
  /** Bytes of the keys, as they are pressed. */
  readonly keys: AsyncIterable<string>;
  size(): { columns: number; lines: number };
  show(lines: readonly string[]): void;
}

const LISTED = 200;
/** With fewer in the list, and more that wait, it is read anew. */
const FEW = 100;
const AGAIN_MS = 2_000;
const TICK_MS = 1_000;
/** Gate says every 15 seconds that it is there. */
const SILENT_MS = 40_000;

/** Signals that end the watch at once, with the exit code of each. The terminal is left as it was found. */
const SIGNALS = [
  ['SIGHUP', 129],
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const;

/** `gate pending --watch`: until q. Throws what a first look at Gate throws. */
export async function watchPending(
  target: Pick<LiteTarget | StackTarget, 'ask' | 'events'>,
  rowOf: (id: string) => Promise<PendingRequest>,
): Promise<void> {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY)
    throw new CliError('--watch needs a terminal; `gate pending --json` is for programs', 2);
  const restored = (): void => {
    stdout.write('\u001B[?7h\u001B[?25h\u001B[?1049l');
    stdin.setRawMode(false);
    stdin.pause();
  };
  const ends = SIGNALS.map(([signal, code]) => {
    const end = (): void => {
      restored();
      process.exit(code);
    };
    process.on(signal, end);
    return () => process.off(signal, end);
  });
  stdin.setRawMode(true);
  stdin.setEncoding('utf8');
  // Another screen, without a cursor and without wrapping; the one before is back at the end.
  stdout.write('\u001B[?1049h\u001B[?25l\u001B[?7l');
  try {
    await watch(target, rowOf, {
      keys: stdin as AsyncIterable<string>,
      size: () => ({ columns: stdout.columns, lines: stdout.rows }),
      show: (lines) => void stdout.write(`\u001B[H\u001B[2J${lines.join('\r\n')}`),
    });
  } finally {
    restored();
    for (const end of ends) end();
  }
}

/** The same bytes; each part begins the time anew after which Gate counts as gone. */
async function* heard(chunks: AsyncIterable<Uint8Array>, silence: NodeJS.Timeout): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    silence.refresh();
    yield chunk;
  }
}

export async function watch(
  target: Pick<LiteTarget | StackTarget, 'ask' | 'events'>,
  rowOf: (id: string) => Promise<PendingRequest>,
  { keys, size, show }: Terminal,
  silentMs = SILENT_MS,
  now: () => number = Date.now,
): Promise<void> {
  const ended = new AbortController();
  let watched: Watched = NOTHING;
  const become = (next: Watched): void => {
    watched = next;
    if (!ended.signal.aborted) show(screenOf(watched, size(), now()));
  };
  const note = (text: string) => become({ ...watched, note: text });

  async function list(): Promise<void> {
    const path = `/pending/summaries?status=pending&sort=oldest&limit=${LISTED}`;
    const { items, pending_count } = await target.ask<{ items: PendingSummary[]; pending_count: number }>(
      'hil',
      'GET',
      path,
    );
    become(listed(watched, items, pending_count));
  }

  let predicts = false;
  /** Reads what the sandbox predicts of calls that are listed since; their rows in the list have only its severity. */
  async function predict(): Promise<void> {
    const asked = watched.rows.map(({ id }) => id);
    if (predicts || asked.every((id) => watched.predicted.has(id))) return;
    predicts = true;
    try {
      const path = `/pending?status=pending&sort=oldest&limit=${LISTED}`;
      const told = new Map((await target.ask<PendingRequest[]>('hil', 'GET', path)).map((row) => [row.id, row]));
      const lineOf = (id: string): string | null => {
        const row = told.get(id);
        return row ? predictionOf(row) : (watched.predicted.get(id) ?? null);
      };
      become({ ...watched, predicted: new Map(asked.map((id) => [id, lineOf(id)])) });
    } catch {
      // The severity stays until the next second's attempt.
    } finally {
      predicts = false;
    }
  }

  /** Follows the stream from the number it has, and lists anew where that is too old. */
  async function follow(): Promise<void> {
    let lastId = '';
    let away = false;
    while (!ended.signal.aborted) {
      const silent = new AbortController();
      const silence = setTimeout(() => silent.abort(), silentMs);
      try {
        const known = lastId;
        const signal = AbortSignal.any([ended.signal, silent.signal]);
        const chunks = await target.events('hil', '/pending/stream', known, signal);
        for await (const { event, data, id } of eventsIn(heard(chunks, silence))) {
          if (away) note('');
          away = false;
          // The list is read once the stream is open, so that nothing happens between the two.
          if ((lastId === '' && id !== '') || event === 'reset') await list();
          if (id !== '') lastId = id;
          if (data === '' || event === 'reset') continue;
          const { type, pending } = JSON.parse(data) as { type: ReviewChangeType; pending: PendingSummary };
          become(changed(watched, type, pending));
          if (watched.more > 0 && watched.rows.length < FEW) await list();
        }
      } catch (error) {
        if (ended.signal.aborted) return;
        // Who may not look at all is told so at once.
        if (error instanceof CliError && error.exitCode === 3) throw error;
        away = true;
        const reason = silent.signal.aborted
          ? `Gate has said nothing for ${silentMs / 1000} seconds`
          : error instanceof Error
            ? error.message
            : String(error);
        note(`no connection, tried again: ${reason}`);
      } finally {
        clearTimeout(silence);
      }
      await sleep(AGAIN_MS, undefined, { signal: ended.signal }).catch(() => undefined);
    }
  }

  async function tick(): Promise<void> {
    for (;;) {
      try {
        await sleep(TICK_MS, undefined, { signal: ended.signal });
      } catch {
        return;
      }
      become(watched);
      void predict();
    }
  }

  async function obey(asked: Exclude<Asked, { do: 'quit' }>): Promise<void> {
    try {
      if (asked.do === 'open')
        return become(shown(watched, { row: await rowOf(asked.id), decision: asked.decision }, now()));
      const { row, decision, reason } = asked;
      const decided = await target.ask<PendingRequest>('hil', 'POST', `/decide/${row.id}`, {
        decision,
        ...(reason !== undefined && { reason }),
        decided_via: 'command-line' satisfies DecisionSurface,
        // Only the call that was shown is decided.
        action_digest: row.original_payload_digest,
      });
      if (decided.status !== 'pending') return;
      const again = standingOf(row.approvals).length === standingOf(decided.approvals).length;
      note(
        again
          ? 'you had approved it before, which counts once; somebody else must approve it too'
          : 'approved, and it waits for somebody else to approve it too',
      );
    } catch (error) {
      // The rest of what was typed for a question that is not asked does nothing.
      become(quiet({ ...watched, note: error instanceof Error ? error.message : String(error) }, now()));
    }
  }

  async function read(): Promise<void> {
    let obeys = false;
    /** What is typed before the call is shown that a key asked for: of a reason, or of a word that withdraws the question. */
    let ahead: string[] | null = null;
    /** Whether to go on. */
    function press(key: string): boolean {
      if (ahead !== null && key !== '\u0003') return ahead.push(key) > 0;
      const { watched: next, asked } = pressed(watched, key, size(), now());
      if (asked?.do === 'quit') return false;
      // One request at a time; who has had enough of waiting for it may go.
      if (obeys) {
        become(afterKey(watched, key));
        return true;
      }
      become(next);
      if (!asked) return true;
      obeys = true;
      if (asked.do === 'open') ahead = [];
      void obey(asked).finally(() => {
        obeys = false;
        const typed = ahead ?? [];
        ahead = null;
        for (const one of typed) press(one);
      });
      return true;
    }
    for await (const bytes of keys) if (!press(bytes)) return;
  }

  // A first look says at once what is wrong.
  await list();
  void predict();
  const rest = [follow(), tick()];
  try {
    await Promise.race([read(), rest[0]]);
  } finally {
    ended.abort();
    await Promise.allSettled(rest);
  }
}
