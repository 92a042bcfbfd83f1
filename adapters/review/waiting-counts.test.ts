import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../../config/project-root.js';
import type { NewReview, ReviewStatus, SettledReview } from '../../contracts/review.js';
import { parseKeyRing } from '../../domain/crypto/key-ring.js';
import { reviewIdOf } from '../../domain/review/sealed-review.js';
import { hilMigrations } from '../../migrations/hil.js';
import { type EditedStore, editedPostgres, editedSqlite, stopEditedPostgres } from '../../test/support/edited-store.js';
import { seededRandom } from '../../test/support/random.js';
import { openReviewStore, type WholeReviews } from '../../test/support/whole-reviews.js';
import { openStore, type StoreTarget } from '../store/database.js';
import type { ReviewTables } from './tables.js';

const KEYS = parseKeyRing(`test:${'0123456789abcdef'.repeat(4)}`);
const T0 = Date.parse('2026-11-23T08:00:00.000Z');
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const TENANTS = ['acme', 'globex'];
/** The last digit of an id chooses the row of its count, so the numbers are spread over all of them. */
const correlation = (n: number): string => `${n.toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`;
const idOf = (n: number): string => reviewIdOf(correlation(n));

const reviewOf = (n: number, over: Partial<NewReview> = {}): NewReview => ({
  agent_id: 'payments-agent',
  correlation_id: correlation(n),
  method: 'tools/call',
  request_payload: { method: 'tools/call', params: { name: 'wire_transfer', arguments: { amount: n } } },
  risk_summary: 'money movement',
  state_namespace: 'operator',
  ttl_seconds: 600,
  created_at: new Date(T0).toISOString(),
  attempt_ms: T0,
  review_reasons: ['money movement'],
  approval_tier: 'standard',
  tenant: 'acme',
  ...over,
});
const settlementOf = (n: number, status: SettledReview['status'], atMs: number): SettledReview => ({
  pending_id: idOf(n),
  status,
  decided_at: new Date(atMs).toISOString(),
  decided_by: status === 'expired' ? 'system:ttl-sweep' : 'operator:dev',
  decision_reason: null,
  decided_via: 'console',
  principal: null,
});

const SPANS_MS = [60_000, HOUR_MS, DAY_MS];
const ENDS = ['approved', 'modified', 'denied', 'modified_denied', 'expired', 'aborted'] as const;
interface Ends {
  readonly counts: Record<(typeof ENDS)[number], number>;
  readonly took: Record<string, number>;
}
const sumAt = (sums: Map<string, Ends>, of: readonly unknown[]): Ends => {
  const key = of.map(String).join(' ');
  const sum = sums.get(key) ?? {
    counts: { approved: 0, modified: 0, denied: 0, modified_denied: 0, expired: 0, aborted: 0 },
    took: {},
  };
  sums.set(key, sum);
  return sum;
};
/** What one row adds to the counts of a span, said again without SQL. */
function endsOf(row: Record<string, unknown>, span: number, sums: Map<string, Ends>): void {
  const [status, by] = [String(row['status']), typeof row['decided_by'] === 'string' ? row['decided_by'] : ''];
  const byGate = by === 'system:reconciliation' || by === 'system:tamper-check';
  const changed = row['modified'] !== null;
  if (!['approved', 'denied', 'expired', 'aborted'].includes(status)) return;
  const at = Number(row['decided_ms']);
  const { counts, took } = sumAt(sums, [row['tenant'], span, Math.floor(at / span) * span, by]);
  if (status === 'approved') counts[changed ? 'modified' : 'approved'] += 1;
  if (status === 'denied') counts.denied += 1;
  if (status === 'denied' && changed) counts.modified_denied += 1;
  if (status === 'expired') counts[byGate ? 'aborted' : 'expired'] += 1;
  if (status === 'aborted') counts.aborted += 1;
  if (by === '' || by.startsWith('system:') || (status !== 'approved' && status !== 'denied')) return;
  const ms = Math.max(0, at - Number(row['created_ms']));
  const digits = Number(String(ms).slice(0, 3));
  const step = digits < 100 ? 1 : digits < 200 ? 5 : digits < 500 ? 10 : 20;
  const name = `${digits - (digits % step)}e${Math.max(0, String(ms).length - 3)}`;
  took[name] = (took[name] ?? 0) + 1;
}

