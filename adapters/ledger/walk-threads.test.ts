import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ledgerPlace, STORES, type TestLedgerPlace, testRow } from '../../test/support/ledger.js';
import { sha256Hex } from '../../domain/crypto/digest.js';
import { type WholeLedger, openLedger } from '../../test/support/whole-ledger.js';
import { walkInThreads } from './walk-threads.js';
import { eventually } from '../../test/support/waiting.js';

const ROWS = 60;
/** The compiled file, because a thread loads no TypeScript. */
const script = new URL('../../dist/adapters/ledger/walk-thread.js', import.meta.url);

describe.each(STORES)('a walk in threads, on %s', (kind) => {
  let place: TestLedgerPlace;
  let one: WholeLedger;
  let several: WholeLedger;

  beforeAll(async () => {
    place = await ledgerPlace(kind);
    one = await openLedger({ target: place.target, sidecarKeys: place.keys });
    several = await openLedger({
      target: place.target,
      sidecarKeys: place.keys,
      verifyThreads: { threads: 3, rowsPerThread: 10, script },
    });
    await one.append(
      Array.from({ length: ROWS }, (_, index) =>
        index % 4 === 0
          ? testRow({ payload_sha256: sha256Hex(`{"n":${index}}`), payload_canonical_json: `{"n":${index}}` })
          : testRow(),
      ),
    );
    await place.unlock();
  });
  afterAll(async () => {
    await one.close();
    await several.close();
    await place.remove();
  });

  const same = async () => {
    const expected = await one.verify();
    expect(await several.verify()).toEqual(expected);
    return expected;
  };

  it('finds a whole chain whole', async () => {
    expect(await same()).toMatchObject({ valid: true, entries_checked: ROWS, sidecars: { checked: ROWS / 4 } });
  });

  it('goes on from where the last one ended', async () => {
    await several.verify();
    expect(await several.verify({ sinceCheckpoint: true })).toMatchObject({ valid: true, entries_checked: ROWS });
  });

  it('stops where one walk would stop, for the same reason, whatever was changed', async () => {
    const change = fc.record({
      // The ranges of the threads begin at 21 and 41.
      seq: fc.oneof(fc.constantFrom(1, 20, 21, 22, 40, 41, 42, ROWS), fc.integer({ min: 1, max: ROWS })),
      what: fc.constantFrom(
        'reasoning',
        'prev_hash',
        'entry_hash',
        'chain_version',
        'policy_decision',
        'seq',
        'sidecar',
      ),
    });
    const other: Record<string, string | number> = {
      reasoning: 'other',
      prev_hash: 'f'.repeat(64),
      entry_hash: 'e'.repeat(64),
      chain_version: 7,
      policy_decision: '{},"x":{}',
    };
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
        const undo: (() => Promise<unknown>)[] = [];
        for (const { seq, what } of changes) {
          if (what === 'sidecar') {
            await place.sql('update entry_payloads set entry_id = ? where entry_seq = ?', ['gone', seq]);
            undo.push(() =>
              place.sql(
                'update entry_payloads set entry_id = (select id from ledger_entries where seq = ?) where entry_seq = ?',
                [seq, seq],
              ),
            );
          } else if (what === 'seq') {
            await place.sql('update ledger_entries set seq = ? where seq = ?', [1_000_000 + seq, seq]);
            undo.push(() => place.sql('update ledger_entries set seq = ? where seq = ?', [seq, 1_000_000 + seq]));
          } else {
            const [row] = await place.sql(`select ${what} from ledger_entries where seq = ?`, [seq]);
            if (!row) continue;
            const before = row[what] as string | number | null;
            await place.sql(`update ledger_entries set ${what} = ? where seq = ?`, [other[what] ?? null, seq]);
            undo.push(() => place.sql(`update ledger_entries set ${what} = ? where seq = ?`, [before, seq]));
          }
        }
        try {
          await same();
        } finally {
          for (const step of undo.toReversed()) await step();
        }
      }),
      { seed: 3, numRuns: 12 },
    );
    expect((await same()).valid).toBe(true);
  });

  // Threads that never end, and report that they started.
  const endless = (sign: string) => {
    const text = `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(sign)}, ''); setInterval(() => undefined, 1000);`;
    return new URL(`data:text/javascript,${encodeURIComponent(text)}`);
  };

  it('is ended with the ledger', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gate-walk-'));
    const sign = join(folder, 'there');
    const closed = await openLedger({
      target: place.target,
      sidecarKeys: place.keys,
      verifyThreads: { threads: 3, rowsPerThread: 10, script: endless(sign) },
    });
    const ended = expect(closed.verify()).rejects.toMatchObject({ code: 'ledger_store_unavailable' });
    await eventually('a thread', () => existsSync(sign));
    await closed.close();
    await ended;
    rmSync(folder, { recursive: true });
  });

  it('starts no thread once it was ended', async () => {
    const threads = walkInThreads({
      target: place.target,
      keys: place.keys,
      threads: 2,
      rowsPerThread: 10,
      script: endless('/dev/null'),
    });
    const under = expect(threads.walk({ from: 1, to: 100, prev: null })).rejects.toThrow('ended with code');
    await threads.close();
    await under;
    await expect(threads.walk({ from: 1, to: 100, prev: null })).rejects.toThrow('were ended');
  });

  it('is an outage when a thread cannot read the store', async () => {
    const blind = await openLedger({
      target: place.target,
      sidecarKeys: place.keys,
      verifyThreads: { threads: 2, rowsPerThread: 10, script: new URL('file:///no/such/thread.js') },
    });
    await expect(blind.verify()).rejects.toMatchObject({ code: 'ledger_store_unavailable' });
    await blind.close();
  });
});
