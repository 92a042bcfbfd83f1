import { describe, expect, it } from '@jest/globals';
import type { ListedReview, PendingRequest, SummariesPage } from '../../contracts/review.js';
import { GateError } from '../errors.js';
import type { ReviewChange } from './feed.js';
import type { ReviewFeed, ReviewLists, ReviewReads, SummariesQuery } from './ports.js';
import { createStandingApprovals } from './standing-approvals.js';
import { summaryOf } from './summary.js';

const given = (by: string) => ({ by, provenance: 'console-bearer', at: '2026-11-02T10:00:00.000Z' });
const row = (id: string, over: Partial<PendingRequest> = {}) =>
  ({
    id,
    tenant: 'acme',
    agent_id: 'payments-agent',
    status: 'pending',
    method: 'tools/call',
    request_payload: { params: { name: 'pay' } },
    created_at: '2026-11-02T10:00:00.000Z',
    ttl_seconds: 600,
    required_approvers: 3,
    approvals: [given('operator:ada'), given('operator:dev')],
    ...over,
  }) as unknown as PendingRequest;
const QUERY: SummariesQuery = { tenants: ['acme'], status: 'pending', limit: 50, sort: 'newest' };

/** These rows, as they are stored, and how often somebody asked who may approve. */
function shownOf(rows: readonly PendingRequest[], whoMay: (tenant: string) => readonly string[]) {
  const asked: string[] = [];
  const faults: unknown[] = [];
  const reads = { get: async (id: string) => rows.find((one) => one.id === id) ?? null } as ReviewReads;
  const lists: Pick<ReviewLists, 'list' | 'summaries'> = {
    list: async () => ({ rows: rows as readonly unknown[] as ListedReview[], next_before: null }),
    summaries: async (_query, asShown = async (some) => some) =>
      ({ items: (await asShown(rows)).map(summaryOf), next_cursor: null }) as unknown as SummariesPage,
  };
  const changes: ReviewChange[] = rows.map((one) => ({ type: 'updated', row: one }));
  const feed: ReviewFeed = {
    changes: () => ({ next: async () => ({ gap: false, changes: changes.splice(0) }) }),
    onChange: () => undefined,
  };
  const standing = createStandingApprovals({
    approversOf: async (tenant) => {
      asked.push(tenant);
      const now = whoMay(tenant);
      return () => now;
    },
    failed: (error) => void faults.push(error),
  });
  return { ...standing.over({ reads, lists: lists as ReviewLists, feed }), asked, faults };
}

describe('who may approve', () => {
  const rows = [
    row('1'),
    row('2'),
    row('3', { tenant: 'globex' }),
    row('4', { approvals: [] }),
    row('5', { status: 'approved' }),
    row('6', { tenant: 'initech', approvals: [] }),
  ];

  it('is asked once for each tenant of a list, and not of one whose rows have no approval', async () => {
    const shown = shownOf(rows, () => ['operator:dev']);
    const { items } = await shown.lists.summaries(QUERY);
    expect([shown.asked.splice(0), items.map(({ approvals_count }) => approvals_count)]).toEqual([
      ['acme', 'globex'],
      [1, 1, 1, 0, 2, 0],
    ]);
    const list = await shown.lists.list({ tenant: 'acme' });
    expect(shown.asked.splice(0)).toEqual(['acme', 'globex']);
    expect(list.rows[1]?.approvals).toEqual([{ ...given('operator:ada'), lapsed: true }, given('operator:dev')]);
    await shown.feed.changes().next();
    expect(shown.asked).toEqual(['acme', 'globex']);
  });

  it('where it cannot be looked up, takes no list away: what is stored is shown, counted and marked', async () => {
    const away = new GateError('store_unavailable');
    const shown = shownOf(rows, (tenant) => {
      if (tenant === 'acme') throw away;
      return ['operator:dev'];
    });
    const unchecked = ['operator:ada', 'operator:dev'].map((by) => ({ ...given(by), unchecked: true }));
    expect((await shown.lists.summaries(QUERY)).items.map(({ approvals_count }) => approvals_count)).toEqual([
      2, 2, 1, 0, 2, 0,
    ]);
    expect((await shown.lists.list({ tenant: 'acme' })).rows[0]?.approvals).toEqual(unchecked);
    expect((await shown.reads.get('2'))?.approvals).toEqual(unchecked);
    expect(shown.faults).toEqual([away, away, away]);
  });

  it('where it cannot be looked up for an event, loses none, and whoever follows lists anew', async () => {
    let isAway = true;
    const shown = shownOf([row('1')], () => {
      if (isAway) throw new GateError('store_unavailable');
      return ['operator:dev'];
    });
    const reader = shown.feed.changes();
    const first = await reader.next();
    isAway = false;
    expect(first).toMatchObject({ gap: true, changes: [{ type: 'updated', row: { id: '1' } }] });
    expect(await reader.next()).toEqual({ gap: false, changes: [] });
  });
});
