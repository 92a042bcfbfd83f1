import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NewLedgerRow } from '../../../contracts/ledger.js';
import { callRows, correlationOf, type TestCall } from '../../../test/support/ledger-calls.js';
import { ledgerPlace, STORES, type TestLedgerPlace, testRow } from '../../../test/support/ledger.js';
import { ledgerRowId } from '../../../domain/call/rows.js';
import { sha256Hex, uuidFromDigest } from '../../../domain/crypto/digest.js';
import { type EvidencedLedger, openEvidencedLedger } from '../../../test/support/evidenced-ledger.js';
import { gravity } from '../../../domain/evidence/reports/hunt.js';
import type { LedgerReports } from './reports.js';

const NOW = Date.parse('2026-03-10T12:30:00.000Z');
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

interface Ledger {
  readonly ledger: EvidencedLedger;
  at(agoMs: number, rows: readonly NewLedgerRow[]): Promise<void>;
  close(): Promise<void>;
}

/** A ledger whose rows have the ages a test asks for. Reports are made at NOW. */
async function openAt(kind: (typeof STORES)[number]): Promise<Ledger> {
  const place: TestLedgerPlace = await ledgerPlace(kind);
  let now = NOW;
  const ledger = await openEvidencedLedger({ target: place.target, sidecarKeys: place.keys, clock: () => now });
  return {
    ledger,
    async at(agoMs, rows) {
      now = NOW - agoMs;
      await ledger.append(rows);
      now = NOW;
    },
    async close() {
      await ledger.close();
      await place.remove();
    },
  };
}

/** Pseudo-random numbers with a fixed seed. */
function seeded(seed: number): (most: number) => number {
  let state = seed;
  return (most) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * most);
  };
}

/** Some weeks of a small fleet's rows, oldest first. */
function season(seed: number): { readonly agoMs: number; readonly rows: NewLedgerRow[] }[] {
  const random = seeded(seed);
  const pick = <Item>(items: readonly Item[]): Item => items[random(items.length)] as Item;
  const signals = ['decoy_tripped', 'grant_expired', 'would_deny_egress', 'revocation_check_degraded', 'other'];
  return Array.from({ length: 260 }, (_, index) => {
    const tier = pick(['green', 'green', 'green', 'yellow', 'red'] as const);
    const call: TestCall = {
      name: `${seed}-${index}`,
      agent: pick(['agent-a', 'agent-b', 'agent-ü', 'agent/c']),
      tenant: pick(['acme', 'acme', 'other']),
      tool: pick(['read_file', 'list_files', 'wire_transfer']),
      tier,
      mode: pick(['enforce', 'enforce', 'observe'] as const),
      injected: random(9) === 0,
      costMicros: random(900),
      brainVersion: index < 200 ? 'brain/1' : 'brain/2',
      ...(tier === 'yellow' && random(2) === 0 && { decided: pick(['approved', 'denied', 'expired'] as const) }),
      ...(tier === 'green' && { outcome: pick(['completed', 'failed', 'uncertain', 'not_run'] as const) }),
      ...(random(20) === 0 && { source: 'simulator' }),
    };
    const rows = callRows(call).map((row) => (random(15) === 0 ? { ...row, signal: pick(signals) } : row));
    return { agoMs: (260 - index) * 3 * HOUR, rows };
  });
}

