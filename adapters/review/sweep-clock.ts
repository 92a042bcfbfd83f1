import { METADATA_LIFE_SECONDS } from '../../domain/review/retention.js';
import type { TimeToSweep } from '../../domain/review/ports.js';
import { type Ask, statement } from '../store/statement.js';

const DAY_MS = 86_400_000;
/** So far a clock may be ahead of the last sweep: a service that was away for longer deletes a day later. */
const AWAY_MS = 7 * DAY_MS;
/** The same for a store of before sweeps were written down. While one ran, no review was kept for longer after its end. */
const FIRST_AWAY_MS = METADATA_LIFE_SECONDS * 1_000 + DAY_MS;
/** What the clock says is believed when it says so for as long, and was looked at all the while. */
const BELIEVED_MS = DAY_MS;
/** Of a longer step between two looks nobody knows whether it was time or the clock: twice the longest interval of sweeps (`config/hil.ts`). */
const PAUSE_MS = 2 * 3_600_000;
/** So far the clocks of the database and of this process may be apart. */
const APART_MS = 3_600_000;
/** That a sweep was made is not written down more often. */
const WRITTEN_MS = 600_000;

interface Mark {
  readonly swept_ms: number | string;
  readonly doubted_ms: number | string | null;
  /** When the clock was last looked at in doubt. */
  readonly looked_ms: number | string | null;
}
const MARK = statement<Mark>(`select swept_ms, doubted_ms, looked_ms from review_sweeps where id = 1`);
const WRITE = statement(
  `insert into review_sweeps (id, swept_ms, doubted_ms, looked_ms) values (1, ?, ?, ?)
     on conflict (id) do update set swept_ms = excluded.swept_ms, doubted_ms = excluded.doubted_ms, looked_ms = excluded.looked_ms`,
);
/** The newest thing that the store knows, by whichever clock. */
const NEWEST = statement<{ at: number | string | null }>(
  `select max(at) as at from (select max(created_ms) as at from reviews
     union all select max(at_ms) as at from hil_deletion_audit) as known`,
);

const timeOf = (ms: number): string => (Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString() : String(ms));

/**
 * From when on the clock is believed to have run in doubt. The doubted clock measures that itself, so only short steps between looks count: a pause
 * of some days moves the beginning by as much, and after a greater step, or one back, the clock says something else, and it begins anew.
 */
function doubtedFrom(mark: Mark | undefined, now: number): number {
  if (mark?.doubted_ms == null || mark.looked_ms === null) return now;
  const sinceMs = Number(mark.doubted_ms);
  const stepMs = now - Number(mark.looked_ms);
  if (stepMs < -PAUSE_MS || stepMs > AWAY_MS) return now;
  return Math.min(now, stepMs > PAUSE_MS ? sinceMs + stepMs : sinceMs);
}

/**
 * Whether this process may delete what its clock says is past its date (docs/architecture/reviews.md#payload-and-retention); what is deleted
 * comes back by no clock that is put right. By the time that was looked at, because the clock may be put between the look and the deletion.
 */
export const sweepClock =
  ({
    ask,
    databaseMs,
    clock,
  }: {
    readonly ask: Ask;
    /** `null` where the store is a file. */
    readonly databaseMs: () => Promise<number | null>;
    readonly clock: () => number;
  }) =>
  async (): Promise<TimeToSweep> => {
    const now = clock();
    const database = await databaseMs();
    if (database !== null && Math.abs(database - now) > APART_MS)
      return {
        doubt: `nothing is deleted: the clock of this process says ${timeOf(now)}, that of the database ${timeOf(database)}`,
      };
    const mark = (await ask(MARK)).rows[0];
    const lastMs = Number(mark?.swept_ms ?? (await ask(NEWEST)).rows[0]?.at ?? now);
    const isAhead = now - lastMs > (mark ? AWAY_MS : FIRST_AWAY_MS);
    const fromMs = doubtedFrom(mark, now);
    if (isAhead && now - fromMs < BELIEVED_MS) {
      await ask(WRITE, lastMs, fromMs, now);
      const again = timeOf(fromMs + BELIEVED_MS);
      return {
        doubt: `nothing is deleted: the clock says ${timeOf(now)}, and the last thing known is of ${timeOf(lastMs)}. Put it right if it is wrong; if it still says so, deletion goes on after a day of running, at ${again} at the earliest`,
      };
    }
    if (!mark || mark.doubted_ms !== null || Math.abs(now - lastMs) >= WRITTEN_MS) await ask(WRITE, now, null, null);
    return { atMs: now, doubt: null };
  };
