import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ledgerPlace, STORES, type TestLedgerPlace, testRow } from '../../test/support/ledger.js';
import { uuidFromDigest } from '../../domain/crypto/digest.js';
import { type WholeLedger, openLedger } from '../../test/support/whole-ledger.js';
import type { RowFilter } from '../../domain/ledger/row-filter.js';
import { load } from '../../bench/long-ledger.js';
import type { LedgerTables } from '../../domain/ledger/tables.js';
import { ledgerMigrations } from '../../migrations/ledger.js';
import { openStore } from '../store/database.js';
import { filtered } from './rows.js';
import type { AgentQuery } from '../../domain/ledger/ports.js';

const AT = Date.parse('2026-01-02T03:04:05.000Z');
const time = (seconds: number) => new Date(AT + seconds * 1_000).toISOString();
const correlation = (prefix: string) => `${prefix}-1111-4111-8111-111111111111`;

describe.each(STORES)('which rows a read finds, on %s', (kind) => {
  let place: TestLedgerPlace;
  let ledger: WholeLedger;
  let now: number;

  beforeEach(async () => {
    now = AT;
    place = await ledgerPlace(kind);
    ledger = await openLedger({ target: place.target, sidecarKeys: place.keys, clock: () => now });
  });
  afterEach(async () => {
    await ledger.close();
    await place.remove();
  });

  const byAgent = async (query?: AgentQuery) => (await ledger.byAgent('agent-a', query)).map((row) => row.seq);
  const inPages = async (filter: RowFilter) => {
    const seqs: number[] = [];
    for await (const page of ledger.pages(filter)) seqs.push(...page.map((row) => row.seq));
    return seqs;
  };
  const everywhere = async (filter: RowFilter) => {
    const found = await inPages(filter);
    expect(await ledger.count(filter)).toBe(found.length);
    return found;
  };

  describe('rows of which there are few in a long chain', () => {
    const planOf = async (filter: RowFilter): Promise<string> => {
      const store = await openStore<LedgerTables>(place.target, ledgerMigrations);
      try {
        const query = filtered(store.db.selectFrom('ledger_entries').select('seq'), {
          seqFrom: 1,
          seqTo: 9_000,
          ...filter,
        });
        const { sql: text, parameters } = query.orderBy('seq', 'desc').limit(100).compile();
        if (kind === 'postgres') await place.sql('set enable_seqscan = off');
        const plan = await place.sql(
          `explain ${kind === 'sqlite' ? 'query plan ' : ''}${text}`,
          parameters as readonly (string | number)[],
        );
        return JSON.stringify(plan);
      } finally {
        await store.close();
      }
    };

    it.each<[string, RowFilter, string]>([
      ['denied', { tenant: 'acme', detail: { verdict: 'deny' } }, 'ledger_entries_stopped'],
      ['sent to a person', { tenant: 'acme', detail: { verdict: 'park' } }, 'ledger_entries_stopped'],
      ['over a limit', { tenant: 'acme', detail: { verdict: 'rate_limited' } }, 'ledger_entries_stopped'],
      [
        'alarms',
        { tenant: 'acme', eventKinds: ['alarm.record_tampered', 'alarm.row_refused'] },
        'ledger_entries_alarms',
      ],
    ])('are found by an index of their own: %s', async (_what, filter, index) => {
      await load(kind, place, 9_000);
      expect(await planOf(filter)).toContain(index);
    });
  });

  describe('what a deep-review row says is a filter', () => {
    beforeEach(async () => {
      const finding = (verdict: string, delta: string, extra = {}) =>
        testRow({
          method: 'deep_review_finding',
          policy_decision: { verdict, brain_delta: delta, original_method: 'proxy.verdict', ...extra },
        });
      await ledger.append([
        finding('Red', 'Escalated'),
        finding('Green', 'Agreed', { note: 'not Red', reason: '50% of "it"' }),
        finding('Yellow', 'Downgraded', { original_method: 'red' }),
        testRow({ policy_decision: { outcome: 'deny', reasons: ['50% of "it"', 'other'] } }),
        testRow({ policy_decision: null }),
        finding('red', 'Agreed', { nested: { verdict: 'Red' } }),
      ]);
    });

    it.each<[NonNullable<RowFilter['detail']>, number[]]>([
      [{ verdict: 'Red' }, [1]],
      [{ verdict: 'red' }, [6]],
      [{ verdict: 'deny' }, [4]],
      [{ brain_delta: 'Agreed' }, [2, 6]],
      [{ original_method: 'proxy.verdict' }, [1, 2, 6]],
      [{ reason: '50% of "it"' }, [2, 4]],
      [{ reason: '50_ of "it"' }, []],
      [{ reason: 'other' }, [4]],
      [{ verdict: 'Red', brain_delta: 'Agreed' }, []],
    ])('%j', async (detail, seqs) => {
      expect(await everywhere({ agentId: 'agent-a', detail })).toEqual(seqs);
      expect(await everywhere({ detail })).toEqual(seqs);
    });

    it('and pages over what matched, not over what was looked at', async () => {
      const detail = { original_method: 'proxy.verdict' };
      expect(await byAgent({ detail, limit: 2 })).toEqual([6, 2]);
      expect(await byAgent({ detail, limit: 2, offset: 2 })).toEqual([1]);
      expect(await byAgent({ detail, limit: 1, after: 1 })).toEqual([2]);
      expect(await byAgent({ detail, limit: 5, before: 6 })).toEqual([2, 1]);
      expect(await byAgent({ detail })).toEqual([1, 2, 6]);
    });
  });

  it('an offset counts rows that matched, over page after page', async () => {
    await ledger.append(
      Array.from({ length: 500 }, (_, index) =>
        testRow({ policy_decision: { verdict: index % 10 ? 'Red' : 'Green' } }),
      ),
    );
    const detail = { verdict: 'Red' };
    expect(await byAgent({ detail, limit: 2, offset: 400 })).toEqual([56, 55]);
    expect(await byAgent({ detail, limit: 2, offset: 449 })).toEqual([2]);
    expect(await byAgent({ limit: 2, offset: 400 })).toEqual([100, 99]);
    expect(await byAgent({ limit: 2, offset: 500 })).toEqual([]);
    expect(await byAgent({ offset: 498 })).toEqual([499, 500]);
    expect(await byAgent({ limit: 450, offset: 10, after: 5 })).toEqual(Array.from({ length: 450 }, (_, i) => i + 16));
  });

  it('a window of time is half-open, whether it lies before, in or behind the chain', async () => {
    for (let index = 0; index < 20; index++) {
      now = AT + Math.floor(index / 2) * 1_000;
      await ledger.append([testRow(), testRow({ agent_id: 'agent-b' })]);
    }
    const odd = (first: number, last: number) =>
      Array.from({ length: 40 }, (_, index) => index + 1).filter((seq) => seq % 2 === 1 && seq >= first && seq <= last);
    expect(await everywhere({ agentId: 'agent-a', from: time(2), to: time(4) })).toEqual(odd(9, 16));
    expect(await everywhere({ agentId: 'agent-a', to: time(0) })).toEqual([]);
    expect(await everywhere({ agentId: 'agent-a', from: time(9) })).toEqual(odd(37, 40));
    expect(await everywhere({ agentId: 'agent-a', from: time(10) })).toEqual([]);
    expect(await everywhere({ agentId: 'agent-a', from: time(-1), to: time(11) })).toEqual(odd(1, 40));
    expect(await everywhere({ agentId: 'agent-a', from: time(3), to: time(3) })).toEqual([]);
    expect(await everywhere({ from: time(0), to: time(0.5) })).toEqual([1, 2, 3, 4]);
    expect(await byAgent({ from: time(2), to: time(4), limit: 3 })).toEqual([15, 13, 11]);
    expect(await byAgent({ from: time(2), to: time(4), limit: 3, after: 11, tenant: 'acme' })).toEqual([13, 15]);
    expect(await byAgent({ from: time(2), to: time(4), limit: 3, tenant: 'other' })).toEqual([]);
    expect(await everywhere({ from: time(8), tenant: 'acme' })).toEqual([33, 34, 35, 36, 37, 38, 39, 40]);
    expect(await everywhere({ agentId: 'agent-a', from: time(2), to: time(8), seqFrom: 11, seqTo: 13 })).toEqual([
      11, 13,
    ]);
  });

  it('what no row of a long chain has is looked for in parts, between which others run', async () => {
    await load(kind, place, 100_000);
    const turnsOf = async (query: AgentQuery) => {
      let [turns, isOver] = [0, false];
      const count = () => {
        turns += 1;
        if (!isOver) setImmediate(count);
      };
      setImmediate(count);
      expect(await ledger.byAgent('*', { limit: 10, ...query })).toEqual([]);
      isOver = true;
      return turns;
    };
    for (const query of [{ tool: 'never-used' }, { signal: 'never-seen' }, { detail: { verdict: 'never-given' } }])
      expect(await turnsOf({ tenant: 'acme', ...query })).toBeGreaterThanOrEqual(5);
    expect((await ledger.byAgent('*', { tenant: 'acme', tool: 'tool-3', limit: 300 })).map(({ seq }) => seq)).toEqual(
      Array.from({ length: 100_000 }, (_, at) => 100_000 - at)
        .filter((seq) => Math.floor((seq + 3) / 4) % 2 === 0 && Math.floor((seq + 3) / 4) % 17 === 3)
        .slice(0, 300),
    );
  }, 60_000);

  it('pages hold every row once, however many there are, also while rows are appended', async () => {
    for (let index = 0; index < 5; index++)
      await ledger.append(Array.from({ length: 130 }, (_, row) => testRow({ agent_id: row % 2 ? 'agent-a' : 'b' })));
    const seen: number[] = [];
    for await (const page of ledger.pages({})) {
      expect(page.length).toBeLessThanOrEqual(200);
      seen.push(...page.map((row) => row.seq));
      await ledger.append([testRow()]);
    }
    expect(seen).toEqual(Array.from({ length: 650 }, (_, index) => index + 1));
    expect(await inPages({ agentId: 'b' })).toHaveLength(325);
    expect((await byAgent()).slice(0, 325)).toEqual(Array.from({ length: 325 }, (_, index) => 2 * index + 2));
  });

  it.each<[string, number[]]>([
    ['agent-a', [1]],
    ['agent-*', [3, 2, 1]],
    ['*', [5, 4, 3, 2, 1]],
    ['**', [5, 4, 3, 2, 1]],
    ['*-B', [2]],
    ['AGENT_*', []],
    ['*%*', [4]],
    ['*\\*', [5]],
    ['a*nt*a', [3, 1]],
    ['', []],
  ])('a name with * stands for all that fit it, whatever the case: %s', async (name, seqs) => {
    await ledger.append(['agent-a', 'Agent-b', 'agent-ca', '50%', 'a\\b'].map((agent_id) => testRow({ agent_id })));
    const scopes = [{}, { tenant: 'acme' }];
    for (const scope of scopes) {
      const rows = await ledger.byAgent(name, { ...scope, limit: 9 });
      expect(rows.map((row) => row.seq)).toEqual(seqs);
      expect(await ledger.agentCount(name, scope)).toBe(seqs.length);
    }
    expect(await ledger.byAgent(name, { tenant: 'other', limit: 9 })).toEqual([]);
  });

  it('a tool is a filter, exactly', async () => {
    await ledger.append([
      testRow({ tool_name: 'pay' }),
      testRow({ tool_name: 'payout' }),
      testRow({ tool_name: null }),
    ]);
    expect(await everywhere({ tool: 'pay' })).toEqual([1]);
    expect(await byAgent({ tool: 'payout', limit: 5 })).toEqual([2]);
  });

  it('a demonstration session sees its own calls and the simulator, exactly by the first group, and wins over the tenant', async () => {
    await ledger.append([
      testRow({ correlation_id: correlation('0badcafe') }),
      testRow({ correlation_id: correlation('0badcaff') }),
      testRow({ correlation_id: '0badcafe', tenant: '0badcafe' }),
      testRow({ correlation_id: correlation('0badcafe').toUpperCase() }),
      testRow({ correlation_id: null, source: 'simulator' }),
      testRow({ correlation_id: null }),
      testRow({ correlation_id: '0badcafe0-1111-4111-8111-111111111111' }),
    ]);
    expect(await everywhere({ agentId: 'agent-a', demoPrefix: '0badcafe' })).toEqual([1, 5]);
    expect(await everywhere({ demoPrefix: '0badcafe', tenant: '0badcafe' })).toEqual([1, 5]);
    expect(await ledger.byCorrelation(correlation('0badcaff'), { demoPrefix: '0badcafe' })).toEqual([]);
  });

  describe('hidden rows', () => {
    const id = uuidFromDigest('test', 'hidden');
    const CALL = correlation('22222222');
    beforeEach(async () => {
      await ledger.append([
        testRow({ id, tenant: 'gone', agent_id: 'agent-g', correlation_id: CALL }),
        testRow({ tenant: 'stays', correlation_id: CALL }),
        testRow({ tenant: null, state_namespace: 'demo' }),
        testRow({ tenant: 'gone', state_namespace: 'demo' }),
      ]);
    });

    it('of an erased tenant are in no read, and the chain holds as before', async () => {
      await ledger.erasure.tombstoneTenant('gone');
      expect(await ledger.get(id)).toBeNull();
      expect(await ledger.agents()).toEqual(['agent-a', 'tenant:gone']);
      expect((await ledger.byCorrelation(CALL)).map((row) => row.seq)).toEqual([2]);
      expect((await ledger.newest(9)).map((row) => row.seq)).toEqual([5, 3, 2]);
      expect(await ledger.byAgent('agent-g')).toEqual([]);
      expect(await everywhere({})).toEqual([2, 3, 5]);
      expect(await everywhere({ hiding: 'nothing' })).toEqual([1, 2, 3, 4, 5]);
      expect(await ledger.verify()).toMatchObject({ valid: true, entries_checked: 5 });
    });

    it('of the demonstration are hidden too, but a regulatory bundle keeps them', async () => {
      await ledger.erasure.cleanUpDemo();
      await ledger.erasure.tombstoneTenant('gone');
      expect(await everywhere({ agentId: 'agent-a' })).toEqual([2]);
      expect(await everywhere({ agentId: 'agent-a', hiding: 'erased' })).toEqual([2, 3]);
    });
  });
});