describe('the same rows give the same answers on both stores', () => {
  const stores: Ledger[] = [];
  beforeAll(async () => {
    for (const kind of STORES) {
      const store = await openAt(kind);
      stores.push(store);
      for (const { agoMs, rows } of season(7)) await store.at(agoMs, rows);
      await store.ledger.purgeSidecar(ledgerRowId(correlationOf('7-255'), 'policy.evaluated'));
      await store.ledger.silence.allow({ agent_id: 'agent-b', reason: 'x', source: 'x', created_by: 'x' });
    }
  }, 60_000);
  afterAll(() => Promise.all(stores.map((store) => store.close())));

  const from = new Date(NOW - 20 * DAY).toISOString();
  it.each<[string, (reports: LedgerReports) => Promise<unknown>]>([
    ['a narrative', (reports) => reports.narrative({ agentId: 'agent-a', window: '30d' })],
    ['a narrative of a tenant', (reports) => reports.narrative({ agentId: 'agent-ü', window: '90d', tenant: 'other' })],
    ['a hunt', (reports) => reports.hunt({ from }, 100)],
    ['a hunt for denials', (reports) => reports.hunt({ authorized: false, methods: ['proxy.verdict'] }, 2)],
    ['a demonstration’s hunt', (reports) => reports.hunt({ demoPrefix: correlationOf('7-3').slice(0, 8) }, 9)],
    ['a baseline', (reports) => reports.behavioralBaseline({ agentId: 'agent/c', baselineDays: 20, recentDays: 9 })],
    ['the fleet', (reports) => reports.fleetBehavioralDiff({ baselineDays: 20, recentDays: 9, limit: 3 })],
    ['recommendations', (reports) => reports.envelopeRecommendations({ agentId: 'agent-a', windowDays: 60 })],
    ['a canary', (reports) => reports.modelUpgradeCanary({ windowHours: 180 })],
    ['activity', (reports) => reports.agentActivity({ sinceHours: 720, limit: 3 })],
    ['silence', (reports) => reports.silentAgents({ sinceHours: 4 })],
    ['spend', (reports) => reports.spend({ limit: 2 })],
    ['spend of a month', (reports) => reports.spend({ month: '2026-03', tenant: 'acme', limit: 100 })],
    [
      'a corpus',
      async (reports) => {
        const { entries, ...rest } = await reports.replayCorpus({ from }, { limit: 40, toolType: 'read_file' });
        const corpus = [];
        for await (const entry of entries) corpus.push(entry);
        return { ...rest, corpus };
      },
    ],
  ])('%s', async (_, report) => {
    const [one, other] = await Promise.all(stores.map(({ ledger }) => report(ledger.reports)));
    expect(JSON.stringify(one).length).toBeGreaterThan(200);
    expect(other).toEqual(one);
  });

  it('and none of them counts the rows of an erased tenant', async () => {
    for (const { ledger } of stores) {
      const spent = async (tenant?: string) => (await ledger.reports.spend({ tenant, limit: 9 })).total_spend_micros;
      const [all, others] = [await spent(), await spent('other')];
      expect(others).toBeGreaterThan(0);
      await ledger.erasure.tombstoneTenant('other');
      expect(await spent()).toBe(all - others);
      expect(await spent('other')).toBe(0);
      expect((await ledger.reports.narrative({ agentId: 'agent-ü', window: '90d', tenant: 'other' })).total).toBe(0);
      expect((await ledger.reports.hunt({ tenant: 'other' }, 9)).agents).toEqual([]);
      const { total } = await ledger.reports.replayCorpus({}, { limit: 9, tenantPrefix: 'oth' });
      expect(total).toBe(0);
    }
  });
});

