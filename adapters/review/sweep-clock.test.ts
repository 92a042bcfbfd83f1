import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { PendingRequest } from '../../contracts/review.js';
import { dispositionFile } from './disposition-file.js';
import { bringUpToDate } from '../../domain/review/restored-store.js';
import { type HilFixture, openHil } from '../../test/support/hil.js';
import { STORES } from '../../test/support/ledger.js';
import { eventually } from '../../test/support/waiting.js';
import { type RetentionSweep, startRetention } from './retention-sweep.js';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const YEARS_MS = 5 * 365 * DAY_MS;

describe.each(STORES)('a sweep whose clock is wrong, on %s', (kind) => {
  let hil: HilFixture;
  let folder: string;
  let rightMs: number;
  let logged: string[];
  let counted: string[];
  let running: RetentionSweep | null;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gate-sweep-clock-'));
    hil = await openHil(kind);
    // That of the database is right.
    rightMs = Date.now();
    hil.now = rightMs;
    logged = [];
    counted = [];
    running = null;
  }, 60_000);
  afterEach(async () => {
    await running?.stop();
    await hil.close();
    await rm(folder, { recursive: true, force: true });
  });

  const parked = (n: number) => hil.park(n, { created_at: new Date(rightMs).toISOString(), approval_tier: 'auto' });
  const start = () => {
    const logger = {
      info: () => undefined,
      error: ({ doubt }: { doubt?: string }) => void logged.push(doubt ?? 'other'),
    };
    running = startRetention(hil.reviews.sweeping, 5, logger as never, (outcome) => void counted.push(outcome));
    return running;
  };
  const swept = async (outcome: 'done' | 'failed') => {
    const { length } = counted;
    await eventually(`a sweep is ${outcome}`, () => counted.slice(length + 1).includes(outcome));
  };
  const stands = async ({ id }: PendingRequest) =>
    (await hil.reviews.get(id))?.retention['payload_tombstone'] === undefined;
  const doubt = async () => (await hil.reviews.timeToSweep()).doubt;
  const isThere = async ({ id }: PendingRequest) => (await hil.reviews.get(id)) !== null;

  it('ahead by years deletes nothing and says why, until it is put right', async () => {
    const [waits, decided] = [await parked(1), await parked(2)];
    await hil.settle(decided);
    const sweep = start();
    await swept('done');
    expect(sweep.undone()).toBeNull();
    hil.now = rightMs + YEARS_MS;
    await swept('failed');
    expect(sweep.undone()).toMatch(/^nothing is deleted: the clock (?:of this process )?says 20[3-9]\d-/);
    expect(logged).toEqual([expect.stringMatching(/^nothing is deleted: /)]);
    expect([await isThere(waits), await isThere(decided)]).toEqual([true, true]);
    hil.now = rightMs;
    await swept('done');
    expect(sweep.undone()).toBeNull();
    expect([await stands(waits), await stands(decided)]).toEqual([true, true]);
    // Nor where a store that was put back is brought up to date.
    hil.now = rightMs + YEARS_MS;
    const file = join(folder, 'dispositions');
    await writeFile(file, '', { mode: 0o600 });
    const dispositions = dispositionFile({ file, key: Buffer.alloc(32, 7) });
    expect(await bringUpToDate(hil.reviews, dispositions, () => hil.now)).toMatchObject({
      rows_deleted: 0,
      payloads_purged: 0,
    });
    expect([await isThere(waits), await isThere(decided)]).toEqual([true, true]);
  });

  it('never deletes a row that nobody has decided, whatever it believes', async () => {
    const row = await parked(1);
    hil.now = rightMs + YEARS_MS;
    for (const _time of [1, 2]) await hil.reviews.sweep();
    expect(await isThere(row)).toBe(true);
    await hil.settle(row, { status: 'expired', by: 'system:ttl-sweep' });
    hil.now += 31 * DAY_MS;
    await hil.reviews.sweep();
    expect(await isThere(row)).toBe(false);
  });

  if (kind === 'postgres')
    it.each([-2, 2])('is seen by the clock of the database, %d hours apart', async (hours) => {
      expect(await doubt()).toBeNull();
      hil.now += hours * 3_600_000;
      expect(await doubt()).toMatch(/the clock of this process says .*, that of the database /);
    });
  else {
    /** Looks every `stepMs`, `times` times; what the last look says. */
    const looks = async (times: number, stepMs: number) => {
      let last: string | null = null;
      for (let look = 0; look < times; look += 1) {
        hil.now += stepMs;
        last = await doubt();
      }
      return last;
    };

    it('is believed when it says so for a day in which it was looked at', async () => {
      expect(await doubt()).toBeNull();
      hil.now += 7 * DAY_MS;
      expect(await doubt()).toBeNull();
      hil.now += 7 * DAY_MS + 1;
      const at = new Date(hil.now + DAY_MS).toISOString();
      expect(await doubt()).toContain(`deletion goes on after a day of running, at ${at} at the earliest`);
      expect(await looks(23, HOUR_MS)).not.toBeNull();
      hil.now += HOUR_MS - 1;
      expect(await doubt()).not.toBeNull();
      hil.now += 1;
      expect(await doubt()).toBeNull();
      expect(await looks(1, 7 * DAY_MS)).toBeNull();
    });

    it('deletes nothing after a second jump, by however much', async () => {
      const decided = await parked(1);
      await hil.settle(decided);
      const sweep = start();
      await swept('done');
      for (const step of [YEARS_MS, DAY_MS, 2 * DAY_MS, 8 * DAY_MS, YEARS_MS, -DAY_MS, DAY_MS]) {
        hil.now += step;
        await swept('failed');
      }
      expect(sweep.undone()).toMatch(/^nothing is deleted: /);
      expect(await isThere(decided)).toBe(true);
      expect(await stands(decided)).toBe(true);
    });

    it('counts no time in which nobody looked, and keeps what was counted before it', async () => {
      expect(await doubt()).toBeNull();
      hil.now += YEARS_MS;
      expect(await doubt()).not.toBeNull();
      expect(await looks(12, HOUR_MS)).not.toBeNull();
      hil.now += 2 * DAY_MS;
      expect(await doubt()).toContain(`at ${new Date(hil.now + DAY_MS / 2).toISOString()} at the earliest`);
      expect(await looks(11, HOUR_MS)).not.toBeNull();
      expect(await looks(1, HOUR_MS)).toBeNull();
    });

    it.each([
      ['further ahead by more than a week', 7 * DAY_MS + 1],
      ['back', -30 * DAY_MS],
    ])('begins its doubt anew where it jumps %s', async (_what, step) => {
      expect(await doubt()).toBeNull();
      hil.now += YEARS_MS;
      expect(await doubt()).not.toBeNull();
      expect(await looks(23, HOUR_MS)).not.toBeNull();
      hil.now += step;
      expect(await doubt()).not.toBeNull();
      expect(await looks(23, HOUR_MS)).not.toBeNull();
      expect(await looks(1, HOUR_MS)).toBeNull();
    });

    it('is seen by the newest review of a store that says of no sweep', async () => {
      await parked(1);
      hil.now = rightMs + 31 * DAY_MS + 1_001;
      expect(await doubt()).toContain(`the last thing known is of ${new Date(rightMs).toISOString()}`);
      // From then on that is its last sweep.
      hil.now = rightMs + 7 * DAY_MS;
      expect(await doubt()).toBeNull();
    });
  }
});
