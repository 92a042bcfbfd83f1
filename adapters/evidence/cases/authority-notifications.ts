import type { AuthorityNotification } from '../../../contracts/cases.js';
import { errorText } from '../../../domain/errors.js';
import type { Store } from '../../store/database.js';
import { reading } from '../../../domain/ledger/chain-store.js';
import { backOffMs } from '../../../domain/ledger/sweeps/back-off.js';
import type { CaseTables, NotificationTable } from './case-tables.js';

/** A report that is still undelivered this long after its deadline is given up; only people can help then. */
const GIVE_UP_AFTER_MS = 30 * 86_400_000;
const BATCH = 50;

export interface NotificationSweep {
  readonly post: (body: string) => Promise<unknown>;
  /** The wait after the first failure. It doubles with each further one. */
  readonly intervalMs: number;
}

export interface SweptNotifications {
  readonly delivered: number;
  readonly failed: number;
}

/**
 * Sends the notifications that are due (docs/architecture/ledger-reads.md#cases). Each attempt is recorded before it is made: two processes
 * never make the same one, and a crash in the middle only costs a wait. Delivery is at least once; the receiver deduplicates by
 * `notification_id`. `post` throws unless the receiver confirmed.
 */
export async function sweepNotifications(
  { db }: Store<CaseTables>,
  options: NotificationSweep & { readonly clock: () => number },
): Promise<SweptNotifications> {
  const { post, clock, intervalMs } = options;
  const iso = (ms: number) => new Date(ms).toISOString();
  const due = await reading(() =>
    db
      .selectFrom('authority_notifications')
      .selectAll()
      .where('status', '=', 'pending')
      .where('next_attempt_at', '<=', iso(clock()))
      .orderBy('next_attempt_at')
      .limit(BATCH)
      .execute(),
  );
  let delivered = 0;
  let failed = 0;
  for (const row of due) {
    const attempts = Number(row.attempts) + 1;
    const claim = await reading(() =>
      db
        .updateTable('authority_notifications')
        .set({ attempts, next_attempt_at: iso(clock() + backOffMs(intervalMs, attempts)) })
        .where('id', '=', row.id)
        .where('status', '=', 'pending')
        .where('attempts', '=', row.attempts)
        .executeTakeFirstOrThrow(),
    );
    if (claim.numUpdatedRows === 0n) continue;
    const outcome = await post(JSON.stringify(bodyOf(row))).then(
      () => ({ status: 'delivered' as const, delivered_at: iso(clock()), last_error: null }),
      (error: unknown) => ({
        status:
          clock() > Date.parse(row.regulatory_deadline) + GIVE_UP_AFTER_MS ? ('failed' as const) : ('pending' as const),
        delivered_at: null,
        last_error: errorText(error).slice(0, 500),
      }),
    );
    if (outcome.status === 'delivered') delivered += 1;
    else failed += 1;
    await reading(() =>
      db
        .updateTable('authority_notifications')
        .set(outcome)
        .where('id', '=', row.id)
        // Another process may have delivered it meanwhile; that result stands.
        .where('status', '=', 'pending')
        .executeTakeFirstOrThrow(),
    );
  }
  return { delivered, failed };
}

const bodyOf = (row: NotificationTable): AuthorityNotification => ({
  framework: 'eu_ai_act_art_73',
  notification_id: row.id,
  case_id: row.case_id,
  severity: row.severity,
  regulatory_deadline: row.regulatory_deadline,
  classified_at: row.classified_at,
});
