import { describe, expect, it } from '@jest/globals';
import { type PendingRequest, pendingSummary, type PendingSummary } from '../../../contracts/review.js';
import type { SandboxReport } from '../../../contracts/sandbox.js';
import { canonicalJson } from '../../../domain/crypto/digest.js';
import { reviewSealing, type StoredReview } from '../../../domain/review/sealed-review.js';
import { PendingRow } from './schemas.js';
import { LOOKED_AT, OPENED } from '../../../adapters/review/summaries.js';
import { fixture } from '../../../test/support/fixture.js';
import { type HilFixture, openHil, OPERATOR, OTHER_OPERATOR, T0 } from '../../../test/support/hil.js';
import { STORES } from '../../../test/support/ledger.js';

const reportOf = (severity: SandboxReport['severity'], summary = 'moves money'): SandboxReport => ({
  contract: 'gate.sandbox-report/v1',
  analyzer_version: '1',
  analyzed: true,
  operation_class: 'write',
  severity,
  reversible: 'unknown',
  summary,
  reasons: [],
  targets: ['IBAN-9999-SECRET-VALUE'],
  predicted_changes: [],
  scope: { targets: 1, wildcards: false, recursive: false },
  money: null,
});
const DAY_MS = 86_400_000;

describe.each(STORES)('GET /pending/summaries on %s', (kind) => {
  let hil: HilFixture;
  const { sharedHere } = fixture(
    async () => {
      hil = await openHil(kind);
    },
    () => hil.close(),
  );

  interface Page {
    readonly items: PendingSummary[];
    readonly next_cursor: string | null;
    readonly searched_to: string | null;
    readonly pending_count: number;
  }
  const list = async (query: Record<string, string | number> = {}, tenant = 'acme'): Promise<Page> => {
    const asked = new URLSearchParams(
      Object.entries(query).map(([name, value]) => [name, String(value)] as [string, string]),
    );
    const { status, text, body } = await hil.ask(`/pending/summaries?${asked.toString()}`, { tenant });
    expect([status, text]).toEqual([200, text]);
    return body as unknown as Page;
  };
  const numbers = ({ items }: Page) => items.map(({ correlation_id }) => Number(correlation_id.slice(-12)));

  it('shows a row in short, without anything of its payload', async () => {
    const row = await hil.park(1, { projected_cost_micros: 1_200 });
    const page = await hil.ask('/pending/summaries');
    expect(page.body).toEqual({
      items: [
        {
          id: row.id,
          correlation_id: row.correlation_id,
          agent_id: 'payments-agent',
          rehearsal: false,
          method: 'tools/call',
          tool: 'wire_transfer',
          risk_summary: 'money movement',
          status: 'pending',
          created_at: '2026-11-02T10:00:01.000Z',
          ttl_seconds: 600,
          expires_at: '2026-11-02T10:10:01.000Z',
          approval_tier: 'standard',
          required_approvers: 1,
          approvals_count: 0,
          assigned_to: null,
          escalation_pool: null,
          escalated_at: null,
          severity: null,
          operation_class: null,
          predicted: null,
          projected_cost_micros: 1_200,
          decided_at: null,
          decided_by: null,
          decided_via: null,
          tenant: 'acme',
          state_namespace: 'operator',
        },
      ],
      next_cursor: null,
      searched_to: null,
      pending_count: 1,
    });
    expect(page.text).not.toContain('SECRET');
  });

  it('decrypts no payload: rows whose payload is gone are listed as before', async () => {
    await hil.park(1);
    const before = await list();
    await hil.place.sql(`update reviews set payload = null returning id`);
    expect(await list()).toEqual(before);
  });

  it.each(['newest', 'oldest'] as const)('gives every row once, page by page, %s first', async (sort) => {
    for (let n = 1; n <= 7; n += 1) await hil.park(n, n > 4 ? { created_at: new Date(T0).toISOString() } : {});
    const whole = numbers(await list({ sort, limit: 200 }));
    expect(whole.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    const seen: number[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: Page = await list({ sort, limit: 2, ...(cursor && { cursor }) });
      expect(page.pending_count).toBe(7);
      seen.push(...numbers(page));
      cursor = page.next_cursor;
    }
    expect(seen).toEqual(whole);
  });

  it('lists by status; a row that was withdrawn is in no list', async () => {
    const [approved, denied, expired, withdrawn] = [
      await hil.park(1),
      await hil.park(2),
      await hil.park(3),
      await hil.park(4),
    ];
    for (const n of [5, 6]) await hil.park(n);
    await hil.settle(approved);
    await hil.settle(denied, { status: 'denied' });
    await hil.settle(expired, { status: 'expired', by: 'system:ttl-sweep' });
    await hil.reviews.withdraw(withdrawn.correlation_id);
    for (const [status, expected] of Object.entries({ pending: [6, 5], approved: [1], denied: [2], expired: [3] })) {
      const page = await list({ status });
      expect([status, numbers(page), page.pending_count]).toEqual([status, expected, 2]);
    }
    expect((await list({ status: 'denied' })).items).toMatchObject([
      { decided_by: 'operator:dev', decided_via: 'console', decided_at: '2026-11-02T10:00:00.000Z' },
    ]);
  });

  it('a call that Gate closed while it waited is aborted, everywhere, and none that expired', async () => {
    for (const [n, by] of [
      [1, 'system:reconciliation'],
      [2, 'system:tamper-check'],
    ] as const)
      await hil.settle(await hil.park(n), { status: 'aborted', by });
    const expired = await hil.park(3);
    await hil.settle(expired, { status: 'expired', by: 'system:ttl-sweep' });
    expect((await list({ status: 'aborted' })).items).toMatchObject([
      { status: 'aborted', decided_by: 'system:tamper-check' },
      { status: 'aborted', decided_by: 'system:reconciliation' },
    ]);
    expect(numbers(await list({ status: 'expired' }))).toEqual([3]);
    const whole = async (status: string) =>
      ((await hil.ask(`/pending?status=${status}`)).body as unknown as { readonly status: string }[]).map(
        (row) => row.status,
      );
    expect([await whole('aborted'), await whole('expired')]).toEqual([['aborted', 'aborted'], ['expired']]);
    expect((await hil.ask('/approvals/stats')).body).toMatchObject({ aborted: 2, expired: 1, total_decided: 0 });
  });

  it('a call that its agent took back is withdrawn, everywhere, and stored as the denial that was signed', async () => {
    const [taken, denied, other] = [await hil.park(1), await hil.park(2), await hil.park(3)];
    await hil.settle(taken, { status: 'denied', by: 'system:withdrawn-by-agent' });
    await hil.settle(denied, { status: 'denied' });
    await hil.settle(other, { status: 'denied', by: 'system:tenant-offboard' });
    expect((await list({ status: 'withdrawn' })).items).toMatchObject([
      { id: taken.id, status: 'withdrawn', decided_by: 'system:withdrawn-by-agent' },
    ]);
    expect(numbers(await list({ status: 'denied' }))).toEqual([3, 2]);
    const whole = async (status: string) =>
      ((await hil.ask(`/pending?status=${status}`)).body as unknown as { readonly id: string }[]).map(({ id }) => id);
    expect(await whole('withdrawn')).toEqual([taken.id]);
    expect(await whole('decided')).toEqual([other.id, denied.id]);
    expect(await hil.reviews.get(taken.id)).toMatchObject({ status: 'withdrawn' });
    expect(await hil.place.sql(`select status from reviews where id = '${taken.id}'`)).toEqual([{ status: 'denied' }]);
    // The call's workflow says the same again.
    await hil.settle(taken, { status: 'denied', by: 'system:withdrawn-by-agent' });
    expect((await hil.ask('/approvals/stats')).body).toMatchObject({ withdrawn: 1, denied: 2, total_decided: 2 });
  });

  it('a row of an earlier Gate says so too, which stored it as expired, and stays as it was written', async () => {
    const rows = [];
    for (let n = 1; n <= 4; n += 1) rows.push(await hil.park(n));
    for (const [at, row] of rows.entries()) {
      const by = at % 2 === 0 ? 'system:reconciliation' : 'system:ttl-sweep';
      await storedByAnEarlierGate(hil, row.id, by);
    }
    await hil.settle(await hil.park(5), { status: 'aborted', by: 'system:reconciliation' });
    expect(numbers(await list({ status: 'aborted' }))).toEqual([5, 3, 1]);
    expect(numbers(await list({ status: 'expired' }))).toEqual([4, 2]);
    const first = await list({ status: 'aborted', limit: 1 });
    expect(numbers(await list({ status: 'aborted', limit: 1, cursor: first.next_cursor ?? '' }))).toEqual([3]);
    expect((await hil.ask('/pending?status=aborted&sort=oldest')).body).toMatchObject([
      { id: rows[0]?.id, status: 'aborted' },
      { id: rows[2]?.id, status: 'aborted' },
      { status: 'aborted' },
    ]);
    expect((await hil.ask('/approvals/stats')).body).toMatchObject({ aborted: 3, expired: 2 });
    // The worker says of it what it said before, and now in the word of this Gate: it is the same.
    for (const status of ['expired', 'aborted'] as const)
      await hil.settle(rows[0] as PendingRequest, { status, by: 'system:reconciliation', at: T0 });
    expect(await hil.reviews.get(rows[0]?.id ?? '')).toMatchObject({ status: 'aborted' });
    expect(await hil.place.sql(`select status from reviews where id = '${rows[0]?.id}'`)).toEqual([
      { status: 'expired' },
    ]);
  });

  it('a worker of an earlier Gate says that a call expired that it closed: the row says what it was', async () => {
    const row = await hil.park(1);
    await hil.settle(row, { status: 'expired', by: 'system:reconciliation' });
    expect(await hil.place.sql('select status from reviews')).toEqual([{ status: 'aborted' }]);
    expect(await hil.reviews.get(row.id)).toMatchObject({ status: 'aborted' });
  });

  it('rows of every kind have the form of the schema, which nothing checks once more on their way out', async () => {
    const row = await hil.park(1, {
      sandbox_report: reportOf('risky'),
      approval_tier: 'strict',
      brain_scores: { drift: 0 },
    });
    await hil.reviews.voted(row.id, [
      { by: 'operator:ada', provenance: 'console-bearer', at: new Date(T0).toISOString() },
    ]);
    await hil.reviews.note(row.id, 'acme', () => ({ assigned_to: 'ada' }));
    await hil.settle(await hil.park(2), {
      modification: {
        diff: { contract: 'gate.hil.modification-diff/v1', replacements: [{ path: ['amount'], value: 1 }] },
        reviewed_digest: `sha256:${'0'.repeat(64)}`,
      },
    });
    await hil.settle(await hil.park(3), { status: 'denied' });
    await hil.settle(await hil.park(4), { status: 'aborted', by: 'system:reconciliation' });
    await hil.settle(await hil.park(5), { status: 'expired', by: 'system:ttl-sweep' });
    await hil.place.sql(`update reviews set risk_summary = 'x' where id = '${(await hil.park(6)).id}' returning id`);
    const whole = (await hil.ask('/pending?status=all')).body as unknown as { readonly status: string }[];
    expect(whole.map(({ status }) => status).toSorted()).toEqual([
      'aborted',
      'approved',
      'denied',
      'expired',
      'pending',
      'tampered',
    ]);
    for (const each of whole) expect(PendingRow.strip().parse(each)).toMatchObject({ status: each.status });
    const one = (await hil.ask(`/pending?id=${row.id}`)).body as unknown as unknown[];
    expect(PendingRow.strip().array().parse(one)).toHaveLength(1);
    for (const status of ['pending', 'approved', 'denied', 'expired', 'aborted'])
      for (const item of (await list({ status })).items) expect(pendingSummary.parse(item)).toEqual(item);
  });

  it('a row whose call was never closed is among the expired ones, a day after its deadline', async () => {
    await hil.park(1);
    hil.now = T0 + 601_000 + DAY_MS;
    expect(numbers(await list())).toEqual([]);
    expect((await list()).pending_count).toBe(0);
    expect((await list({ status: 'expired' })).items).toMatchObject([
      { status: 'expired', decided_by: 'system:ttl-sweep' },
    ]);
  });

  it('a row that stands as tampered is listed with those that wait for as long as a call could, by both lists', async () => {
    await hil.park(1);
    await hil.place.sql("update reviews set status = 'tampered' returning id");
    const both = async () => [
      (await list()).items.length,
      ((await hil.ask('/pending')).body as unknown as unknown[]).length,
    ];
    expect(await both()).toEqual([1, 1]);
    hil.now = T0 + 601_000 + DAY_MS;
    expect(await both()).toEqual([0, 0]);
    expect((await hil.ask('/pending?status=tampered')).body).toHaveLength(1);
  });

  it('a row that Gate did not write is listed with those that wait, and found by nothing that somebody wrote into it', async () => {
    await hil.park(1);
    await hil.place.sql(`update reviews set risk_summary = 'harmless' returning id`);
    expect((await list()).items).toMatchObject([
      { status: 'tampered', risk_summary: expect.stringContaining('not what Gate wrote') },
    ]);
    expect((await list({ q: 'harmless' })).items).toEqual([]);
  });

  it.each([
    ['the agent', 'MENTS-AG', [1]],
    ['the method', 'custom', [2]],
    ['the tool', 'archive_', [3]],
    ['the summary of the risk, in any case of any script', 'äRger', [3]],
    ['no pattern but a text', '%', []],
    ['nothing', 'nothing', []],
    ['an argument', 'kept_for', []],
  ])('q finds a part of %s', async (_what, q, expected) => {
    await hil.park(1);
    await hil.park(2, { agent_id: 'b', method: 'custom/method' });
    await hil.park(3, {
      agent_id: 'b',
      risk_summary: 'großer Ärger',
      request_payload: { method: 'tools/call', params: { name: 'Archive_mail', arguments: { kept_for: 1 } } },
    });
    const page = await list({ q });
    expect([numbers(page), page.next_cursor, page.pending_count]).toEqual([expected, null, 3]);
  });

  it('shows what the sandbox predicts and finds it, as long as the payload is kept', async () => {
    const row = await hil.park(1, { sandbox_report: reportOf('risky', 'move 5 EUR to `Vendor`') });
    await hil.park(2, { sandbox_report: reportOf('risky', 'move 6 EUR to `other`') });
    expect((await list({ q: 'to `vendor' })).items).toMatchObject([
      { id: row.id, predicted: 'move 5 EUR to `Vendor`' },
    ]);
    await hil.settle(row, { status: 'denied' });
    expect(numbers(await list({ q: 'vendor', status: 'denied' }))).toEqual([1]);
    hil.now += 3_650 * DAY_MS;
    expect(await list({ q: 'vendor', status: 'denied' })).toMatchObject({ items: [] });
    expect((await list({ status: 'denied' })).items).toMatchObject([{ predicted: null, severity: 'risky' }]);
  });

  it('neither shows nor finds a prediction that somebody put into another row', async () => {
    const one = await hil.park(1, { sandbox_report: reportOf('risky', 'move 5 EUR to `vendor`') });
    const two = await hil.park(2, { sandbox_report: reportOf('risky', 'move 6 EUR to `other`') });
    await hil.place.sql(
      'update reviews set sandbox_report = (select sandbox_report from reviews where id = ?) where id = ? returning id',
      [one.id, two.id],
    );
    expect(numbers(await list({ q: 'vendor' }))).toEqual([1]);
    expect((await list()).items.find(({ id }) => id === two.id)).toMatchObject({ predicted: null, severity: 'risky' });
  });

  it('q finds a row by the beginning of its id, or of its call’s, of 8 digits or more', async () => {
    const row = await hil.park(1);
    const other = await hil.park(2);
    const theirs = await hil.park(3, { tenant: 'globex' });
    const call = 'abcdef01-2345-4789-8abc-def012345678';
    const named = await hil.park(4, { correlation_id: call });
    const found = async (q: string, status = 'pending') => (await list({ q, status })).items.map(({ id }) => id);
    for (const length of [8, 9, 13, 20, 36]) expect(await found(row.id.slice(0, length))).toEqual([row.id]);
    expect(await found(` ${other.id.slice(0, 8).toUpperCase()} `)).toEqual([other.id]);
    expect(await found(call.slice(0, 8))).toEqual([named.id]);
    for (const none of [row.id.slice(0, 7), row.id.slice(1, 10), theirs.id.slice(0, 8), `${row.id}0`])
      expect([none, await found(none)]).toEqual([none, []]);
    expect(await found(row.id.slice(0, 8), 'denied')).toEqual([]);
  });

  it('risk_tier is the severity that the sandbox predicts, or that it gave no report', async () => {
    await hil.park(1, { sandbox_report: reportOf('safe') });
    await hil.park(2, { sandbox_report: reportOf('destructive') });
    await hil.park(3, { agent_id: 'b' });
    await hil.park(4, { sandbox_report: reportOf('destructive'), agent_id: 'b' });
    const tiers = async (query: Record<string, string>) => numbers(await list(query));
    expect(await tiers({ risk_tier: 'destructive' })).toEqual([4, 2]);
    expect(await tiers({ risk_tier: 'destructive', q: 'payments' })).toEqual([2]);
    expect(await tiers({ risk_tier: 'safe' })).toEqual([1]);
    expect(await tiers({ risk_tier: 'risky' })).toEqual([]);
    expect(await tiers({ risk_tier: 'unscored' })).toEqual([3]);
    expect((await list({ risk_tier: 'safe' })).items).toMatchObject([{ severity: 'safe', operation_class: 'write' }]);
    expect((await list()).items).toHaveLength(4);
  });

  it('what somebody wrote into a row in place of its annotations is in no tier, and hides no row of one', async () => {
    const row = await hil.park(1, { sandbox_report: reportOf('safe') });
    await hil.park(2, { sandbox_report: reportOf('safe') });
    await hil.place.sql(`update reviews set annotations = '{"no":"json' where id = ? returning id`, [row.id]);
    expect(numbers(await list({ risk_tier: 'safe' }))).toEqual([2]);
    expect((await list()).items).toMatchObject([{ status: 'pending' }, { status: 'tampered' }]);
  });

  /** Stores so many newer rows of another agent beside a row; their reports, like all that is sealed, open by its id alone. */
  const beside = async (row: { readonly id: string }, count: number) => {
    const { place } = hil;
    const columns = Object.keys((await place.sql('select * from reviews'))[0] ?? {});
    const copied = columns.map((column) =>
      ['id', 'correlation_id'].includes(column)
        ? `${kind === 'sqlite' ? `printf('%08x', i)` : `lpad(to_hex(i), 8, '0')`} || substr(${column}, 9)`
        : column === 'created_ms'
          ? 'created_ms + i'
          : column === 'agent_id'
            ? `'other'`
            : column,
    );
    const series =
      kind === 'sqlite'
        ? `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})`
        : `with n(i) as (select generate_series(1, ${count}))`;
    await place.sql(
      `${series} insert into reviews (${columns.join(', ')}) select ${copied.join(', ')} from n, reviews where id = ? returning id`,
      [row.id],
    );
  };

  it('a page looks at a bounded number of rows and says how far, and the next one goes on behind them', async () => {
    const row = await hil.park(0, { agent_id: 'rare' });
    await beside(row, LOOKED_AT + 200);
    const first = await list({ q: 'rare' });
    const lookedAt = new Date(Date.parse(row.created_at) + 201).toISOString();
    expect([first.items, first.next_cursor, first.searched_to]).toEqual([[], expect.any(String), lookedAt]);
    const second = await list({ q: 'rare', cursor: first.next_cursor ?? '' });
    expect([second.items.map(({ id }) => id), second.next_cursor, second.searched_to]).toEqual([[row.id], null, null]);
  }, 60_000);

  it('a page that has opened so many predictions in vain ends, and says so', async () => {
    const row = await hil.park(0, { sandbox_report: reportOf('risky', 'move 5 EUR to `vendor`') });
    await beside(row, OPENED + 20);
    const first = await list({ q: 'vendor' });
    const lookedAt = new Date(Date.parse(row.created_at) + 21).toISOString();
    expect([first.items, first.searched_to]).toEqual([[], lookedAt]);
    const second = await list({ q: 'vendor', cursor: first.next_cursor ?? '' });
    expect([second.items.map(({ id }) => id), second.next_cursor, second.searched_to]).toEqual([[row.id], null, null]);
    // What costs nothing to look at is looked at in one page.
    expect((await list({ risk_tier: 'unscored' })).next_cursor).toBeNull();
  }, 60_000);

  it('goes on past rows that have no prediction, which cost nothing, and ends at the first one too many', async () => {
    const wanted = await hil.park(0, { sandbox_report: reportOf('risky', 'move 5 EUR to `vendor`') });
    const unscored = await hil.park(1);
    await beside(unscored, OPENED * 2);
    const newest = await hil.park(2_000, { sandbox_report: reportOf('risky', 'move 5 EUR to `tax`') });
    const all = await list({ q: 'vendor' });
    expect([all.items.map(({ id }) => id), all.next_cursor]).toEqual([[wanted.id], null]);
    await beside(newest, OPENED - 1);
    const first = await list({ q: 'vendor' });
    expect([first.items, first.searched_to]).toEqual([[], newest.created_at]);
    const second = await list({ q: 'vendor', cursor: first.next_cursor ?? '' });
    expect([second.items.map(({ id }) => id), second.next_cursor]).toEqual([[wanted.id], null]);
  }, 60_000);

  describe('a cursor', () => {
    const first = async (query: Record<string, string | number> = {}) => {
      for (let n = 1; n <= 3; n += 1) {
        await hil.park(n);
        await hil.park(n + 10, { tenant: 'globex' });
      }
      return (await list({ limit: 1, ...query })).next_cursor ?? '';
    };
    const refused = async (query: Record<string, string>, tenant = 'acme') => {
      const answer = await hil.ask(`/pending/summaries?${new URLSearchParams(query).toString()}`, { tenant });
      expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_cursor' } });
    };

    it('belongs to its tenant', async () => {
      const cursor = await first();
      await refused({ cursor }, 'globex');
    });

    it.each([{ status: 'denied' }, { q: 'money' }, { sort: 'oldest' }, { risk_tier: 'unscored' }])(
      'belongs to its list, not to %j',
      async (other) => {
        const cursor = await first();
        await refused({ cursor, ...(other as Record<string, string>) });
      },
    );

    it('goes on with another limit', async () => {
      const cursor = await first();
      expect(numbers(await list({ cursor, limit: 2 }))).toEqual([2, 1]);
    });

    it('that somebody changed or made up is refused, and so is a text that is no place in the list', async () => {
      const cursor = await first();
      const [created, id, tag] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as [number, string, string];
      const made = (...parts: unknown[]) => Buffer.from(JSON.stringify(parts)).toString('base64url');
      for (const other of [
        made(created - 1, id, tag),
        made(created, '00000000-0000-4000-8000-000000000000', tag),
        made(created, id, `${tag.slice(0, -1)}${tag.endsWith('0') ? '1' : '0'}`),
        made(created, id, `gone:${'0'.repeat(64)}`),
        made(created, id),
        'x',
        '%00',
      ])
        await refused({ cursor: other });
    });
  });

  it('shows and counts the rows of the caller’s tenant only', async () => {
    const own = await hil.park(1);
    await hil.park(2, { tenant: 'globex' });
    for (const asked of [
      { tenant: 'acme' },
      { tenant: null, token: OPERATOR },
      { as: 'proxy', tenant: 'acme' },
      { as: 'simulator', tenant: null },
    ])
      expect((await hil.ask('/pending/summaries', asked)).body).toMatchObject({
        items: [{ id: own.id }],
        pending_count: 1,
      });
  });

  describe('asked in a wrong way', () => {
    sharedHere();

    it.each([
      { limit: '0' },
      { limit: '201' },
      { status: 'tampered' },
      { sort: 'random' },
      { risk_tier: 'high' },
      { q: '' },
      { q: 'x'.repeat(257) },
      { cursor: 'x'.repeat(513) },
      { colour: 'blue' },
    ])('answers 400 to %j', async (query) => {
      const answer = await hil.ask(
        `/pending/summaries?${new URLSearchParams(query as Record<string, string>).toString()}`,
      );
      expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
    });

    it.each([
      ['a caller that is not on the list', { as: 'brain' }, 403, 'capability_denied'],
      ['a caller without a certificate', { as: null }, 401, 'caller_spiffe_missing'],
      ['a console that names no tenant', { tenant: null }, 400, 'tenant_scope_required'],
      ['a simulator that names one', { as: 'simulator' }, 400, 'invalid_request'],
      ['a token of another tenant', { token: OTHER_OPERATOR }, 401, 'unauthenticated'],
      ['a token that nobody has', { token: 'x'.repeat(36) }, 401, 'unauthenticated'],
    ] as const)('%s is refused before the query is looked at', async (_who, asked, status, error) => {
      expect(await hil.ask('/pending/summaries?limit=0', asked)).toMatchObject({ status, body: { error } });
    });
  });
});

/** As an earlier Gate left the row of a call that nobody decided, with its own MAC. */
async function storedByAnEarlierGate({ place }: HilFixture, id: string, by: string): Promise<void> {
  const sealing = reviewSealing(place.keys);
  const [row] = (await place.sql(`select * from reviews where id = '${id}'`)) as unknown as StoredReview[];
  if (!row) throw new Error('there is no such row');
  const decided_at = new Date(T0).toISOString();
  const settled = canonicalJson({
    pending_id: id,
    status: 'expired',
    decided_at,
    decided_by: by,
    decision_reason: null,
    decided_via: by,
    principal: null,
  });
  const { version, mac } = sealing.changed(row, { status: 'expired', settled });
  await place.sql(`update reviews set status = 'expired', settled = '${settled}', decided_ms = ${T0}, decided_by = '${by}',
    version = ${version}, mac = '${mac}' where id = '${id}' returning id`);
}
