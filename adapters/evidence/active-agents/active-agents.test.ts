import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { ActiveAgentInvoice } from '../../../contracts/active-agents.js';
import type { JsonObject } from '../../../contracts/json.js';
import type { NewLedgerRow } from '../../../contracts/ledger.js';
import { fixture } from '../../../test/support/fixture.js';
import { ledgerPlace, STORES, type TestLedgerPlace, testRow } from '../../../test/support/ledger.js';
import { rowSigner } from '../../../test/support/row-signer.js';
import { canonicalJson } from '../../../domain/crypto/digest.js';
import { type EvidencedLedger, openEvidencedLedger } from '../../../test/support/evidenced-ledger.js';

const HOUR = 3_600_000;
const AS_OF = '2026-03-31T00:00:00Z';
const at = (text: string): number => Date.parse(text);
const hoursAfter = (hours: number): string => new Date(at(AS_OF) + hours * HOUR).toISOString().replace('.000Z', 'Z');
const FINAL = hoursAfter(72);
const sha256 = (value: unknown): string =>
  `sha256:${createHash('sha256')
    .update(canonicalJson(value as never))
    .digest('hex')}`;

describe.each(STORES)('the active-agent meter over %s', (kind) => {
  let place: TestLedgerPlace;
  let ledger: EvidencedLedger;
  let now: number;

  const { sharedHere } = fixture(
    async () => {
      now = at('2026-03-20T12:00:00.250Z');
      place = await ledgerPlace(kind);
      ledger = await openEvidencedLedger({ target: place.target, sidecarKeys: place.keys, clock: () => now });
    },
    async () => {
      await ledger.close();
      await place.remove();
    },
  );

  let calls = 0;
  const uuid = (number: number): string => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
  const execution = (change: Partial<NewLedgerRow> & { agent?: string; said?: JsonObject } = {}): NewLedgerRow => {
    const { agent = 'agent-a', said = {}, ...row } = change;
    const tenant = change.tenant ?? 'acme';
    calls += 1;
    return testRow({
      agent_id: agent,
      method: 'upstream.outcome',
      event_kind: 'upstream.outcome',
      agent_spiffe: `spiffe://gate.local/tenant/${tenant}/agent/${agent}/instance/${uuid(calls)}`,
      correlation_id: uuid(calls),
      policy_decision: { stage: 'completed', ...said },
      ...row,
    });
  };
  /** Sets the clock to `moment`, unless it is later already, and appends. */
  const append = async (moment: string, ...rows: NewLedgerRow[]) => {
    now = Math.max(now, at(moment));
    return ledger.append(rows);
  };
  const invoice = async (observedThrough = FINAL, tenant = 'acme', asOf = AS_OF): Promise<ActiveAgentInvoice> => {
    now = Math.max(now, at(observedThrough) + 1);
    return ledger.activeAgents.invoice({ tenant, asOf, observedThrough });
  };
  const adjustment = (change: JsonObject = {}) => ({
    contract: 'gate.active-agent-adjustment/v1',
    meter_version: '1.0.0',
    tenant: 'acme',
    target_as_of: AS_OF,
    idempotency_key: 'aaaaaaaa-0000-4000-8000-000000000001',
    kind: 'credit',
    units_delta: -1,
    agent_key: null,
    reason: 'agreed with the customer',
    ...change,
  });
  const keysOf = ({ agents }: ActiveAgentInvoice) => agents.map(({ agent_key }) => agent_key);

  describe('what counts', () => {
    it('is an authorized execution of a tool by an agent of the tenant, for the operator', async () => {
      await append(
        '2026-03-20T12:00:00.250Z',
        execution({ agent: 'runs' }),
        execution({ agent: 'executes', event_kind: 'execution.completed', method: 'execution.completed' }),
        execution({ agent: 'refused', authorized: false }),
        execution({ agent: 'toolless', tool_name: null }),
        execution({ agent: 'demo', state_namespace: 'demo' }),
        execution({ agent: 'judged-only', event_kind: 'proxy.verdict', method: 'proxy.verdict' }),
        execution({ agent: 'nameless', agent_spiffe: null }),
        execution({ agent: 'short', agent_spiffe: 'spiffe://gate.local/tenant/acme/agent/short' }),
        execution({ agent: 'service', agent_spiffe: 'spiffe://gate.local/service/proxy' }),
        execution({ agent: 'elsewhere', tenant: 'other' }),
        execution({
          agent: 'foreign-id',
          agent_spiffe: `spiffe://gate.local/tenant/other/agent/x/instance/${uuid(1)}`,
        }),
      );
      expect(keysOf(await invoice())).toEqual(['acme/executes', 'acme/runs']);
      expect(keysOf(await invoice(FINAL, 'other'))).toEqual(['other/elsewhere']);
    });

    it('is counted by agent, whatever the instance of its SVID, once per event and stage, else per call and method', async () => {
      const bound = { said: { forensic_identity: { event_id: uuid(7_000), stage: 'execution.completed' } } };
      const started = { said: { forensic_identity: { event_id: uuid(7_000), stage: 'execution.started' } } };
      await append('2026-03-21T00:00:00Z', execution({ correlation_id: uuid(9_001) }), execution(bound));
      await append(
        '2026-03-22T00:00:00Z',
        execution({ correlation_id: uuid(9_001) }),
        execution(bound),
        execution(started),
        execution({ correlation_id: null }),
        execution({ correlation_id: null }),
        execution({ agent: 'agent-b', correlation_id: uuid(9_001) }),
      );
      expect((await invoice()).agents).toMatchObject([
        {
          agent_key: 'acme/agent-a',
          qualified_events: 5,
          late_events: 0,
          first_qualified_at: '2026-03-21T00:00:00.000Z',
          last_qualified_at: '2026-03-22T00:00:00.000Z',
        },
        { agent_key: 'acme/agent-b', qualified_events: 1 },
      ]);
    });

    it('lies in the 30 days before as_of, by when its author says that it happened', async () => {
      await append('2026-03-01T00:00:00Z');
      now = at('2026-02-28T23:59:59.999Z');
      await append('2026-02-28T23:59:59.999Z', execution({ agent: 'too-early' }));
      await append('2026-03-01T00:00:00.000Z', execution({ agent: 'first' }));
      await append('2026-03-30T23:59:59.999Z', execution({ agent: 'last' }));
      await append(
        '2026-03-31T00:00:00.000Z',
        execution({ agent: 'too-late' }),
        execution({ agent: 'told-later', said: { at: '2026-03-30T10:00:00.5Z' } }),
        execution({ agent: 'occurred', said: { occurred_at: '2026-03-30T10:00:00.123456789Z', at: AS_OF } }),
        // A value that is not a time, and a time after the report, are ignored: the commit time counts.
        execution({ agent: 'wordy', said: { at: 'yesterday' } }),
        execution({ agent: 'ahead', said: { at: '2026-04-01T00:00:00Z' } }),
      );
      const { agents, window } = await invoice();
      expect(window).toEqual({ kind: 'rolling', days: 30, from: '2026-03-01T00:00:00Z', to: AS_OF });
      expect(
        agents.map(({ agent_key, first_qualified_at: first, late_events }) => [agent_key, first, late_events]),
      ).toEqual([
        ['acme/first', '2026-03-01T00:00:00.000Z', 0],
        ['acme/last', '2026-03-30T23:59:59.999Z', 0],
        ['acme/occurred', '2026-03-30T10:00:00.123Z', 0],
        ['acme/told-later', '2026-03-30T10:00:00.500Z', 0],
      ]);
    });

    it('is late when it arrived after as_of, and is on invoices that were observed long enough', async () => {
      const happened = { said: { at: '2026-03-30T10:00:00Z' } };
      await append('2026-03-30T10:00:01Z', execution());
      await append('2026-03-31T00:00:00.001Z', execution(happened));
      await append('2026-04-01T12:00:00Z', execution({ agent: 'agent-b', ...happened }));
      await append('2026-04-03T00:00:00.001Z', execution({ agent: 'after-the-grace', ...happened }));
      const counts = ({ source, agents, finalization }: ActiveAgentInvoice) => [
        finalization.status,
        source.qualified_event_count,
        source.late_event_count,
        agents.map(({ agent_key, qualified_events, late_events }) => [agent_key, qualified_events, late_events]),
      ];
      expect(counts(await invoice(AS_OF))).toEqual(['preliminary', 1, 0, [['acme/agent-a', 1, 0]]]);
      expect(counts(await invoice(hoursAfter(1)))).toEqual(['preliminary', 2, 1, [['acme/agent-a', 2, 1]]]);
      const all = [
        ['acme/agent-a', 2, 1],
        ['acme/agent-b', 1, 1],
      ];
      expect(counts(await invoice('2026-04-02T23:59:59Z'))).toEqual(['preliminary', 3, 2, all]);
      expect(counts(await invoice(FINAL))).toEqual(['final', 3, 2, all]);
      expect((await invoice(FINAL)).finalization).toEqual({
        late_event_grace_hours: 72,
        final_at: '2026-04-03T00:00:00Z',
        status: 'final',
      });
    });
  });

  describe('an invoice', () => {
    it('commits to its events in their order, and to itself', async () => {
      const [late, early, tied] = ['2026-03-25T00:00:00.000Z', '2026-03-22T00:00:00.000Z', '2026-03-22T00:00:00.000Z'];
      const rows = [
        execution({ agent: 'b', said: { at: early }, correlation_id: 'zz' }),
        execution({ agent: 'a', said: { at: late }, correlation_id: 'aa' }),
        execution({ agent: 'b', said: { at: tied }, correlation_id: 'bb' }),
        execution({ agent: 'a', said: { at: early }, correlation_id: 'cc' }),
      ];
      const receipts = await append('2026-03-26T00:00:00Z', ...rows);
      const item = (index: number, agent: string, occurred: string) => ({
        agent_key: `acme/${agent}`,
        occurred_at: occurred,
        stage_identity: `call:${rows[index]?.correlation_id}:upstream.outcome`,
        entry_id: receipts[index]?.id,
        entry_hash: receipts[index]?.entry_hash,
        late: false,
      });
      const [a, b] = [
        [item(3, 'a', early), item(1, 'a', late)],
        [item(2, 'b', tied), item(0, 'b', early)],
      ];
      const issued = await invoice();
      expect(issued).toMatchObject({
        contract: 'gate.active-agent-meter/v1',
        meter_version: '1.0.0',
        tenant: 'acme',
        observed_through: FINAL,
        base_active_agents: 2,
        net_active_agents: 2,
        source: {
          qualification: 'authorized tool execution by exact tenant-qualified agent',
          deduplication: 'tenant+agent+stable-stage-identity',
          qualified_event_count: 4,
          late_event_count: 0,
          event_commitment: sha256([...a, ...b]),
          adjustment_commitment: sha256([]),
          chain_length: 4,
          chain_head: receipts[3]?.entry_hash,
        },
      });
      expect(issued.agents.map(({ source_commitment }) => source_commitment)).toEqual([sha256(a), sha256(b)]);
      const { invoice_sha256, ...rest } = issued;
      expect(invoice_sha256).toBe(sha256(rest));
    });

    it('of an empty ledger has nothing on it and stands on the genesis', async () => {
      expect(await invoice()).toMatchObject({
        agents: [],
        base_active_agents: 0,
        net_active_agents: 0,
        source: { event_commitment: sha256([]), chain_length: 0, chain_head: '0'.repeat(64) },
      });
    });

    it('is not changed by a byte by anything that is appended later', async () => {
      await append('2026-03-30T10:00:00Z', execution(), execution({ agent: 'agent-b' }));
      await append('2026-03-31T01:00:00Z', execution({ said: { at: '2026-03-30T10:00:00Z' } }));
      now = at(hoursAfter(2));
      await ledger.activeAgents.adjust(adjustment());
      const moments = [AS_OF, hoursAfter(1), hoursAfter(3), FINAL];
      const issued = [];
      // Each invoice is made in the very millisecond it observes through: rows of that millisecond are on it now, or never.
      for (const moment of moments) {
        now = at(moment);
        issued.push(JSON.stringify(await invoice0(moment)));
        await append(
          moment,
          execution({ agent: `after-${moments.indexOf(moment)}`, said: { at: '2026-03-30T11:00:00Z' } }),
        );
        await append(moment, execution({ tenant: 'other' }), testRow({ signal: 'decoy_tripped' }));
      }
      // A clock set back commits nothing before an invoice, and a signed row with an older timestamp is still appended at the end.
      now = at(hoursAfter(1));
      await append(hoursAfter(1), execution({ agent: 'backdated', said: { at: '2026-03-30T11:00:00Z' } }));
      await ledger.append([rowSigner().row('2026-03-30T12:00:00.000Z', execution({ agent: 'signed' }))]);
      await append('2026-04-20T00:00:00Z', execution({ said: { at: '2026-03-30T11:00:00Z' } }));
      await ledger.erasure.tombstoneTenant('other');
      const again = [];
      for (const moment of moments) again.push(JSON.stringify(await invoice0(moment)));
      expect(again).toEqual(issued);

      // Another process that reads the same ledger gets the same invoice.
      await ledger.close();
      ledger = await openEvidencedLedger({ target: place.target, sidecarKeys: place.keys, clock: () => now });
      expect(JSON.stringify(await invoice0(FINAL))).toBe(issued[3]);
    });
    const invoice0 = (observedThrough: string) =>
      ledger.activeAgents.invoice({ tenant: 'acme', asOf: AS_OF, observedThrough });

    it("takes a signed row, which has its signer's time, as arrived with the unsigned row behind it", async () => {
      const signed = (agent: string) => rowSigner().row('2026-03-30T09:00:00.000Z', execution({ agent }));
      await append('2026-03-30T10:00:00Z', execution(), signed('in-between'));
      await append('2026-03-30T11:00:00Z', execution());
      const issued = await invoice(AS_OF);
      expect(keysOf(issued)).toEqual(['acme/agent-a', 'acme/in-between']);
      await append(hoursAfter(1), signed('at-the-end'));
      expect(await invoice(AS_OF)).toEqual(issued);
      expect(keysOf(await invoice(hoursAfter(2)))).toEqual(['acme/agent-a', 'acme/in-between']);
      await append(hoursAfter(3), testRow());
      expect((await invoice(hoursAfter(4))).agents[0]).toMatchObject({ agent_key: 'acme/agent-a', late_events: 0 });
      expect((await invoice(hoursAfter(4))).agents[1]).toMatchObject({ agent_key: 'acme/at-the-end', late_events: 1 });
    });

    it('waits for a commit that is under way', async () => {
      now = at(AS_OF);
      const appended = ledger.append([execution({ said: { at: '2026-03-30T11:00:00Z' } })]);
      // The commit starts in the next turn, before the invoice reads its place in the chain.
      await new Promise((resolve) => setImmediate(resolve));
      const first = await invoice0(AS_OF);
      const [receipt] = await appended;
      expect((await invoice0(AS_OF)).invoice_sha256).toBe(first.invoice_sha256);
      expect(first.source.chain_length).toBe(receipt?.seq);
    });

    it('counts what one page does not hold', async () => {
      for (let page = 0; page < 6; page++)
        await append(
          '2026-03-21T00:00:00Z',
          ...Array.from({ length: 450 }, (_, index) => execution({ agent: `agent-${(page * 450 + index) % 700}` })),
        );
      const { base_active_agents, source, agents } = await invoice();
      expect([base_active_agents, source.qualified_event_count]).toEqual([700, 2_700]);
      expect(agents.reduce((sum, { qualified_events }) => sum + qualified_events, 0)).toBe(2_700);
      expect(keysOf({ agents } as ActiveAgentInvoice)).toEqual(agents.map(({ agent_key }) => agent_key).toSorted());
    }, 60_000);

    describe('for an invalid window', () => {
      sharedHere();
      it.each([
        ['as_of without its seconds', '2026-03-31T00:00Z', FINAL],
        ['as_of with milliseconds', '2026-03-31T00:00:00.000Z', FINAL],
        ['as_of with another zone', '2026-03-31T00:00:00+00:00', FINAL],
        ['as_of that names no day', '2026-02-30T00:00:00Z', '2026-03-02T00:00:00Z'],
        ['no as_of', '', FINAL],
        ['observed_through with a fraction', AS_OF, '2026-03-31T00:00:00.5Z'],
        ['no observed_through', AS_OF, ''],
        ['observed_through before as_of', AS_OF, '2026-03-30T23:59:59Z'],
        ['observed_through beyond the grace', AS_OF, '2026-04-03T00:00:01Z'],
        ['as_of in the future', '2026-05-01T00:00:01Z', '2026-05-01T00:00:01Z'],
        ['observed_through in the future', '2026-05-01T00:00:00Z', '2026-05-01T00:00:01Z'],
      ])('refuses %s', async (_what, asOf, observedThrough) => {
        now = at('2026-05-01T00:00:00Z');
        await expect(ledger.activeAgents.invoice({ tenant: 'acme', asOf, observedThrough })).rejects.toMatchObject({
          code: 'invalid_meter_window',
          status: 400,
        });
        expect((await ledger.head()).length).toBe(0);
      });
    });

    it('is not issued over a chain that does not hold', async () => {
      await append('2026-03-21T00:00:00Z', execution(), execution());
      await place.unlock();
      await place.sql(
        "update ledger_entries set agent_spiffe = replace(agent_spiffe, 'agent-a', 'agent-z') where seq = 1",
      );
      const broken = { code: 'chain_verification_incomplete', status: 503 };
      await expect(invoice(AS_OF)).rejects.toMatchObject(broken);
      await expect(ledger.activeAgents.adjust(adjustment())).rejects.toMatchObject(broken);
    });

    it('shows nothing of a tenant that was erased', async () => {
      await append('2026-03-21T00:00:00Z', execution());
      await ledger.erasure.tombstoneTenant('acme');
      expect((await invoice()).agents).toEqual([]);
    });
  });

  describe('an adjustment', () => {
    const threeAgents = fixture(async () => {
      await append(
        '2026-03-21T00:00:00Z',
        execution(),
        execution({ agent: 'agent-b' }),
        execution({ agent: 'agent-c' }),
      );
      now = at(hoursAfter(5));
    });
    const refusal = (request: JsonObject, code: string, status: number) =>
      expect(ledger.activeAgents.adjust(request)).rejects.toMatchObject({ code, status });

    it('leaves one row, and is on its invoice from then on', async () => {
      const request = adjustment({ agent_key: 'acme/agent-b' });
      const receipt = await ledger.activeAgents.adjust(request);
      expect(receipt).toMatchObject({ retained: false, adjustment_sha256: sha256(request), entry_seq: 4 });
      expect(await ledger.get(receipt.entry_id)).toMatchObject({
        event_kind: 'active_agent.adjusted',
        method: 'active_agent.adjusted',
        tenant: 'acme',
        state_namespace: 'operator',
        policy_decision: request,
        entry_hash: receipt.entry_hash,
      });
      const correction = adjustment({
        idempotency_key: '0aaaaaaa-0000-4000-8000-000000000002',
        kind: 'correction',
        units_delta: 7,
      });
      await ledger.activeAgents.adjust(correction);
      expect(await invoice(hoursAfter(4))).toMatchObject({ net_active_agents: 3, adjustments: [] });
      const adjusted = await invoice(hoursAfter(6));
      expect(adjusted).toMatchObject({ base_active_agents: 3, net_active_agents: 9 });
      expect(adjusted.adjustments).toEqual([
        expect.objectContaining({ idempotency_key: correction.idempotency_key, units_delta: 7 }),
        {
          idempotency_key: request.idempotency_key,
          kind: 'credit',
          units_delta: -1,
          agent_key: 'acme/agent-b',
          reason: 'agreed with the customer',
          recorded_at: new Date(at(hoursAfter(5))).toISOString(),
          source_entry_id: receipt.entry_id,
          source_entry_hash: receipt.entry_hash,
        },
      ]);
      expect(adjusted.source.adjustment_commitment).toBe(sha256(adjusted.adjustments));
      // Other invoices, and those of other tenants, did not change.
      expect((await invoice('2026-03-30T00:00:00Z', 'acme', '2026-03-30T00:00:00Z')).adjustments).toEqual([]);
      expect((await invoice(FINAL, 'other')).adjustments).toEqual([]);
    });

    it('is recorded once per key: the same again is retained, at any time, and other content is a conflict', async () => {
      const first = await ledger.activeAgents.adjust(adjustment());
      const length = (await ledger.head()).length;
      now = at('2026-04-20T00:00:00Z');
      expect(await ledger.activeAgents.adjust(adjustment())).toEqual({ ...first, retained: true });
      await refusal(adjustment({ reason: 'other words' }), 'adjustment_conflict', 409);
      await refusal(adjustment({ tenant: 'other' }), 'adjustment_conflict', 409);
      expect((await ledger.head()).length).toBe(length);
      expect((await invoice()).net_active_agents).toBe(2);
    });

    it('never takes an invoice below 0, also when several come at once', async () => {
      await refusal(adjustment({ units_delta: -4 }), 'adjustment_below_zero', 422);
      const asked = await Promise.allSettled(
        [1, 2, 3, 4, 5].map((number) =>
          ledger.activeAgents.adjust(adjustment({ idempotency_key: `bbbbbbbb-0000-4000-8000-00000000000${number}` })),
        ),
      );
      expect(asked.map(({ status }) => status)).toEqual([...Array(3).fill('fulfilled'), ...Array(2).fill('rejected')]);
      expect(await invoice()).toMatchObject({ base_active_agents: 3, net_active_agents: 0 });
      expect((await invoice()).adjustments).toHaveLength(3);
    });

    describe('that is invalid', () => {
      sharedHere();
      threeAgents.sharedHere();
      it.each([
        ['of another contract', { contract: 'gate.active-agent-adjustment/v2' }],
        ['of another meter', { meter_version: '1.0.1' }],
        ['with a word more', { note: 'x' }],
        ['of no tenant', { tenant: 'a/b' }],
        ['under a key that is no UUID', { idempotency_key: 'key' }],
        ['under a key in capitals', { idempotency_key: 'AAAAAAAA-0000-4000-8000-000000000001' }],
        ['of another kind', { kind: 'debit' }],
        ['of nothing', { kind: 'correction', units_delta: 0 }],
        ['of half an agent', { units_delta: -0.5 }],
        ['of too much', { kind: 'correction', units_delta: 100_001 }],
        ['that credits upwards', { units_delta: 1 }],
        ["for another tenant's agent", { agent_key: 'other/agent-a' }],
        ['for what is no agent', { agent_key: 'agent-a' }],
        ['without a reason', { reason: '' }],
        ['with too long a reason', { reason: 'x'.repeat(513) }],
        ['with a reason that no store keeps', { reason: 'a\0b' }],
        ['of a time with a fraction', { target_as_of: '2026-03-31T00:00:00.000Z' }],
        ['of a day that does not exist', { target_as_of: '2026-02-30T00:00:00Z' }],
        ['of an invoice to come', { target_as_of: '2026-03-31T05:00:01Z' }],
        ['of an invoice that is final', { target_as_of: '2026-03-28T04:59:59Z' }],
      ])('%s is refused, and nothing is recorded', async (_what, change) => {
        await refusal(adjustment(change), 'invalid_adjustment', 400);
        expect((await ledger.head()).length).toBe(3);
      });
    });

    it('is none when somebody else wrote the row', async () => {
      await append(
        hoursAfter(5),
        testRow({
          event_kind: 'active_agent.adjusted',
          method: 'active_agent.adjusted',
          policy_decision: adjustment(),
        }),
        testRow({ event_kind: 'active_agent.adjusted', method: 'active_agent.adjusted', policy_decision: null }),
      );
      expect(await invoice()).toMatchObject({ net_active_agents: 3, adjustments: [] });
    });
  });
});