describe('reports over the rows of a ledger', () => {
  let store: Ledger;
  const reports = () => store.ledger.reports;
  const calls = async (count: number, agoMs: number, change: Omit<TestCall, 'name'>) => {
    for (let index = 0; index < count; index++)
      await store.at(
        agoMs - index * 60_000,
        callRows({ name: `${agoMs}-${index}-${JSON.stringify(change)}`, ...change }),
      );
  };

  describe('a hunt', () => {
    beforeAll(async () => {
      store = await openAt('sqlite');
      await store.at(3 * DAY, [
        testRow({ agent_id: 'quiet', signal: 'grant_expired' }),
        testRow({ agent_id: 'loud', signal: 'rate_limited_agent', correlation_id: null }),
        testRow({ agent_id: 'loud', signal: 'quota_exceeded', method: 'other' }),
        testRow({ agent_id: 'trapped', signal: 'decoy_tripped', agent_name: 'Trapped' }),
        testRow({ agent_id: 'trapped', signal: 'would_deny_egress', policy_decision: { outcome: 'deny' } }),
        testRow({ agent_id: 'plain' }),
        testRow({ agent_id: 'plain', event_kind: 'hil.denied', policy_decision: { decided_by: 'operator:dev' } }),
        testRow({
          agent_id: 'plain',
          event_kind: 'hil.denied',
          policy_decision: { decided_by: 'system:tenant-offboard' },
        }),
      ]);
    });
    afterAll(() => store.close());

    it('puts the gravest signal first, then whoever has most hits', async () => {
      const found = await reports().hunt({}, 10);
      expect(found.agents.map((agent) => [agent.agent_id, agent.worst_signal, agent.hit_count])).toEqual([
        ['trapped', 'decoy_tripped', 2],
        ['quiet', 'grant_expired', 1],
        ['loud', 'rate_limited_agent', 2],
        ['plain', null, 3],
      ]);
      // A refusal by a person is one; that of a tenant that left is none.
      expect(found.agents[3]?.deny_count).toBe(1);
      expect(found.agents[0]).toEqual({
        agent_id: 'trapped',
        agent_name: 'Trapped',
        hit_count: 2,
        deny_count: 1,
        worst_signal: 'decoy_tripped',
        principal: 'agent',
        latest_hit_ts: '2026-03-07T12:30:00.000Z',
        latest_correlation_id: '55555555-5555-4555-8555-555555555555',
        methods: ['proxy.verdict'],
      });
      expect(found).toMatchObject({ returned: 4, from: null, to: null });
    });

    it('counts only what was asked for', async () => {
      const agents = async (filter: Parameters<LedgerReports['hunt']>[0], limit = 10) =>
        (await reports().hunt(filter, limit)).agents.map((agent) => [agent.agent_id, agent.hit_count]);
      expect(await agents({ signal: 'quota_exceeded' })).toEqual([['loud', 1]]);
      expect(await agents({ methods: ['other'] })).toEqual([['loud', 1]]);
      expect(await agents({ authorized: false })).toEqual([]);
      expect(await agents({}, 1)).toEqual([['trapped', 2]]);
      expect(await agents({ from: '2026-03-07T12:30:00.001Z' })).toEqual([]);
    });

    it('knows signals by class: what happened is graver than what could not be checked or would have been', () => {
      const order = [
        'decoy_tripped',
        'egress_stream_exfil',
        'tool_schema_poisoned',
        'review_approved_but_suspended',
        'agent_revoked',
        'scope_outside_envelope',
        'attestation_stale',
        'grant_invalid',
        'upstream_not_registered',
        'quota_exceeded',
        'grant_usage_check_degraded',
        'would_pend_egress',
        'unregistered_agent',
      ];
      expect(order.toSorted((a, b) => gravity(a) - gravity(b))).toEqual(order);
    });
  });

  describe('the replay corpus', () => {
    const corpus = async (limit: number, query: Partial<Parameters<LedgerReports['replayCorpus']>[1]> = {}) => {
      const { entries, ...rest } = await reports().replayCorpus({}, { limit, ...query });
      const found = [];
      for await (const entry of entries) found.push(entry);
      return { ...rest, found };
    };
    beforeAll(async () => {
      store = await openAt('sqlite');
      for (let index = 0; index < 30; index++)
        await store.at(
          HOUR - index,
          callRows({
            name: `corpus-${index}`,
            tier: index === 3 ? 'red' : 'green',
            tenant: index < 10 ? 'acme' : 'acme-2',
            tool: index === 4 ? 'list_files' : 'read_file',
            arguments: { index },
          }),
        );
      await store.ledger.purgeSidecar(ledgerRowId(correlationOf('corpus-0'), 'policy.evaluated'));
      await store.at(1, [
        testRow({
          event_kind: 'policy.evaluated',
          policy_decision: { allow: true, reasons: [], review_reasons: ['r'], input_replay: { tool_type: 'x' } },
        }),
      ]);
    });
    afterAll(() => store.close());

    it('is read page by page in chain order, with what people decided, and ends', async () => {
      const end = (index: number, kind: string, by: string, change: Partial<NewLedgerRow> = {}) =>
        testRow({
          event_kind: kind,
          correlation_id: correlationOf(`corpus-${index}`),
          policy_decision: { decided_by: by },
          ...change,
        });
      await store.at(1, [
        end(7, 'hil.denied', 'operator:dev'),
        end(8, 'hil.denied', 'system:withdrawn-by-agent'),
        end(9, 'hil.denied', 'system:tenant-offboard'),
        end(10, 'hil.approved', 'system:policy-tier'),
        end(11, 'hil.expired', 'system:ttl-sweep'),
        end(12, 'hil.approved', 'operator:dev'),
        end(13, 'hil.denied', 'operator:dev', { source: 'simulator' }),
      ]);
      const rows = [];
      let after: number | undefined;
      for (let pages = 0; ; pages += 1) {
        const page = await reports().replayPage({ limit: 12, after });
        rows.push(...page.rows);
        if (page.next === null) break;
        expect(page.rows.length).toBeLessThanOrEqual(12);
        expect(pages).toBeLessThan(9);
        expect(page.next).toBeGreaterThan(after ?? 0);
        after = page.next;
      }
      expect(rows).toHaveLength(31);
      expect(rows.map(({ seq }) => seq)).toEqual(rows.map(({ seq }) => seq).toSorted((a, b) => a - b));
      expect(rows[3]).toMatchObject({
        tool: 'read_file',
        input: { arguments: { index: 3 }, current_time: '2026-03-10T11:30:00.003Z' },
        decision: { allow: false, reasons: ['Violation: destructive'] },
        request: null,
        people: null,
      });
      expect(rows.flatMap(({ people }, at) => (people === null ? [] : [at, people]))).toEqual([
        7,
        'denied',
        11,
        'expired',
        12,
        'approved',
      ]);
      // One input was purged, and one row has it in itself.
      expect([rows[0]?.input, rows.at(-1)?.input?.['tool_type']]).toEqual([null, 'x']);
      const of = async (query: object) => (await reports().replayPage({ limit: 100, ...query })).rows.length;
      expect([await of({ tenant: 'acme' }), await of({ tool: 'list_files' })]).toEqual([11, 1]);
      expect(await of({ from: '2026-03-10T11:30:00.010Z', to: '2026-03-10T11:30:00.020Z' })).toBe(10);
    });

    it('opens every input that is still there, with the verdict it got', async () => {
      const { found, total, sampled } = await corpus(100);
      expect([total, sampled, found.length]).toEqual([30, false, 30]);
      expect(found[2]).toEqual({
        correlation_id: correlationOf('corpus-3'),
        captured_at: '2026-03-10T11:30:00.003Z',
        agent_id: 'agent-a',
        method: 'policy.evaluated',
        input: {
          tool_type: 'read_file',
          agent_history: { last_tool: null, recent_sequence: [] },
          intent_score: 0.1,
          arguments: { index: 3 },
          current_time: '2026-03-10T11:30:00.003Z',
        },
        historical_verdict: { allow: false, reasons: ['Violation: destructive'], review_reasons: [] },
      });
      expect(found.at(-1)).toMatchObject({
        input: { tool_type: 'x', current_time: '2026-03-10T12:29:59.999Z' },
        historical_verdict: { allow: true, review_reasons: ['r'] },
      });
    });

    it('samples evenly and always the same where there is more', async () => {
      const first = await corpus(5);
      expect([first.total, first.sampled, first.found.length]).toEqual([30, true, 5]);
      expect(await corpus(5)).toEqual(first);
      const times = first.found.map((entry) => entry.captured_at);
      expect(times).toEqual(times.toSorted());
    });

    it('takes the rows whose id has the lowest digest', async () => {
      const names = Array.from({ length: 30 }, (_, index) => `corpus-${index}`).filter(
        (_, index) => ![0, 4].includes(index),
      );
      const digest = (name: string) => sha256Hex(ledgerRowId(correlationOf(name), 'policy.evaluated'));
      const lowest = names.toSorted((a, b) => (digest(a) < digest(b) ? -1 : 1)).slice(0, 6);
      const { found } = await corpus(6, { toolType: 'read_file' });
      expect(new Set(found.map((entry) => entry.correlation_id))).toEqual(new Set(lowest.map(correlationOf)));
    });

    it('can be narrowed to a tool and to tenants', async () => {
      expect((await corpus(100, { toolType: 'list_files' })).found).toHaveLength(1);
      expect((await corpus(100, { tenantPrefix: 'acme-' })).found).toHaveLength(20);
      expect((await corpus(100, { tenantPrefix: 'ac' })).found).toHaveLength(30);
      expect((await corpus(100, { tenantPrefix: 'other' })).found).toEqual([]);
    });
  });

  describe('rows 9 to 11: behaviour', () => {
    beforeAll(async () => {
      store = await openAt('sqlite');
      await calls(60, 12 * DAY + 3 * HOUR, { agent: 'steady' });
      await calls(60, 12 * DAY, { agent: 'changed' });
      await calls(10, 12 * DAY - 2 * HOUR, { agent: 'young' });
      await calls(60, 2 * DAY + 3 * HOUR, { agent: 'steady' });
      await calls(60, 2 * DAY, { agent: 'changed', tool: 'wire_transfer', tier: 'red', injected: true });
      const approved = { agent: 'young', tier: 'yellow', decided: 'approved' } as const;
      await calls(10, DAY, { ...approved, tool: 'write_file', outcome: 'completed' });
    });
    afterAll(() => store.close());

    it('an agent that goes on as before has not drifted', async () => {
      const found = await reports().behavioralBaseline({ agentId: 'steady', baselineDays: 14, recentDays: 7 });
      expect(found.baseline).toMatchObject({
        since: '2026-02-17T12:30:00.000Z',
        until: '2026-03-03T12:30:00.000Z',
        total: 60,
        authorized: 60,
        denied: 0,
        deny_rate: 0,
        intent_mean: 0.1,
        tool_mix: [{ tool_type: 'read_file', count: 60 }],
      });
      expect(found.recent.hourly.reduce((sum, count) => sum + count)).toBe(60);
      expect(found.deviation).toEqual({ tool_mix: 0, hourly: 0, intent: 0, deny_rate: 0, overall: 0 });
      expect(found).toMatchObject({ drifted: false, insufficient: false });
    });

    it('one with other tools, denials and intent has', async () => {
      const found = await reports().behavioralBaseline({ agentId: 'changed', baselineDays: 14, recentDays: 7 });
      expect(found.deviation).toEqual({ tool_mix: 1, hourly: 0, intent: 0.4, deny_rate: 1, overall: 1 });
      expect(found.diff).toEqual({
        new_tools: ['wire_transfer'],
        vanished_tools: ['read_file'],
        deny_rate_delta: 1,
        intent_delta: 0.4,
        total_delta: 0,
      });
      expect(found).toMatchObject({ drifted: true, insufficient: false });
    });

    it('of one with few requests nothing is said', async () => {
      expect(await reports().behavioralBaseline({ agentId: 'young', baselineDays: 14, recentDays: 7 })).toMatchObject({
        drifted: false,
        insufficient: true,
        recent: { authorized: 10, denied: 0 },
      });
      expect(await reports().behavioralBaseline({ agentId: 'nobody', baselineDays: 14, recentDays: 7 })).toMatchObject({
        drifted: false,
        insufficient: true,
        baseline: { total: 0, intent_mean: null },
      });
    });

    it('a review that no call asked for changes nothing of it', async () => {
      const asked = async () => ({
        baseline: await reports().behavioralBaseline({ agentId: 'young', baselineDays: 14, recentDays: 7 }),
        fleet: await reports().fleetBehavioralDiff({ baselineDays: 14, recentDays: 7, limit: 10 }),
        drifted: await reports().driftedAgents({ baselineDays: 14, recentDays: 7, nowMs: NOW }),
        tools: await reports().envelopeRecommendations({ agentId: 'young', windowDays: 30 }),
        activity: await reports().agentActivity({ sinceHours: 24, limit: 10 }),
        narrative: await reports().narrative({ agentId: 'young', window: '7d' }),
        canary: await reports().modelUpgradeCanary({ windowHours: 24 }),
        hunted: (await reports().hunt({}, 9)).agents,
        decided: (await reports().decidedPage({ tenant: 'acme', limit: 100 })).rows,
      });
      const before = await asked();
      const rehearsal = { agent: 'young', tool: 'never_used', tier: 'yellow', contract: 'gate.review/v1' } as const;
      await calls(1, HOUR, { ...rehearsal, decided: 'approved' });
      await calls(1, HOUR, { ...rehearsal, decided: 'denied' });
      await calls(1, HOUR, { ...rehearsal, decided: 'expired' });
      await calls(1, HOUR, rehearsal);
      expect(before.decided).toHaveLength(10);
      expect(await asked()).toEqual(before);
      await calls(1, HOUR, { ...rehearsal, agent: 'unheard', decided: 'approved' });
      expect((await asked()).fleet).toEqual(before.fleet);
      expect((await asked()).hunted).toEqual(before.hunted);
    });

    it('the fleet, the one that changed most first and those of whom nothing can be said last', async () => {
      const fleet = await reports().fleetBehavioralDiff({ baselineDays: 14, recentDays: 7, limit: 10 });
      expect(fleet.agents.map((agent) => [agent.agent_id, agent.drift_overall, agent.drifted])).toEqual([
        ['changed', 1, true],
        ['steady', 0, false],
        ['young', 1, false],
      ]);
      expect(fleet).toMatchObject({
        since_baseline: '2026-02-17T12:30:00.000Z',
        since_recent: '2026-03-03T12:30:00.000Z',
        now: '2026-03-10T12:30:00.000Z',
        returned: 3,
      });
      expect(await reports().fleetBehavioralDiff({ baselineDays: 14, recentDays: 7, limit: 1 })).toMatchObject({
        agents: [{ agent_id: 'changed' }],
        agents_total: 3,
        insufficient_total: 1,
        returned: 1,
      });
      const ofNobody = { baselineDays: 14, recentDays: 7, limit: 10, tenant: 'nobody' };
      expect((await reports().fleetBehavioralDiff(ofNobody)).agents).toEqual([]);
    });

    it('recommends no tool because of a call that was approved and never ran', async () => {
      const approved = { agent: 'approved', tier: 'yellow', decided: 'approved' } as const;
      await calls(1, DAY, { ...approved, tool: 'stopped', outcome: 'aborted' });
      await calls(1, DAY, { ...approved, tool: 'unknown', outcome: 'uncertain' });
      await calls(1, DAY, { ...approved, tool: 'unsent', outcome: 'not_run' });
      await calls(1, DAY, { ...approved, tool: 'under_way' });
      await calls(2, DAY, { ...approved, tool: 'ran', outcome: 'completed' });
      await calls(1, DAY, { ...approved, tool: 'answered_an_error', outcome: 'failed' });
      const ownTool = { ...approved, contract: 'gate.decision/v1' } as const;
      await calls(1, DAY, { ...ownTool, tool: 'run_by_its_agent' });
      await calls(1, DAY, { ...ownTool, tool: 'refused_to_its_agent', decided: 'denied' });
      // What ended without running is remembered no longer, so a row of an execution that follows is none of its use.
      for (const decided of ['denied', 'expired'] as const)
        await calls(1, DAY, { ...approved, tool: `${decided}_and_forgotten`, decided, outcome: 'completed' });
      const told = await reports().envelopeRecommendations({ agentId: 'approved', windowDays: 30 });
      expect([told.total_calls, told.used_tools.map((one) => [one.tool_type, one.used_count])]).toEqual([
        11,
        [
          ['ran', 2],
          ['answered_an_error', 1],
          ['run_by_its_agent', 1],
        ],
      ]);
    });

    it('recommends the tools an agent used, not those it was refused', async () => {
      const tools = async (agentId: string) =>
        (await reports().envelopeRecommendations({ agentId, windowDays: 30 })).used_tools;
      expect(await tools('changed')).toEqual([{ tool_type: 'read_file', used_count: 60, confidence: 'high' }]);
      expect(await tools('young')).toEqual([
        { tool_type: 'read_file', used_count: 10, confidence: 'medium' },
        { tool_type: 'write_file', used_count: 10, confidence: 'medium' },
      ]);
      expect(await reports().envelopeRecommendations({ agentId: 'changed', windowDays: 30 })).toMatchObject({
        total_calls: 120,
        since: '2026-02-08T12:30:00.000Z',
        until: '2026-03-10T12:30:00.000Z',
      });
    });
  });

  describe('a change of models', () => {
    beforeAll(async () => {
      store = await openAt('sqlite');
      await calls(50, 40 * HOUR, { brainVersion: 'brain/1' });
      await calls(50, 20 * HOUR, { brainVersion: 'brain/2', tier: 'red', injected: true });
      await store.at(HOUR, [testRow({ signal: 'grant_expired', event_kind: 'other' })]);
    });
    afterAll(() => store.close());

    it('is seen in the evidence of both windows, with what changed beside it', async () => {
      const canary = await reports().modelUpgradeCanary({ windowHours: 24 });
      expect(canary).toMatchObject({
        cutover: '2026-03-09T12:30:00.000Z',
        window_hours: 24,
        before: {
          since: '2026-03-08T12:30:00.000Z',
          total: 50,
          denied: 0,
          models: [{ brain_version: 'brain/1', mock_mode: true, provider_models: {}, observed: 50 }],
          models_sampled: 50,
        },
        after: {
          until: '2026-03-10T12:30:00.000Z',
          total: 50,
          denied: 50,
          signal_mix: [{ signal: 'grant_expired', count: 1 }],
          models: [{ brain_version: 'brain/2', observed: 50 }],
        },
        deltas: {
          deny_rate_delta: 1,
          intent_mean_delta: 0.4,
          total_delta: 0,
          new_signals: ['grant_expired'],
          vanished_signals: [],
        },
        model_changed: true,
        insufficient: false,
      });
    });

    it('is not claimed where nothing is known of the models', async () => {
      const canary = await reports().modelUpgradeCanary({ windowHours: 1, cutover: '2026-03-10T12:00:00+00:00' });
      expect(canary).toMatchObject({ model_changed: false, insufficient: true, after: { models_sampled: 0 } });
    });
  });

  describe('silence', () => {
    const life = (kind: string, name: string, change: Partial<NewLedgerRow> = {}) =>
      testRow({
        agent_id: uuidFromDigest('registry', name),
        agent_name: name,
        event_kind: kind,
        method: kind,
        ...change,
      });
    beforeAll(async () => {
      store = await openAt('sqlite');
      await store.at(100 * HOUR, [
        life('agent.registered', 'heard'),
        life('agent.registered', 'never'),
        life('agent.registered', 'gone'),
        life('agent.registered', 'paused'),
        life('agent.registered', 'expected'),
        life('agent.registered', 'back'),
      ]);
      await store.at(50 * HOUR, [
        life('agent.decommissioned', 'gone'),
        life('agent.suspended', 'paused'),
        life('agent.suspended', 'back'),
        life('agent.unsuspended', 'back'),
        testRow({ agent_id: 'back' }),
        testRow({ agent_id: 'unregistered', tenant: 'other' }),
        testRow({ agent_id: 'gate-proxy' }),
      ]);
      await store.at(23 * HOUR, [testRow({ agent_id: 'heard' })]);
      await store.at(HOUR, [testRow({ agent_id: 'never', event_kind: 'agent_silent', method: 'agent_silent' })]);
      await store.ledger.silence.allow({ agent_id: 'expected', reason: 'x', source: 'x', created_by: 'x' });
    });
    afterAll(() => store.close());

    it('is told of active agents that were not heard, the longest first', async () => {
      expect(await reports().silentAgents({ sinceHours: 24 })).toEqual({
        threshold_hours: 24,
        generated_at: '2026-03-10T12:30:00.000Z',
        silent_agents: [
          {
            agent_name: 'never',
            tenant: 'acme',
            last_activity: null,
            enrolled_at: '2026-03-06T08:30:00.000Z',
            silent_hours: 100,
            never_active: true,
          },
          {
            agent_name: 'back',
            tenant: 'acme',
            last_activity: '2026-03-08T10:30:00.000Z',
            enrolled_at: '2026-03-06T08:30:00.000Z',
            silent_hours: 50,
            never_active: false,
          },
          {
            agent_name: 'unregistered',
            tenant: 'other',
            last_activity: '2026-03-08T10:30:00.000Z',
            enrolled_at: null,
            silent_hours: 50,
            never_active: false,
          },
        ],
        active_total: 4,
      });
      expect((await reports().silentAgents({ sinceHours: 23 })).silent_agents).toHaveLength(4);
      expect((await reports().silentAgents({ sinceHours: 101 })).silent_agents).toEqual([]);
      expect(await reports().silentAgents({ sinceHours: 24, tenant: 'nobody' })).toMatchObject({ active_total: 0 });
    });
  });

  describe('spend', () => {
    beforeAll(async () => {
      store = await openAt('sqlite');
      await calls(3, 20 * DAY, { agent: 'a', costMicros: 1_000 });
      await calls(2, DAY, { agent: 'a', costMicros: 5 });
      await calls(2, DAY / 2, { agent: 'b', costMicros: 700, tenant: 'other' });
      await store.at(0, [testRow({ agent_id: 'c', cost_micros: null, agent_name: 'Cee' })]);
    });
    afterAll(() => store.close());

    it('is the sum of estimated costs, dearest first; a request without a price is a request', async () => {
      expect(await reports().spend({ limit: 2 })).toEqual({
        window: null,
        agents: [
          {
            agent_id: 'a',
            agent_name: null,
            spend_micros: 3_010,
            request_count: 5,
            priced_count: 5,
            latest_ts: '2026-03-09T12:31:00.000Z',
          },
          {
            agent_id: 'b',
            agent_name: null,
            spend_micros: 1_400,
            request_count: 2,
            priced_count: 2,
            latest_ts: '2026-03-10T00:31:00.000Z',
          },
        ],
        total_spend_micros: 4_410,
        total_requests: 8,
        total_priced: 7,
        returned: 2,
      });
    });

    it('of one month, of one tenant', async () => {
      const micros = async (query: { month?: string; tenant?: string }) =>
        (await reports().spend({ ...query, limit: 9 })).total_spend_micros;
      expect(await micros({ month: '2026-02' })).toBe(3_000);
      expect(await micros({ month: '2026-03' })).toBe(1_410);
      expect(await micros({ month: '2026-03', tenant: 'other' })).toBe(1_400);
      expect(await micros({ month: '2025-03' })).toBe(0);
    });

    it('has what a model cost that read an answer, which is no request of its own', async () => {
      const before = await reports().spend({ limit: 9 });
      const read = { method: 'response.inspected', event_kind: 'response.inspected', agent_id: 'b', cost_micros: 90 };
      await store.at(0, [testRow({ ...read, tenant: 'third' })]);
      const { total_spend_micros: total, total_requests: requests } = await reports().spend({ limit: 9 });
      expect([total, requests]).toEqual([before.total_spend_micros + 90, before.total_requests]);
    });
  });
});

