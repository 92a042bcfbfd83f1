import { hilMigrations } from '../../migrations/hil.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { errorText, GateError } from '../../domain/errors.js';
import { openStore, type Store, type StoreTarget } from '../store/database.js';
import { statement } from '../store/statement.js';
import { overwriteDeleted } from '../store/overwriting.js';
import { assertWritable } from '../store/writable.js';
import { REHEARSALS } from '../../domain/review/backlog.js';
import { ONE_APPROVER, type QuorumRule } from '../../domain/decision/quorum.js';
import type { ReviewsWithNotices } from '../../domain/notification/ports.js';
import type { Dispositions, OpenedReviews, ReviewLimits, Reviews } from '../../domain/review/ports.js';
import type { RuleDecision } from '../../domain/review/rule-decision.js';
import { chatLinkStoreOver } from './chat-link-store.js';
import { noticeStoreOver, type NoticesKept } from '../notification/notice-store.js';
import { sealReviews } from './seal-reviews.js';
import { changeSealOver } from './change-seal.js';
import { reviewChanges } from './changes.js';
import { asked } from './faults.js';
import { legalHolds } from './legal-holds.js';
import { reviewLists } from './lists.js';
import { reviewNotes } from './notes.js';
import { reviewParking } from './parking.js';
import { passkeyStore } from './passkeys.js';
import { reviewWalk } from './walk.js';
import { vouchingStoreOver } from './vouching-store.js';
import { reviewReads } from './reads.js';
import { reviewRetention } from './retention.js';
import { type ReviewRows, reviewRows } from './rows.js';
import { reviewSettling } from './settling.js';
import { tenantStatesOver } from './tenant-states.js';
import type { ReviewTables } from './tables.js';
import { storeClock } from '../store/store-clock.js';
import { sweepClock } from './sweep-clock.js';

export interface ReviewStoreOptions {
  readonly target: StoreTarget;
  readonly payloadKeys: KeyRing;
  readonly clock?: () => number;
  /** How many people a review needs; one when absent. */
  readonly quorum?: QuorumRule;
  /** The shares of its time after which a row that nobody has decided is escalated; never when absent or empty. */
  readonly escalateShares?: readonly number[];
  /** How much one agent may have waiting; unlimited when absent. */
  readonly perAgent?: ReviewLimits;
  /** How many reviews without a call a tenant may have, where the agents' are limited. */
  readonly rehearsals?: number;
  /** For a store that this process alone writes: `forget` is to be called when it undid what stood. */
  readonly alone?: (forget: () => void) => void;
  /** Where it is written down, outside the store, which tenants have left and who was taken out. */
  readonly dispositions?: Pick<Dispositions, 'check' | 'record' | 'recordTakenOut' | 'timesTakenOut'> | undefined;
}

/**
 * HIL's rows in SQLite or Postgres. Payloads are encrypted under their row id. A row is `expired` once its call is: the call's record owns
 * the deadline, and HIL's clock ends no wait (docs/architecture/reviews.md#deadline). A store fault is `store_unavailable`.
 */
export async function openReviewStore({ target, ...options }: ReviewStoreOptions): Promise<ReviewsWithNotices> {
  const store = await openStore<ReviewTables>(target, hilMigrations);
  try {
    await sealReviews(store, options.payloadKeys, options.clock);
  } catch (error) {
    await store.close();
    throw error;
  }
  return reviewStoreOver(store, options);
}

/** The review rows over an open, migrated and sealed store. Takes ownership: `close` closes it. */
export function reviewStoreOver(
  store: Store<ReviewTables>,
  {
    payloadKeys: keys,
    clock = Date.now,
    quorum = ONE_APPROVER,
    escalateShares = [],
    perAgent,
    rehearsals = REHEARSALS,
    alone,
    dispositions,
  }: Omit<ReviewStoreOptions, 'target'>,
): ReviewsWithNotices {
  if (store.sqlite) overwriteDeleted(store.sqlite);
  const rows = reviewRows({ store, keys, clock, perAgent, rehearsals, alone });
  const { ask, check, views } = rows;
  const { notices, last } = noticeStoreOver(store, { keys, clock });
  const tenants = tenantStatesOver({ store, ask, keys, clock, dispositions });
  return {
    reads: reviewReads(rows),
    parking: reviewParking(rows, { quorum, escalateShares, assertOpen: tenants.assertOpen }),
    settling: reviewSettling(rows),
    lists: reviewLists(rows),
    walk: reviewWalk(rows),
    notes: reviewNotes(rows),
    feed: {
      changes: () => reviewChanges({ ask, kind: store.kind, clock, listed: check.listedOf, reportOf: views.reportOf }),
      onChange: rows.onChange,
    },
    ...retentionOver(rows, last),
    clockMs: storeClock({ ask, kind: store.kind }),
    alarms: { onTampered: check.onTampered },
    tenants: tenants.states,
    passkeys: passkeyStore({ store, keys, asked, alone, dispositions }),
    changeSeal: changeSealOver(rows),
    notices,
    chatLinks: chatLinkStoreOver(store, { keys, clock }),
    vouchings: vouchingStoreOver(store, { keys }),

    async ready() {
      await assertWritable(store.sqlite).catch((cause: unknown) => {
        throw new GateError('store_unavailable', errorText(cause), { cause });
      });
      await asked(() => store.db.selectFrom('reviews').select('id').limit(1).execute());
    },
    close: () => store.close(),
  };
}

const COUNT_OPERATOR_ROWS = statement<{ count: number | string }>(
  `select count(*) as "count" from reviews where tenant = ? and state_namespace <> 'demo' and withdrawn_at is null`,
);

function retentionOver(
  { store, ask, holds, clock, rowOf, change, remove }: ReviewRows,
  lastNotices: NoticesKept['last'],
): Pick<OpenedReviews, 'sweeping' | 'retention'> {
  const retention = reviewRetention({ store, ask, clock, rowOf, change, remove, lastNotices });
  return {
    sweeping: {
      sweep: retention.sweep,
      timeToSweep: sweepClock({ ask, databaseMs: storeClock({ ask, kind: store.kind }), clock }),
    },
    retention: {
      hold: legalHolds({ db: store.db, records: holds, clock, asked, rowOf, change, retention }),
      erase: retention.erase,
      async operatorRows(tenant) {
        const { rows } = await ask(COUNT_OPERATOR_ROWS, tenant);
        return Number(rows[0]?.count ?? 0);
      },
    },
  };
}

/** The port over a store in the same process. */
export const reviewsOf = (
  {
    parking,
    reads,
    settling,
    walk,
    changeSeal,
    alarms,
  }: Pick<OpenedReviews, 'parking' | 'reads' | 'settling' | 'walk' | 'changeSeal' | 'alarms'>,
  decideByRule: RuleDecision,
): Reviews => ({
  decideByRule,
  createOnce: async (review) => (await parking.createOnce(review)).row,
  byCorrelation: (correlationId, tenant) => reads.byCorrelation(correlationId, tenant),
  withdraw: (correlationId, attemptMs) => parking.withdraw(correlationId, attemptMs),
  settle: (settled) => settling.settle(settled),
  escalated: (id, times) => settling.escalated(id, times),
  assertOpen: (tenant) => parking.assertOpen(tenant),
  undecided: (after, limit) => walk.undecided(after, limit),
  openedChange: (id, sealed) => changeSeal.opened(id, sealed),
  onTampered: (listener) => alarms.onTampered(listener),
});
