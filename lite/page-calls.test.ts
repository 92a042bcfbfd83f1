import { describe, expect, it } from '@jest/globals';
import type { LedgerEntry } from '../contracts/ledger.js';
import type { PendingRequest } from '../contracts/review.js';
import { callsOf, lateText, mainPage, waitingCalls } from './page-calls.js';

describe('what the page says of a decision that was not taken', () => {
  const words = (code: string) => lateText(code, null, 0) ?? '';

  it('about a call whose record is not what Gate wrote: that, and no word of having come too late', () => {
    expect(words('call_tampered')).toBe(
      'Not taken: the stored record of this call is not what Gate wrote, so Gate closed it. Nothing more is executed under its id. Its ledger rows say what happened before; look at who can write to the call store.',
    );
    expect(words('call_tampered')).not.toMatch(/late|deadline|expired/i);
  });

  it('about a call whose deadline passed: that it came too late', () => {
    expect(words('pending_expired')).toMatch(/^Too late: this call expired/);
  });
});

describe('the newest verdicts of the page', () => {
  const shown = (reasoning: string) =>
    mainPage({
      waiting: { rows: [], cards: [], next: null },
      calls: callsOf([
        {
          event_kind: 'proxy.verdict',
          agent_id: 'support-bot',
          tool_type: 'wire_transfer',
          timestamp: '2026-01-01T00:00:00.000Z',
          reasoning,
          policy_decision: { outcome: 'deny' },
        } as unknown as LedgerEntry,
      ]),
      csrf: '',
      openAgents: false,
      chain: null,
      said: '',
      since: '',
      nowMs: 0,
    });

  it('a long reason is cut, and says so', () => {
    expect(shown(`${'because '.repeat(20)}of the limit`)).toContain(`${'because '.repeat(20).trimEnd()}…</p>`);
  });

  it('a short one stands whole', () => {
    expect(shown('over the limit')).toContain('>over the limit</p>');
  });
});

describe('the waiting calls of a page', () => {
  const row = (id: string, args: Record<string, unknown>) =>
    ({
      id,
      status: 'pending',
      tenant: 'default',
      agent_id: 'support-bot',
      correlation_id: id,
      created_at: '2026-01-01T00:00:00.000Z',
      ttl_seconds: 900,
      risk_summary: 'A change waits for a person.',
      review_reasons: [],
      original_payload_digest: `sha256:${'0'.repeat(64)}`,
      request_payload: { method: 'tools/call', params: { name: 'wire_transfer', arguments: args } },
    }) as unknown as PendingRequest;
  const page = (rows: readonly PendingRequest[], next: string | null = null) =>
    waitingCalls({ rows, next }, async (whole) => ({ row: whole, contract: null }), { csrf: '', nowMs: 0 });
  const invisible = { note: '\u202e'.repeat(99_000) };

  it('say what the sandbox predicts of each, why, and whether it can be undone; or that it said nothing', async () => {
    const sandbox_report = {
      operation_class: 'delete',
      severity: 'destructive',
      reversible: 'no',
      summary: 'delete file `<b>`',
      reasons: ['a file or folder is removed'],
    };
    const { cards } = await page([
      { ...row('row-1', {}), sandbox_report } as PendingRequest,
      { ...row('row-2', {}), sandbox_report: null } as PendingRequest,
    ]);
    expect(cards[0]).toContain('class="bad">destructive: delete file `&#60;b&#62;` (cannot be undone)</span>');
    expect(cards[0]).toContain('<li>a file or folder is removed</li>');
    expect(cards[1]).toContain('class="dim">no report</span>');
  });

  it('say below the arguments what is new in them, as text', async () => {
    const since_last_call = {
      pending_id: 'row-0',
      correlation_id: 'row-0',
      created_at: '2026-01-01T00:00:00.000Z',
      status: 'expired' as const,
      decided_at: null,
      decided_by: null,
      modified: false,
      arguments: 'changed' as const,
      changes: [{ path: '/<b>', kind: 'removed' as const, before: { json: '"<i>"' } }],
      changes_omitted: 0,
    };
    const { cards } = await page([
      { ...row('row-1', {}), since_last_call },
      { ...row('row-2', {}), since_last_call: null },
      row('row-3', {}),
    ]);
    expect(cards[0]).toContain('2026-01-01T00:00:00.000Z, expired (row-0): asked with other arguments</p>');
    expect(cards[0]).toContain('<li>removed /&#60;b&#62;: &#34;&#60;i&#62;&#34;</li>');
    expect(cards[1]).toContain('none of this agent&#39;s last calls that waited was of this tool');
    expect(cards[2]).not.toContain('Since the last');
  });

  it('are all that were listed, where they are small', async () => {
    const rows = Array.from({ length: 50 }, (_, at) => row(`row-${at}`, { amount: at }));
    const { cards, next } = await page(rows, 'behind');
    expect(cards).toHaveLength(50);
    expect(next).toBe('behind');
  });

  it('are only as many as make a page, and the others are on the next', async () => {
    const rows = Array.from({ length: 50 }, (_, at) => row(`row-${at}`, invisible));
    const shown = await page(rows);
    expect(shown.cards.join('').length).toBeLessThan(1_500_000);
    expect(shown.rows.map(({ id }) => id)).toEqual(rows.slice(0, shown.rows.length).map(({ id }) => id));
    expect(shown.next).toBe(shown.rows.at(-1)?.id);
    expect((await page(rows.slice(-1))).next).toBeNull();
  });

  it('are made one after the other, with a turn for others between two', async () => {
    const rows = Array.from({ length: 4 }, (_, at) => row(`row-${at}`, invisible));
    let turns = 0;
    let done = false;
    const count = () => {
      turns += 1;
      if (!done) setImmediate(count);
    };
    setImmediate(count);
    await page(rows);
    done = true;
    expect(turns).toBeGreaterThanOrEqual(rows.length);
  });

  it('are not approved there where what stands for their characters is too long to show', async () => {
    const {
      cards: [card = ''],
    } = await page([row('row-1', invisible)]);
    expect(card.length).toBeLessThan(210_000);
    expect(card).toContain('Cut after 25000 characters.');
    expect(card).toMatch(/class="go" disabled>/);
    const {
      cards: [plain = ''],
    } = await page([row('row-2', { note: 'x'.repeat(99_000) })]);
    expect(plain).not.toContain('Cut after');
    expect(plain).toContain('class="go">');
  });
});
