import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { callRows } from '../../../test/support/ledger-calls.js';
import { ledgerService, type TestLedgerService } from '../../../test/support/ledger-service.js';

const TIMES = 'as_of=2026-03-31T00:00:00Z&observed_through=2026-03-31T06:00:00Z';
const METER = `/finops/active-agents?tenant=acme&${TIMES}`;
const ADJUSTMENTS = 'POST /finops/active-agents/adjustments';
const adjustment = {
  contract: 'gate.active-agent-adjustment/v1',
  meter_version: '1.0.0',
  tenant: 'acme',
  target_as_of: '2026-03-31T00:00:00Z',
  idempotency_key: 'aaaaaaaa-0000-4000-8000-000000000001',
  kind: 'correction',
  units_delta: 2,
  agent_key: null,
  reason: 'two agents of the trial',
};

let service: TestLedgerService;
let now = Date.parse('2026-03-30T12:30:00.000Z');
const get = (path: string, as = 'service-console') => service.call(`GET ${path}`, undefined, { as });

beforeAll(async () => {
  service = await ledgerService('sqlite', { ledger: { clock: () => now } });
  // The pipeline's own rows: one call ran, one ran on New Year's Day and was reported late, one is uncertain, one was denied.
  const rows = callRows({ name: 'ran', outcome: 'completed' });
  for (const row of rows)
    if (row.event_kind === 'upstream.outcome')
      row.policy_decision = { ...row.policy_decision, at: '2026-03-30T12:29:00.000Z' };
  await service.ledger.append(rows);
  await service.ledger.append(callRows({ name: 'ran in January', outcome: 'completed' }));
  await service.ledger.append(callRows({ name: 'lost', outcome: 'uncertain' }));
  await service.ledger.append(callRows({ name: 'denied', tier: 'red' }));
  now = Date.parse('2026-04-01T00:00:00.000Z');
});
afterAll(() => service.close());

describe('the active-agent meter over HTTP', () => {
  it('counts the rows of the pipeline by when the call ran', async () => {
    expect((await get(METER)).body).toMatchObject({
      base_active_agents: 1,
      agents: [{ agent_key: 'acme/agent-a', qualified_events: 1, first_qualified_at: '2026-03-30T12:29:00.000Z' }],
    });
  });

  it('exports the same bytes as a file', async () => {
    const [shown, file] = [await get(METER), await get(METER.replace('?', '/export?'))];
    expect([shown.status, file.status]).toEqual([200, 200]);
    expect(file.bytes.equals(shown.bytes)).toBe(true);
    expect(file.headers['content-disposition']).toBe('attachment; filename="gate-acme-active-agents-2026-03-31.json"');
    expect(file.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(shown.headers['content-disposition']).toBeUndefined();
  });

  it('answers an adjustment with 201, the same again with 200', async () => {
    const first = await service.call(ADJUSTMENTS, adjustment);
    expect(first).toMatchObject({ status: 201, body: { retained: false } });
    const again = await service.call(ADJUSTMENTS, adjustment);
    expect(again).toMatchObject({ status: 200, body: { ...first.body, retained: true } });
  });

  it.each([
    ['tenant=acme', 'invalid_meter_window'],
    ['tenant=acme&as_of=2026-03-31T00:00:00Z', 'invalid_meter_window'],
    [`tenant=acme&${TIMES.replace('T06:00:00Z', '')}`, 'invalid_meter_window'],
    [TIMES, 'invalid_request'],
    [`tenant=a/b&${TIMES}`, 'invalid_request'],
  ])('refuses ?%s with %s', async (query, error) => {
    for (const path of ['/finops/active-agents', '/finops/active-agents/export'])
      expect(await get(`${path}?${query}`)).toMatchObject({ status: 400, body: { error } });
  });

  it.each<[string, unknown, number, string]>([
    ['a credit upwards', { ...adjustment, kind: 'credit' }, 400, 'invalid_adjustment'],
    ['nothing', undefined, 400, 'invalid_adjustment'],
    ['a list', [adjustment], 400, 'invalid_adjustment'],
    ['other words under the key', { ...adjustment, reason: 'other' }, 409, 'adjustment_conflict'],
    [
      'more than there is',
      { ...adjustment, idempotency_key: 'aaaaaaaa-0000-4000-8000-000000000002', units_delta: -99 },
      422,
      'adjustment_below_zero',
    ],
  ])('refuses an adjustment of %s', async (_what, body, status, error) => {
    expect(await service.call(ADJUSTMENTS, body)).toMatchObject({ status, body: { error } });
  });

  it('is for the console alone', async () => {
    for (const as of ['service-deep-review', 'service-proxy', 'service-hil', 'service-ledger']) {
      for (const path of [METER, METER.replace('?', '/export?')]) expect((await get(path, as)).status).toBe(403);
      expect((await service.call(ADJUSTMENTS, adjustment, { as })).status).toBe(403);
    }
  });
});
