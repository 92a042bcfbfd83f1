import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ledgerPlace, STORES, type TestLedgerPlace, testRow } from '../../../test/support/ledger.js';
import { type WholeLedger, openLedger } from '../../../test/support/whole-ledger.js';
import { type Commits, countCommits } from '../../commits.js';
import { follow, type FollowOptions, pageTurns } from './follow.js';
import { eventually } from '../../../test/support/waiting.js';

describe.each(STORES)('following the chain on %s', (kind) => {
  let place: TestLedgerPlace;
  let ledger: WholeLedger;
  let commits: Commits;
  let ending: AbortController;

  beforeEach(async () => {
    place = await ledgerPlace(kind);
    ledger = await openLedger({ target: place.target, sidecarKeys: place.keys });
    commits = countCommits();
    ledger.observe(commits.note);
    ending = new AbortController();
  });
  afterEach(async () => {
    ending.abort();
    await ledger.close();
    await place.remove();
  });

  const following = (change: Partial<FollowOptions> = {}) =>
    follow({ ledger, filter: {}, after: 0, commits, turn: pageTurns(), signal: ending.signal, ...change });
  const take = async (rows: ReturnType<typeof follow>, count: number) => {
    const seqs: (number | null)[] = [];
    while (seqs.length < count) {
      const next = await rows.next();
      if (next.done) break;
      seqs.push(next.value?.seq ?? null);
    }
    return seqs;
  };
  const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => first + index);

  it('gives what is there and then what comes, each row once and in order, from many writers', async () => {
    await ledger.append([testRow(), testRow()]);
    const taking = take(following(), 302);
    for (let round = 0; round < 10; round++)
      await Promise.all(Array.from({ length: 10 }, () => ledger.append([testRow(), testRow(), testRow()])));
    expect(await taking).toEqual(range(1, 302));
  }, 60_000);

  it('goes on behind any place', async () => {
    await ledger.append(Array.from({ length: 450 }, () => testRow()));
    expect(await take(following({ after: 449 }), 1)).toEqual([450]);
    expect(await take(following({ after: 200 }), 250)).toEqual(range(201, 450));
  });

  it('leaves out what the filter does not mean, and passes over it', async () => {
    await ledger.append(range(1, 500).map((index) => testRow({ tenant: index % 100 === 0 ? 'rare' : 'acme' })));
    const rows = following({ filter: { tenant: 'rare' } });
    expect(await take(rows, 5)).toEqual([100, 200, 300, 400, 500]);
    const next = take(rows, 1);
    await ledger.append([testRow(), testRow({ tenant: 'rare' })]);
    expect(await next).toEqual([502]);
  });

  it('sees the rows of another process, which tells nobody', async () => {
    const rows = following({ lookMs: 20 });
    const next = take(rows, 2);
    const other = await openLedger({ target: place.target, sidecarKeys: place.keys });
    await other.append([testRow(), testRow()]);
    await other.close();
    expect(await next).toEqual([1, 2]);
  }, 30_000);

  it('beats while nothing comes, and gives what comes then', async () => {
    const rows = following({ heartbeatMs: 20 });
    expect(await take(rows, 3)).toEqual([null, null, null]);
    await ledger.append([testRow()]);
    const seqs: (number | null)[] = [];
    while (!seqs.includes(1)) seqs.push(...(await take(rows, 1)));
    expect(seqs.filter((seq) => seq !== null)).toEqual([1]);
    expect(await take(rows, 1)).toEqual([null]);
  });

  it('does not beat while something comes: each row is a beat', async () => {
    let now = 0;
    const elapsed = jest.spyOn(performance, 'now').mockImplementation(() => now);
    try {
      let looks = 0;
      const looked: FollowOptions['ledger'] = {
        head() {
          looks += 1;
          return ledger.head();
        },
        pages: (filter) => ledger.pages(filter),
      };
      const rows = following({ ledger: looked, heartbeatMs: 1_000, lookMs: 5 });
      const taken: (number | null)[] = [];
      for (let round = 0; round < 5; round++) {
        // Each gap between two rows is shorter than a heartbeat; all of them together are longer.
        now += 900;
        const next = take(rows, 1);
        const seen = looks;
        await eventually('three looks', () => looks >= seen + 3);
        await ledger.append([testRow()]);
        taken.push(...(await next));
      }
      expect(taken).toEqual(range(1, 5));
      const next = take(rows, 1);
      now += 1_000;
      expect(await next).toEqual([null]);
    } finally {
      elapsed.mockRestore();
    }
  });

  it('reads a page ahead at most, however far behind its follower is', async () => {
    await ledger.append(Array.from({ length: 512 }, () => testRow()));
    await ledger.append(Array.from({ length: 512 }, () => testRow()));
    let pages = 0;
    const counted: FollowOptions['ledger'] = {
      head: () => ledger.head(),
      async *pages(filter) {
        for await (const page of ledger.pages(filter)) {
          pages += 1;
          yield page;
        }
      },
    };
    const rows = following({ ledger: counted });
    expect(await take(rows, 1)).toEqual([1]);
    await ledger.append(Array.from({ length: 512 }, () => testRow()));
    expect(pages).toBe(1);
    expect(await take(rows, 1_535)).toEqual(range(2, 1_536));
  });

  it('ends when it is told to, asleep or not', async () => {
    const asleep = following();
    const waiting = asleep.next();
    ending.abort();
    expect(await waiting).toMatchObject({ done: true });
    expect(await following().next()).toMatchObject({ done: true });
  });

  it('says so when the store is gone', async () => {
    const rows = following({ heartbeatMs: 50, lookMs: 10 });
    expect(await take(rows, 1)).toEqual([null]);
    // Waiting for the next look again.
    const waiting = rows.next();
    await ledger.close();
    await expect(waiting).rejects.toMatchObject({ code: 'ledger_store_unavailable' });
  });
});

describe('many that follow the chain at once', () => {
  it('read one page in each turn of the event loop, each of them in its turn', async () => {
    const pagesOfTurns: string[][] = [];
    let turning = true;
    const nextTurn = () => {
      pagesOfTurns.push([]);
      if (turning) setImmediate(nextTurn);
    };
    nextTurn();
    const ledgerOf = (name: string): FollowOptions['ledger'] => ({
      head: () => Promise.resolve({ length: 3 }),
      async *pages() {
        for (const seq of [1, 2, 3]) {
          pagesOfTurns.at(-1)?.push(`${name} ${seq}`);
          yield [testRow({ seq } as never)] as never;
        }
      },
    });
    const turn = pageTurns();
    const ending = new AbortController();
    const take3 = async (name: string) => {
      const rows = follow({
        ledger: ledgerOf(name),
        filter: {},
        after: 0,
        commits: countCommits(),
        turn,
        signal: ending.signal,
      });
      for (let count = 0; count < 3; count += 1) await rows.next();
      await rows.return(undefined);
    };
    await Promise.all(['a', 'b', 'c'].map(take3));
    turning = false;
    expect(pagesOfTurns.filter((pages) => pages.length > 1)).toEqual([]);
    expect(pagesOfTurns.flat()).toEqual(['a 1', 'b 1', 'c 1', 'a 2', 'b 2', 'c 2', 'a 3', 'b 3', 'c 3']);
  });
});