interface Place extends EditedStore {
  readonly target: StoreTarget;
  remove(): Promise<void>;
}
const inFolder = async (): Promise<Place> => {
  const folder = await mkdtemp(join(tmpdir(), 'gate-counts-'));
  const file = join(folder, 'hil.db');
  return { ...editedSqlite(file), target: { file }, remove: () => rm(folder, { recursive: true, force: true }) };
};
const PLACES: [string, () => Promise<Place>][] = [
  ['SQLite', inFolder],
  ['Postgres', async () => ({ ...(await editedPostgres('counts', hilMigrations)), remove: () => Promise.resolve() })],
];
afterAll(stopEditedPostgres);

describe.each(PLACES)('how many reviews wait is kept by the store: %s', (_name, newPlace) => {
  let place: Place;
  let store: WholeReviews;
  let now: number;
  const open = () => openReviewStore({ target: place.target, payloadKeys: KEYS, clock: () => now });
  beforeEach(async () => {
    now = T0;
    place = await newPlace();
    store = await open();
  }, 60_000);
  afterEach(async () => {
    await store.close();
    await place.remove();
  });

  const number = (value: unknown): number => Number(value);
  /** How reviews ended, as it is kept, and as the rows say it. */
  const decisionsCompared = async () => {
    const counted = new Map<string, Ends>();
    for (const row of await place.all(`select * from reviews where decided_ms is not null and withdrawn_at is null`))
      for (const span of SPANS_MS) endsOf(row, span, counted);
    const kept = new Map<string, Ends>();
    for (const row of await place.all('select * from review_decisions')) {
      expect(
        number(row['approved']) +
          number(row['modified']) +
          number(row['denied']) +
          number(row['expired']) +
          number(row['aborted']),
      ).toBeGreaterThan(0);
      const sum = sumAt(kept, [row['tenant'], row['span_ms'], row['start_ms'], row['decided_by']]);
      for (const name of ENDS) sum.counts[name] += number(row[name]);
      const took = typeof row['took'] === 'string' ? JSON.parse(row['took']) : row['took'];
      for (const [name, n] of Object.entries(took as Record<string, number>))
        sum.took[name] = (sum.took[name] ?? 0) + n;
    }
    expect(Object.fromEntries(kept)).toEqual(Object.fromEntries(counted));
    return counted.size;
  };
  /** What a count of the rows themselves says, and what Gate says without one. */
  const compared = async () => {
    const waiting = `status = 'pending' and withdrawn_at is null`;
    // No review of Gate waits longer than two days after its creation; one that an editor moved is not looked for as the oldest.
    const real = await place.all(`select tenant, count(*) as "count",
        min(case when created_ms > ${now - 2 * DAY_MS} then created_ms end) as oldest from reviews
      where ${waiting} and deadline_ms > ${now - DAY_MS} group by tenant order by tenant`);
    const kept = await place.all(
      'select tenant, hour, sum(waiting) as "count" from review_counts group by tenant, hour order by tenant, hour',
    );
    const counted = await place.all(`select tenant, deadline_ms / ${HOUR_MS} as hour, count(*) as "count" from reviews
      where ${waiting} group by 1, 2 order by 1, 2`);
    const numbers = (rows: Record<string, unknown>[]) =>
      rows.map(({ tenant, hour, count }) => [tenant, number(hour), number(count)]);
    expect(numbers(kept)).toEqual(numbers(counted));
    expect(await place.all('select * from review_counts where waiting <= 0')).toEqual([]);
    await decisionsCompared();
    for (const tenant of TENANTS) {
      const one = real.find((row) => row['tenant'] === tenant);
      const page = await store.summaries({ tenants: [tenant], status: 'approved', limit: 1, sort: 'newest' });
      expect(page.pending_count).toBe(number(one?.['count'] ?? 0));
      const stats = await store.stats({ tenants: [tenant], window: '1h' });
      expect(stats).toMatchObject({
        pending_count: number(one?.['count'] ?? 0),
        oldest_pending_secs: one && one['oldest'] !== null ? (now - number(one['oldest'])) / 1_000 : null,
      });
    }
    const all = real.reduce((sum, { count }) => sum + number(count), 0);
    expect(await store.backlog()).toEqual({
      pending: all,
      oldest_created_ms: all === 0 ? null : Math.min(...real.map(({ oldest }) => number(oldest))),
    });
    return all;
  };

  it('is what a count says after any walk over everything that writes rows', async () => {
    const random = seededRandom('waiting-counts');
    let made = 0;
    /** One of all, or one of the newest, which most things can still be done with. */
    const some = () => Math.max(0, made - 1 - Math.floor(random.next() * random.pick([6, Math.max(1, made)])));
    const park = (n: number) =>
      store.createOnce(
        reviewOf(n, {
          tenant: random.pick(TENANTS),
          state_namespace: random.next() < 0.2 ? 'demo' : 'operator',
          ttl_seconds: random.pick([60, 1_800, 20_000, 86_400]),
          created_at: new Date(now).toISOString(),
          attempt_ms: now,
        }),
      );
    const settle = (status: SettledReview['status']) => store.settle(settlementOf(some(), status, now));
    const edit = (values: Record<string, unknown>) => place.put('reviews', 'id', idOf(some()), values);
    const steps: (() => Promise<unknown>)[] = [
      ...Array.from({ length: 8 }, () => () => park(made++)),
      () => park(some()),
      () => settle('approved'),
      () => settle('denied'),
      () => settle('expired'),
      () => store.withdraw(correlation(some())),
      () => store.voted(idOf(some()), []),
      () => store.escalated(idOf(some()), [new Date(now).toISOString()]),
      () =>
        store.hold(
          idOf(some()),
          undefined,
          {
            operation_id: randomUUID(),
            action: random.pick(['apply', 'apply', 'release'] as const),
            hold_id: correlation(1),
            authority_reason_sha256: `sha256:${'0'.repeat(64)}`,
          },
          (tenant) => `operator:${tenant}`,
        ),
      () => store.sweep(),
      () => store.erase({ tenant: random.pick(TENANTS), namespace: 'demo' }, 'namespace_cleanup', Infinity),
      () => Promise.resolve((now += Math.floor(random.next() * 4 * HOUR_MS))),
      // Somebody who writes to the store behind Gate.
      () => edit({ status: random.pick<ReviewStatus>(['pending', 'tampered', 'approved']) }),
      () => edit({ tenant: random.pick(TENANTS) }),
      () =>
        edit({ status: random.pick(['expired', 'aborted', 'denied']), decided_ms: now, decided_by: 'operator:eve' }),
      () => edit({ decided_ms: random.pick([null, now + 90_000, now + 3 * DAY_MS]) }),
      () => edit({ decided_by: random.pick([null, 'operator:ada', 'system:reconciliation']) }),
      () => edit({ modified: random.pick([null, 1]) }),
      () => edit({ created_ms: now - Math.floor(1.5 ** (40 * random.next())) }),
      () => edit({ deadline_ms: now + Math.floor(random.next() * DAY_MS) }),
      () => edit({ withdrawn_at: random.pick([null, new Date(now).toISOString()]) }),
    ];
    let most = 0;
    const done = new Set<() => Promise<unknown>>();
    for (let step = 0; step < 600; step += 1) {
      const next = random.pick(steps);
      // What a row's state does not allow is refused, which is no failure here.
      await next().then(
        () => done.add(next),
        () => undefined,
      );
      if (step % 50 === 49) most = Math.max(most, await compared());
    }
    expect(most).toBeGreaterThan(10);
    expect(steps.filter((step) => !done.has(step)).map(String)).toEqual([]);
    await store.erase({ tenant: 'acme', waiting: true }, 'tenant_offboard', Infinity);
    await compared();
    now += 400 * DAY_MS;
    await store.sweep();
    await compared();
  }, 120_000);

  it('says of rows whose deadline is a day ago that they do not wait, to the millisecond', async () => {
    const late = 90;
    await store.createOnce(reviewOf(1, { ttl_seconds: late }));
    await store.createOnce(reviewOf(2, { ttl_seconds: late + 1 }));
    await store.createOnce(reviewOf(3, { ttl_seconds: 86_400 }));
    for (const [at, waiting] of [
      [T0, 3],
      [T0 + late * 1_000 + DAY_MS - 1, 3],
      [T0 + late * 1_000 + DAY_MS, 2],
      [T0 + (late + 1) * 1_000 + DAY_MS, 1],
      [T0 + 2 * DAY_MS, 0],
    ] as const) {
      now = at;
      expect(await compared()).toBe(waiting);
    }
  });

  it('is right after calls were parked, decided and withdrawn over several connections at once', async () => {
    // One after the other: a process whose one connection waits for its other one waits in vain.
    const others = [await open(), await open()];
    const stores = [store, ...others];
    const at = (n: number): WholeReviews => stores[n % stores.length] as WholeReviews;
    const ns = Array.from({ length: 120 }, (_, n) => n);
    await Promise.all(ns.map((n) => at(n).createOnce(reviewOf(n))));
    expect(await compared()).toBe(120);
    await Promise.all(
      ns.map((n) => {
        if (n % 4 === 0) return at(n + 1).settle(settlementOf(n, 'denied', now));
        if (n % 4 === 1) return at(n + 1).withdraw(correlation(n));
        return n % 4 === 2 ? at(n).createOnce(reviewOf(n + 1_000)) : Promise.resolve();
      }),
    );
    for (const other of others) await other.close();
    expect(await compared()).toBe(90);
  }, 60_000);

  it('a decision that is rolled back was never counted', async () => {
    for (const n of [1, 2]) await store.createOnce(reviewOf(n));
    await store.settle(settlementOf(1, 'denied', now));
    const before = await place.all('select * from review_decisions order by span_ms');
    const opened = await openStore<ReviewTables>(place.target, hilMigrations);
    const asked = opened.db.transaction().execute(async (transaction) => {
      await transaction
        .updateTable('reviews')
        .set({ status: 'approved', decided_ms: now, decided_by: 'operator:dev' })
        .execute();
      const sum = await transaction
        .selectFrom('review_decisions' as never)
        .select('approved' as never)
        .execute();
      expect(sum).toHaveLength(3);
      throw new Error('undone');
    });
    await expect(asked).rejects.toThrow('undone');
    await opened.close();
    expect(await place.all('select * from review_decisions order by span_ms')).toEqual(before);
    await compared();
  });

  it('refuses no decision because a count is gone', async () => {
    await store.createOnce(reviewOf(1));
    await place.all('delete from review_counts');
    await place.all('delete from review_decisions');
    expect(await store.settle(settlementOf(1, 'denied', now))).toMatchObject({ status: 'denied' });
    expect(await compared()).toBe(0);
  });

  it('is filled from what waits when the store is migrated, also a second time', async () => {
    for (const n of [1, 2, 3, 4]) await store.createOnce(reviewOf(n));
    await store.settle(settlementOf(1, 'denied', now));
    await store.withdraw(correlation(2));
    await store.close();
    const opened = await openStore(place.target, hilMigrations);
    for (const [table, migration] of [
      ['review_counts', '0019-counts'],
      ['review_decisions', '0024-decision-counts'],
    ] as const) {
      await opened.db.schema.dropTable(table).execute();
      for (let again = 0; again < 2; again += 1)
        await opened.db.transaction().execute(async (transaction) => hilMigrations[migration]?.up(transaction));
    }
    await opened.close();
    store = await open();
    expect(await compared()).toBe(2);
    await store.createOnce(reviewOf(5));
    expect(await compared()).toBe(3);
  });
});

it('of a store that an earlier version left is right when it is opened', async () => {
  const place = await inFolder();
  const packed = await readFile(join(PROJECT_ROOT, 'test', 'older', 'hil-2026-11-23.db.gz'));
  await writeFile((place.target as { file: string }).file, gunzipSync(packed));
  const store = await openReviewStore({ target: place.target, payloadKeys: KEYS, clock: () => T0 });
  const [waiting] = await place.all(
    `select count(*) as "count" from reviews where status = 'pending' and withdrawn_at is null`,
  );
  const page = await store.summaries({ tenants: ['acme'], status: 'pending', limit: 50, sort: 'newest' });
  expect(page.pending_count).toBe(Number(waiting?.['count']));
  expect(page.pending_count).toBeGreaterThan(0);
  await store.close();
  await place.remove();
});
