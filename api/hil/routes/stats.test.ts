import { describe, expect, it } from '@jest/globals';
import { fixture } from '../../../test/support/fixture.js';
import { type HilFixture, openHil, OPERATOR, OTHER_OPERATOR, T0 } from '../../../test/support/hil.js';
import { STORES } from '../../../test/support/ledger.js';
import { openReviewStore } from '../../../test/support/whole-reviews.js';

const DIFF = {
  contract: 'gate.hil.modification-diff/v1' as const,
  replacements: [{ path: ['amount'], value: 1 }],
};
const HOUR_MS = 3_600_000;
/** What an answer says of its times. */
const WITHIN = 0.025;
const about = (exact: number) => ({
  $$typeof: Symbol.for('jest.asymmetricMatcher'),
  asymmetricMatch: (told: unknown) => typeof told === 'number' && Math.abs(told - exact) <= exact * WITHIN,
  toString: () => `about ${exact}`,
  toAsymmetricMatcher: () => `about ${exact}`,
});

describe.each(STORES)('GET /approvals/stats on %s', (kind) => {
  let hil: HilFixture;
  const { sharedHere } = fixture(
    async () => {
      hil = await openHil(kind);
      hil.now = T0 + HOUR_MS;
    },
    () => hil.close(),
  );

  const stats = async (window = '24h', tenant = 'acme') => {
    const { status, text, body } = await hil.ask(`/approvals/stats?window=${window}`, { tenant });
    expect([status, text]).toEqual([200, text]);
    return body;
  };
  type Settled = NonNullable<Parameters<HilFixture['settle']>[1]>;
  let parked = 0;
  /** A row that was settled so many seconds after it was created. */
  const decided = async (
    secs: number,
    { tenant = 'acme', created_at = T0, ...over }: Settled & { tenant?: string; created_at?: number } = {},
  ) => {
    const row = await hil.park((parked += 1), { tenant, created_at: new Date(created_at).toISOString() });
    await hil.settle(row, { at: T0 + secs * 1_000, ...over });
    return row;
  };

  it('of nothing has no rates and no times, and no zero in their place', async () => {
    expect(await stats()).toEqual({
      window: '24h',
      pending_count: 0,
      oldest_pending_secs: null,
      total_decided: 0,
      approved: 0,
      modified: 0,
      denied: 0,
      modified_then_denied: 0,
      expired: 0,
      aborted: 0,
      withdrawn: 0,
      deny_rate: null,
      median_time_to_decide_secs: null,
      p95_time_to_decide_secs: null,
      times_within: WITHIN,
      by_approver: [],
    });
  });

  it('counts what waits and what was decided; what expired is apart from what was denied', async () => {
    await hil.park(1_001, { created_at: new Date(T0 + 10_000).toISOString() });
    await hil.park(1_002);
    for (let secs = 1; secs <= 3; secs += 1) await decided(secs);
    await decided(4, { status: 'denied' });
    await decided(600, { status: 'expired', by: 'system:ttl-sweep' });
    await decided(5, { status: 'denied', by: 'system:withdrawn-by-agent' });
    await hil.reviews.withdraw((await hil.park(1_003)).correlation_id);
    expect(await stats()).toMatchObject({
      withdrawn: 1,
      pending_count: 2,
      oldest_pending_secs: 3_590,
      total_decided: 4,
      approved: 3,
      denied: 1,
      expired: 1,
      deny_rate: 0.25,
    });
  });

  it('a row whose call was never closed counts as expired at its deadline, and does not wait', async () => {
    await hil.park(1);
    hil.now = T0 + 25 * HOUR_MS + 700_000;
    expect(await stats('7d')).toMatchObject({ pending_count: 0, oldest_pending_secs: null, expired: 1 });
    expect(await stats('24h')).toMatchObject({ expired: 0 });
  });

  it.each([
    [[7], 7, 7],
    [[1, 2], 1, 2],
    [[3, 1, 2], 2, 3],
    [Array.from({ length: 20 }, (_, index) => index + 1), 10, 19],
    [Array.from({ length: 21 }, (_, index) => index + 1), 11, 20],
  ])('times are nearest-rank percentiles: of %j the median is %d and the 95th %d', async (all, median, p95) => {
    for (const secs of all) await decided(secs);
    expect(await stats()).toMatchObject({
      median_time_to_decide_secs: about(median),
      p95_time_to_decide_secs: about(p95),
    });
  });

  it('each time is within its share of the exact one, from milliseconds to days', async () => {
    const all = Array.from({ length: 64 }, (_, n) => Math.round(1.37 ** n)).filter((ms) => ms < 7 * 24 * HOUR_MS);
    const by = (n: number) => `operator:p${n}`;
    hil.now = T0 + 7 * 24 * HOUR_MS;
    for (const [n, ms] of all.entries())
      await decided(ms / 1_000, { by: by(n), at: T0 + 6 * 24 * HOUR_MS + ms, created_at: T0 + 6 * 24 * HOUR_MS });
    const told = (await stats('7d'))['by_approver'] as { readonly decided_by: string; readonly median_secs: number }[];
    expect(told).toHaveLength(all.length);
    for (const { decided_by, median_secs } of told)
      expect([decided_by, median_secs]).toEqual([decided_by, about((all[Number(decided_by.slice(10))] ?? 0) / 1_000)]);
  });

  it('times are of people: what Gate decided by itself counts, and took no time of anybody', async () => {
    await decided(60);
    await decided(0, { by: 'system:policy-tier' });
    await decided(599, { by: 'system:tenant-offboard', status: 'denied' });
    expect(await stats()).toMatchObject({
      total_decided: 3,
      median_time_to_decide_secs: about(60),
      p95_time_to_decide_secs: about(60),
      by_approver: [{ decided_by: 'operator:dev', count: 1, deny_rate: 0, median_secs: about(60) }],
    });
  });

  const did = (approved: number, denied: number, modified = 0, modified_then_denied = 0) => ({
    approved,
    denied,
    modified,
    modified_then_denied,
  });

  it('a change that policy denied is no denial by whoever changed the call', async () => {
    const modification = { diff: DIFF, reviewed_digest: `sha256:${'0'.repeat(64)}` };
    await decided(1, { modification, status: 'denied' });
    await decided(2, { modification });
    await decided(3);
    await decided(4, { status: 'denied', by: 'operator:ada' });
    expect(await stats()).toMatchObject({ approved: 1, modified: 1, denied: 2, modified_then_denied: 1 });
    expect((await stats())['by_approver']).toEqual([
      { decided_by: 'operator:dev', count: 3, ...did(1, 0, 2, 1), deny_rate: 0, median_secs: about(2) },
      { decided_by: 'operator:ada', count: 1, ...did(0, 1), deny_rate: 1, median_secs: about(4) },
    ]);
  });

  it('tells approvers apart, who decided most first', async () => {
    for (const secs of [10, 30, 20])
      await decided(secs, { by: 'operator:ada', status: secs === 10 ? 'denied' : 'approved' });
    await decided(1.5, { by: 'operator:zoe' });
    await decided(5, { by: 'operator:bob', status: 'denied' });
    expect((await stats())['by_approver']).toEqual([
      { decided_by: 'operator:ada', count: 3, ...did(2, 1), deny_rate: 1 / 3, median_secs: about(20) },
      { decided_by: 'operator:bob', count: 1, ...did(0, 1), deny_rate: 1, median_secs: about(5) },
      { decided_by: 'operator:zoe', count: 1, ...did(1, 0), deny_rate: 0, median_secs: about(1.5) },
    ]);
  });

  it('names at most a hundred of them', async () => {
    for (let n = 0; n < 101; n += 1) await decided(1, { by: `operator:${String(n).padStart(3, '0')}` });
    const { total_decided, by_approver } = await stats();
    expect([total_decided, (by_approver as unknown[]).length]).toEqual([101, 100]);
  }, 60_000);

  it('an approval of other arguments is no approval of the call as it was, and a decision like it', async () => {
    await decided(1);
    await decided(2, { modification: { diff: DIFF, reviewed_digest: `sha256:${'0'.repeat(64)}` } });
    await decided(3, { status: 'denied' });
    expect(await stats()).toMatchObject({ total_decided: 3, approved: 1, modified: 1, denied: 1, deny_rate: 1 / 3 });
    expect(await stats()).toMatchObject({ median_time_to_decide_secs: about(2), by_approver: [{ count: 3 }] });
  });

  it('counts what an earlier version decided', async () => {
    await decided(10.25);
    await decided(30, { by: 'operator:ada', status: 'denied' });
    await decided(40, { modification: { diff: DIFF, reviewed_digest: `sha256:${'0'.repeat(64)}` } });
    await decided(600, { by: 'system:ttl-sweep', status: 'expired' });
    await hil.park(9_000);
    const before = await stats();
    await hil.place.sql('update reviews set decided_ms = null, decided_by = null, modified = null returning id');
    // In clear, as that version wrote it.
    await hil.place.sql(
      `update reviews set settled = replace(settled, '"modification":{', '"modification":{"diff":{},') returning id`,
    );
    expect(await stats()).toMatchObject({ total_decided: 0 });
    await hil.place.sql(`delete from kysely_migration where name in ('0006-decided', '0009-modified') returning name`);
    await (await openReviewStore({ target: hil.place.target, payloadKeys: hil.place.keys })).close();
    expect(await stats()).toEqual(before);
    expect(before).toMatchObject({ total_decided: 3, modified: 1, expired: 1, median_time_to_decide_secs: about(30) });
  });

  it('a decision before its question, as after a clock was set back, took no time', async () => {
    await decided(-5);
    expect(await stats()).toMatchObject({ median_time_to_decide_secs: 0 });
  });

  it.each([
    ['1h', 1],
    ['6h', 2],
    ['24h', 3],
    ['7d', 4],
  ])('a window of %s ends now', async (window, total_decided) => {
    hil.now = T0 + 10 * 24 * HOUR_MS;
    for (const hours of [0.5, 1, 6, 24, 7 * 24]) await decided(0, { at: hil.now - hours * HOUR_MS });
    expect(await stats(window)).toMatchObject({ window, total_decided });
  });

  it('is of the caller’s tenant alone', async () => {
    await decided(1);
    await decided(2, { tenant: 'globex', status: 'denied', by: 'operator:glx' });
    await hil.park(2_000, { tenant: 'globex' });
    for (const asked of [
      { tenant: 'acme' },
      { tenant: null, token: OPERATOR },
      { as: 'proxy' },
      { as: 'simulator', tenant: null },
    ])
      expect((await hil.ask('/approvals/stats', asked)).body).toMatchObject({
        window: '24h',
        pending_count: 0,
        approved: 1,
        denied: 0,
        by_approver: [{ decided_by: 'operator:dev' }],
      });
    expect(await stats('24h', 'globex')).toMatchObject({ pending_count: 1, approved: 0, denied: 1 });
  });

  describe('asked in a wrong way', () => {
    sharedHere();

    it.each(['window=2h', 'window=', 'window=1H', 'since=1h'])('answers 400 to ?%s', async (query) => {
      expect(await hil.ask(`/approvals/stats?${query}`)).toMatchObject({
        status: 400,
        body: { error: 'invalid_request' },
      });
    });

    it.each([
      ['a caller that is not on the list', { as: 'ledger' }, 403, 'capability_denied'],
      ['a caller without a certificate', { as: null }, 401, 'caller_spiffe_missing'],
      ['a console that names no tenant', { tenant: null }, 400, 'tenant_scope_required'],
      ['a simulator that names one', { as: 'simulator' }, 400, 'invalid_request'],
      ['a token of another tenant', { token: OTHER_OPERATOR }, 401, 'unauthenticated'],
    ] as const)('%s is refused before the query is looked at', async (_who, asked, status, error) => {
      expect(await hil.ask('/approvals/stats?window=no', asked)).toMatchObject({ status, body: { error } });
    });
  });
});