it.each([
  'no JSON',
  '"text"',
  '[]',
  '{"brain_version":1}',
  '{"brain_version":"\\ud800"}',
  '{"brain_version":"b","provider_models":{"a":{"b":1}}}',
  '{"brain_version":"b","provider_models":["a"]}',
  '{"brain_version":"b","provider_models":{"a":"\\ud800"}}',
])('the sidecar of another author, such as %s, stops no report', async (text) => {
  const store = await openAt('sqlite');
  const sha256 = sha256Hex(text);
  await store.at(HOUR, [
    ...callRows({ name: 'own' }),
    testRow({ event_kind: 'brain.inspection', brain_evidence_sha256: sha256, brain_evidence_canonical_json: text }),
    testRow({ event_kind: 'policy.evaluated', payload_sha256: sha256, payload_canonical_json: text }),
  ]);
  const { reports } = store.ledger;
  expect((await reports.modelUpgradeCanary({ windowHours: 2 })).after.models_sampled).toBe(1);
  const corpus = [];
  for await (const entry of (await reports.replayCorpus({}, { limit: 9 })).entries) corpus.push(entry.correlation_id);
  expect(corpus).toContain(correlationOf('own'));
  await store.close();
});

it('a purged brain evidence says nothing of models', async () => {
  const store = await openAt('sqlite');
  await store.at(HOUR, callRows({ name: 'p' }));
  await store.ledger.purgeSidecar(ledgerRowId(correlationOf('p'), 'brain.inspection'));
  expect((await store.ledger.reports.modelUpgradeCanary({ windowHours: 2 })).after.models_sampled).toBe(0);
  await store.close();
});
