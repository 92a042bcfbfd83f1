import type { LedgerEntry } from '../../../contracts/ledger.js';
import type { Commits } from '../../commits.js';
import type { RowFilter } from '../../ledger/row-filter.js';
import type { LedgerReader } from '../../ledger/ports.js';

export interface FollowOptions {
  readonly ledger: Pick<LedgerReader, 'pages'> & { head(): Promise<{ readonly length: number }> };
  readonly filter: RowFilter;
  /** Sequence of the last row the follower has. */
  readonly after: number;
  readonly commits: Commits;
  /** Awaited before each page; shared by all followers of a process (`pageTurns`). */
  readonly turn: () => Promise<void>;
  readonly signal: AbortSignal;
  readonly heartbeatMs?: number;
  /** How often to look for appends of other processes, which cannot notify this one. */
  readonly lookMs?: number;
}

/**
 * All rows after a place in chain order, then each new row as it is committed; `null` when nothing came for one heartbeat interval. No row
 * is repeated or skipped, because commits become visible in chain order. The next page is read after the last one was consumed, so a slow
 * follower costs one page of memory, and however many catch up, other work runs between two of their pages. Ends when the signal fires.
 */
export async function* follow({
  ledger,
  filter,
  after,
  commits,
  turn,
  signal,
  heartbeatMs = 15_000,
  lookMs = 1_000,
}: FollowOptions): AsyncGenerator<LedgerEntry | null> {
  let place = after;
  let heardAt = performance.now();
  while (!signal.aborted) {
    const seen = commits.count();
    const { length } = await ledger.head();
    if (length > place) {
      for await (const page of paced(ledger.pages({ ...filter, seqFrom: place + 1, seqTo: length }), turn)) {
        for (const row of page) {
          if (signal.aborted) return;
          yield row;
          heardAt = performance.now();
        }
      }
      place = length;
      continue;
    }
    if (performance.now() - heardAt >= heartbeatMs) {
      yield null;
      heardAt = performance.now();
    }
    await commits.after(seen, Math.min(lookMs, Math.max(1, heartbeatMs - (performance.now() - heardAt))), signal);
  }
}

async function* paced<Page>(pages: AsyncIterable<Page>, turn: () => Promise<void>): AsyncGenerator<Page> {
  const reading = pages[Symbol.asyncIterator]();
  try {
    for (;;) {
      await turn();
      const next = await reading.next();
      if (next.done) return;
      yield next.value;
    }
  } finally {
    await reading.return?.();
  }
}

/**
 * One page in each turn of the event loop, first come, first served. Sockets take megabytes before they make anybody wait, so that dozens of
 * followers that begin at once would read and write all of it in one turn.
 */
export function pageTurns(): () => Promise<void> {
  const waiting: (() => void)[] = [];
  const goOn = (): void => {
    waiting.shift()?.();
    if (waiting.length > 0) setImmediate(goOn);
  };
  return () =>
    new Promise((resolve) => {
      if (waiting.push(resolve) === 1) setImmediate(goOn);
    });
}
