import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { NewLedgerRow } from '../../../contracts/ledger.js';
import { ledgerPlace, STORES, type TestLedgerPlace, testRow } from '../../../test/support/ledger.js';
import { uuidFromDigest } from '../../../domain/crypto/digest.js';
import { type EvidencedLedger, openEvidencedLedger } from '../../../test/support/evidenced-ledger.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.parse('2026-03-10T12:30:00.000Z');

describe.each(STORES)('watchdogs, on %s', (kind) => {
  let place: TestLedgerPlace;
  let now: number;
  let ledger: EvidencedLedger;
  const open = () => openEvidencedLedger({ target: place.target, sidecarKeys: place.keys, clock: () => now });
  beforeEach(async () => {
    now = START;
    place = await ledgerPlace(kind);
    ledger = await open();
  });
  afterEach(async () => {
    await ledger.close();
    await place.remove();
  });
  const reopen = async () => {
    await ledger.close();
    ledger = await open();
  };
  const at = async (ms: number, rows: readonly NewLedgerRow[]) => {
    now = ms;
    await ledger.append(rows);
  };
  const flags = async (event_kind: string) =>
    (await ledger.newest(1_000)).filter((row) => row.event_kind === event_kind).toReversed();

  describe('silence', () => {
    const bark = () => ledger.watchdogs.silence({ thresholdHours: 6 });
    const enrolled = (name: string, change: Partial<NewLedgerRow> = {}) =>
      testRow({
        agent_id: uuidFromDigest('registry', name),
        agent_name: name,
        event_kind: 'agent.registered',
        method: 'agent.registered',
        ...change,
      });

    it('flags an agent once per silence, whoever looks how often', async () => {
      const seen: unknown[] = [];
      ledger.observeFlags((kind, flags) => seen.push({ kind, flags }));
      await ledger.append([testRow({ agent_id: 'one' }), testRow({ agent_id: 'two', tenant: 'other' })]);
      now += 6 * HOUR - 1;
      expect(await bark()).toBe(0);
      now += 1;
      expect(await Promise.all([bark(), bark()])).toEqual(expect.arrayContaining([2, 0]));
      expect(seen).toEqual([{ kind: 'agent_silent', flags: 2 }]);
      now += HOUR;
      expect(await bark()).toBe(0);
      await reopen();
      expect(await bark()).toBe(0);
      expect(await flags('agent_silent')).toMatchObject([
        {
          agent_id: 'one',
          tenant: 'acme',
          signal: 'agent_silent',
          method: 'agent_silent',
          policy_decision: { agent_name: 'one', silent_since: new Date(START).toISOString(), never_active: false },
        },
        { agent_id: 'two', tenant: 'other' },
      ]);
    });

    it('flags it again after it was heard in between, and its own flag is no sign of life', async () => {
      await ledger.append([testRow({ agent_id: 'one' })]);
      now += 7 * HOUR;
      expect(await bark()).toBe(1);
      now += 7 * HOUR;
      expect(await bark()).toBe(0);
      await ledger.append([testRow({ agent_id: 'one' })]);
      expect(await bark()).toBe(0);
      now += 6 * HOUR;
      expect(await bark()).toBe(1);
      expect(await flags('agent_silent')).toHaveLength(2);
      expect(await ledger.verify()).toMatchObject({ valid: true });
    });

    it('flags one that was enrolled and never heard; none that is expected to be silent, suspended or gone', async () => {
      await ledger.append([
        enrolled('never'),
        enrolled('expected'),
        enrolled('gone'),
        enrolled('gone', { event_kind: 'agent.decommissioned', method: 'agent.decommissioned' }),
        testRow({ agent_id: 'gate-proxy' }),
      ]);
      await ledger.silence.allow({ agent_id: 'expected', reason: 'nightly', source: 'test', created_by: 'dev' });
      now += 6 * HOUR;
      expect(await bark()).toBe(1);
      expect(await flags('agent_silent')).toMatchObject([
        { agent_id: 'never', policy_decision: { silent_since: new Date(START).toISOString(), never_active: true } },
      ]);
      await ledger.silence.remove('expected');
      expect(await bark()).toBe(1);
    });

    it('is not told twice where the flag is hidden', async () => {
      await ledger.append([testRow({ agent_id: 'one' }), testRow({ agent_id: 'one', tenant: 'kept' })]);
      now += 6 * HOUR;
      expect(await bark()).toBe(2);
      await ledger.erasure.tombstoneTenant('acme');
      expect(await bark()).toBe(0);
    });

    it('is told of more agents than fit into one step', async () => {
      await ledger.append(Array.from({ length: 250 }, (_, index) => testRow({ agent_id: `agent-${index}` })));
      now += 6 * HOUR;
      expect(await bark()).toBe(250);
      expect(await bark()).toBe(0);
    });
  });

  describe('drift', () => {
    const bark = () => ledger.watchdogs.drift({ recentDays: 7, baselineDays: 14 });
    const calls = (count: number, change: Partial<NewLedgerRow>) =>
      Array.from({ length: count }, () => testRow(change));
    /** Agents named `agent-a` in two tenants: the one of acme switches to another tool, the other does not change. */
    async function drifting(): Promise<void> {
      await at(START - 10 * DAY, [
        ...calls(60, { tool_name: 'files.read' }),
        ...calls(60, { tool_name: 'files.read', tenant: 'other' }),
      ]);
      await at(START - DAY, [
        ...calls(50, { tool_name: 'mail.send', authorized: false, policy_decision: { outcome: 'deny' } }),
        ...calls(60, { tool_name: 'files.read', tenant: 'other' }),
      ]);
      now = START;
    }

    it('flags the agent of the tenant that drifted, with integers', async () => {
      await drifting();
      expect(await bark()).toBe(1);
      const [flag] = await flags('behavior_drifted');
      expect(flag).toMatchObject({
        agent_id: 'agent-a',
        tenant: 'acme',
        signal: 'behavior_drifted',
        policy_decision: {
          until: '2026-03-10T12:00:00.000Z',
          recent_days: 7,
          baseline_days: 14,
          overall_bp: 10_000,
          tool_mix_bp: 10_000,
          hourly_bp: 0,
          intent_bp: 0,
          deny_rate_bp: 10_000,
          baseline_total: 60,
          recent_total: 50,
          new_tools: ['mail.send'],
          new_tool_count: 1,
          vanished_tools: ['files.read'],
          vanished_tool_count: 1,
        },
      });
      expect(await ledger.verify()).toMatchObject({ valid: true });
    });

    it('flags it once per recent window, whoever looks how often', async () => {
      await drifting();
      expect(await Promise.all([bark(), bark()])).toEqual(expect.arrayContaining([1, 0]));
      await reopen();
      now += 2 * HOUR;
      expect(await bark()).toBe(0);
      // The drift goes on: last week's flag is before the recent window, and the new rows are compared with those before them.
      await at(START + 6 * DAY, calls(60, { tool_name: 'disk.format' }));
      now = START + 7 * DAY - HOUR;
      expect(await bark()).toBe(0);
      now = START + 7 * DAY + 2 * HOUR;
      expect(await bark()).toBe(1);
      expect(await flags('behavior_drifted')).toHaveLength(2);
    });

    it('flags none that did not drift, or of which too little is known', async () => {
      await at(START - 10 * DAY, calls(60, { tool_name: 'files.read' }));
      await at(START - DAY, [
        ...calls(60, { tool_name: 'files.read' }),
        ...calls(49, { agent_id: 'new', tool_name: 'mail.send' }),
      ]);
      now = START;
      expect(await bark()).toBe(0);
    });

    it('names so many tools and says how many there are', async () => {
      await at(START - 10 * DAY, calls(60, {}));
      await at(
        START - DAY,
        Array.from({ length: 150 }, (_, index) => testRow({ tool_name: `tool.${index}` })),
      );
      now = START;
      expect(await bark()).toBe(1);
      const [flag] = await flags('behavior_drifted');
      expect(flag?.policy_decision).toMatchObject({ new_tool_count: 150 });
      expect(flag?.policy_decision?.['new_tools']).toHaveLength(100);
    });
  });
});
