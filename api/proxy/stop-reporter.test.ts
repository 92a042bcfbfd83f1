import { describe, expect, it } from '@jest/globals';
import type { DueStopReport, StopCalls } from '../../contracts/identity.js';
import type { CallRecord } from '../../domain/call/record.js';
import { callInput } from '../../test/support/call-input.js';
import { callUnderWay } from '../../test/support/call-under-way.js';
import { eventually } from '../../test/support/waiting.js';
import { createStopReporter } from './stop-reporter.js';

const STOPPED = Date.parse('2026-11-02T10:00:00.000Z');
const due = (change: Partial<DueStopReport> = {}): DueStopReport => ({
  id: '70000000-0000-4000-8000-000000000007',
  tenant: 'acme',
  kind: 'agent',
  name: 'bot',
  stopped_at: new Date(STOPPED).toISOString(),
  ...change,
});
function running(change: { readonly agent?: string; readonly tool?: string } = {}): CallRecord {
  return callUnderWay(callInput(STOPPED - 50, change), { created_ms: STOPPED - 40, updated_ms: STOPPED - 30 });
}

function reporting(records: readonly CallRecord[], dues: DueStopReport[], leftOut = 0) {
  const told: [string, StopCalls][] = [];
  const asked: unknown[][] = [];
  const faults: (string | null)[] = [];
  const state = { away: false, refuses: '' };
  const reporter = createStopReporter({
    identity: async () => ({
      async stopReportsDue() {
        if (state.away) throw new Error('identity cannot be reached');
        return dues.splice(0);
      },
      async tellStopReport(id, said) {
        if (id === state.refuses) throw new Error('identity refuses it');
        told.push([id, said]);
      },
    }),
    calls: {
      async openSince(...of) {
        asked.push(of);
        return { records, leftOut };
      },
    },
    onFault: (reason) => void faults.push(reason),
    everyMs: 1,
    now: () => STOPPED + 2_500,
  });
  return { reporter, told, asked, faults, state };
}

describe('what a proxy tells of stops', () => {
  it.each([
    ['an agent', due(), { tenant: 'acme', agent: 'bot', tool: null }],
    ['a tool', due({ kind: 'tool', name: 'pay' }), { tenant: 'acme', agent: null, tool: 'pay' }],
    ['a tenant', due({ kind: 'tenant', name: null }), { tenant: 'acme', agent: null, tool: null }],
  ])('is the calls of %s that had not ended then', async (_what, one, of) => {
    const { reporter, told, asked } = reporting([running()], [one], 4);
    await reporter.once();
    expect(asked).toEqual([[of, STOPPED, 5_000]]);
    expect(told).toEqual([
      [
        one.id,
        {
          looked_at: new Date(STOPPED + 2_500).toISOString(),
          calls: [expect.objectContaining({ was: 'running', state: 'intended', agent: 'bot' })],
          left_out: 4,
        },
      ],
    ]);
  });

  it('counts what cannot be told as left out: a name that somebody wrote into the store keeps no report back', async () => {
    const { reporter, told } = reporting([running(), running({ agent: 'x'.repeat(300) })], [due()]);
    await reporter.once();
    expect(told).toMatchObject([[due().id, { calls: [{ agent: 'bot' }], left_out: 1 }]]);
  });

  it('is no more than identity takes, however long the names are', async () => {
    const records = Array.from({ length: 5_000 }, () => running({ tool: '\u20ac'.repeat(256) }));
    const { reporter, told } = reporting(records, [due()]);
    await reporter.once();
    const [[, said] = []] = told;
    expect(Buffer.byteLength(JSON.stringify(said))).toBeLessThan(8_388_608);
    expect(said?.calls.length).toBeGreaterThan(4_000);
    expect(said?.left_out).toBe(5_000 - (said?.calls.length ?? 0));
  });

  it('is told of every other stop where identity refuses one', async () => {
    const other = '70000000-0000-4000-8000-000000000008';
    const { reporter, told, state } = reporting([], [due(), due({ id: other })]);
    state.refuses = due().id;
    await expect(reporter.once()).rejects.toThrow('identity refuses it');
    expect(told.map(([id]) => id)).toEqual([other]);
  });

  it('goes on where identity was away, and says once that it was, and once that it is back', async () => {
    const { reporter, told, faults, state } = reporting([], [due()]);
    state.away = true;
    reporter.begin();
    await eventually('a fault is said', () => faults.length > 0);
    state.away = false;
    await eventually('it is told', () => told.length > 0);
    await eventually('the end is said', () => faults.length > 1);
    await reporter.stop();
    expect(faults).toEqual(['identity cannot be reached', null]);
  });
});
