import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Ledger, NewLedgerRow } from '../../../contracts/ledger.js';
import { prepareRow } from '../../../domain/ledger/entry.js';
import { createControlLog } from './control-log.js';

const bot = (agent = 'bot') => ({
  tenant: 'acme',
  agent,
  spiffe: `spiffe://gate.local/tenant/acme/agent/${agent}/instance/00000000-0000-4000-8000-00000000000a`,
  fingerprint: 'ab'.repeat(32),
});
const ID = '00000000-0000-4000-8000-000000000001';

describe('control calls that reached an upstream', () => {
  let rows: NewLedgerRow[];
  let away: boolean;
  const ledger = {
    append: (given: readonly NewLedgerRow[]) => {
      if (away) return Promise.reject(new Error('the ledger is away'));
      for (const row of given) prepareRow(row);
      rows.push(...given);
      return Promise.resolve([]);
    },
  } as unknown as Ledger;
  const call = (method: string, change: object = {}) => ({
    caller: bot(),
    method,
    correlationId: ID,
    answered: true,
    ...change,
  });
  beforeEach(() => {
    jest.useFakeTimers({ now: 1_767_225_600_000 });
    rows = [];
    away = false;
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('are one row per agent, method and minute, with how many they were', async () => {
    const log = createControlLog({ ledger, now: Date.now });
    for (let n = 0; n < 500; n += 1) log.note(call('tools/list', { answered: n % 100 !== 0 }));
    log.note(call('ping'));
    log.note(call('tools/list', { caller: bot('other') }));
    await jest.advanceTimersByTimeAsync(59_000);
    expect(rows).toEqual([]);
    log.note(call('tools/list'));
    await jest.advanceTimersByTimeAsync(1_000);
    expect(rows.map(({ agent_id, event_kind, policy_decision }) => [agent_id, event_kind, policy_decision])).toEqual([
      [
        'bot',
        'proxy.control',
        {
          rpc_method: 'tools/list',
          calls: 501,
          failed: 5,
          first_at: '2026-01-01T00:00:00.000Z',
          last_at: '2026-01-01T00:00:59.000Z',
        },
      ],
      ['bot', 'proxy.control', expect.objectContaining({ rpc_method: 'ping', calls: 1, failed: 0 })],
      ['other', 'proxy.control', expect.objectContaining({ rpc_method: 'tools/list', calls: 1 })],
    ]);
    log.note(call('tools/list'));
    await jest.advanceTimersByTimeAsync(60_000);
    expect(rows).toHaveLength(4);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(4);
    await jest.advanceTimersByTimeAsync(600_000);
    expect(rows).toHaveLength(4);
  });

  it('name the digests of what an agent said in them, up to fifty different ones, and what was found there', async () => {
    const log = createControlLog({ ledger, now: Date.now });
    for (const sent of ['sha256:a', 'sha256:b', 'sha256:a']) log.note(call('completion/complete', { sent, found: [] }));
    for (let at = 0; at < 50; at += 1) log.note(call('completion/complete', { sent: `${at}`, found: ['API_TOKEN'] }));
    await log.close();
    expect(rows.map(({ policy_decision }) => policy_decision)).toEqual([
      expect.objectContaining({
        calls: 53,
        sent: ['sha256:a', 'sha256:b', ...Array.from({ length: 48 }, (_, at) => `${at}`)],
        sent_more: 2,
        found: ['API_TOKEN'],
      }),
    ]);
  });

  it('are kept while the ledger is away, and written at the end', async () => {
    const log = createControlLog({ ledger, now: Date.now });
    away = true;
    log.note(call('tools/list'));
    await jest.advanceTimersByTimeAsync(60_000);
    log.note(call('tools/list'));
    away = false;
    await log.close();
    expect(rows.map(({ policy_decision }) => policy_decision?.['calls'])).toEqual([1, 1]);
    expect(jest.getTimerCount()).toBe(0);
  });
});
