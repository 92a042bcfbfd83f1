import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { canonicalDigest } from '../../../domain/crypto/digest.js';
import { startRetention } from '../../../adapters/review/retention-sweep.js';
import { type HilAsk, type HilFixture, openHil, OPERATOR, OTHER_OPERATOR, T0 } from '../../../test/support/hil.js';
import { eventually } from '../../../test/support/waiting.js';

const DAY_MS = 86_400_000;
const HOLD = '00000000-0000-4000-9000-000000000100';
const operation = (n: number) => `00000000-0000-4000-9000-${String(n).padStart(12, '0')}`;
const reason = `sha256:${createHash('sha256').update('court order 7 O 12/26').digest('hex')}`;

describe('POST /admin/pending/{id}/legal-hold', () => {
  let hil: HilFixture;
  beforeEach(async () => {
    hil = await openHil('sqlite');
  }, 60_000);
  afterEach(() => hil.close());

  const body = { operation_id: operation(1), action: 'apply', hold_id: HOLD, authority_reason_sha256: reason };
  const hold = (id: string, over: Record<string, unknown> = {}, asked: HilAsk = {}) =>
    hil.ask(`/admin/pending/${id}/legal-hold`, {
      method: 'POST',
      token: OPERATOR,
      body: { ...body, ...over },
      ...asked,
    });

  it('answers with a receipt that its digest covers, shows who holds the row, and holds it until the release', async () => {
    const row = await hil.park(1);
    await hil.settle(row);
    const { status, body: receipt } = await hold(row.id);
    expect(status).toBe(200);
    const { receipt_sha256, ...said } = receipt;
    expect(said).toEqual({
      contract: 'gate.hil-legal-hold/v1',
      operation_id: operation(1),
      action: 'apply',
      hold_id: HOLD,
      state: 'held',
      deletion_disposition: 'retained',
      updated_at: new Date(T0).toISOString(),
    });
    expect(receipt_sha256).toBe(canonicalDigest(said as never));
    expect((await hil.ask(`/pending/${row.id}`)).body['retention']).toMatchObject({
      legal_hold: { hold_id: HOLD, by: 'operator:dev' },
    });
    hil.now = T0 + 31 * DAY_MS;
    expect(await hil.reviews.sweep()).toMatchObject({ purged: 0, deleted: 0 });
    expect(await hold(row.id)).toMatchObject({ status: 200, body: receipt });
    const release = { operation_id: operation(2).toUpperCase(), action: 'release' };
    expect(await hold(row.id, release)).toMatchObject({
      status: 200,
      body: { operation_id: operation(2), state: 'released', deletion_disposition: 'deleted' },
    });
    expect(await hil.ask(`/pending/${row.id}`)).toMatchObject({ status: 404 });
  });

  it.each([
    ['an operation id that was used otherwise', 409, 'operation_conflict', { hold_id: operation(9) }],
    [
      'a release of another hold',
      409,
      'hold_conflict',
      { action: 'release', operation_id: operation(2), hold_id: operation(9) },
    ],
    ['the reason itself', 400, 'invalid_request', { reason: 'court order 7 O 12/26' }],
    ['a reason that is no digest', 400, 'invalid_request', { authority_reason_sha256: 'court order' }],
    ['another action', 400, 'invalid_request', { action: 'extend' }],
    ['an invalid id', 400, 'invalid_request', { operation_id: '7' }],
  ])('refuses %s, and the hold stays as it is', async (_what, status, error, over) => {
    const row = await hil.park(1);
    await hold(row.id);
    const before = await hil.place.sql('select * from review_holds');
    expect(await hold(row.id, over)).toMatchObject({ status, body: { error } });
    expect(await hil.place.sql('select * from review_holds')).toEqual(before);
    expect((await hil.reviews.get(row.id))?.retention).toMatchObject({ legal_hold: { hold_id: HOLD } });
  });

  it.each([
    ['another tenant', 404, { tenant: 'globex', token: OTHER_OPERATOR }],
    ['a console without a person', 401, { token: 'x'.repeat(40) }],
    ['the proxy', 403, { as: 'proxy' }],
    ['the simulator', 403, { as: 'simulator', tenant: null }],
    ['nobody', 401, { as: null }],
  ] as const)('is refused to %s before anything of the body is looked at', async (_who, status, asked) => {
    const row = await hil.park(1);
    expect((await hold(row.id, status === 404 ? {} : { action: 'nonsense' }, asked)).status).toBe(status);
    expect(await hil.place.sql('select * from review_holds')).toEqual([]);
  });

  it('knows no unknown row', async () => {
    expect(await hold(operation(7))).toMatchObject({ status: 404, body: { error: 'not_found' } });
  });

  it('what is due goes without anybody asking, and what could not be dealt with is told', async () => {
    const row = await hil.park(1, { approval_tier: 'auto' });
    hil.now = T0 + 3 * DAY_MS;
    const told: [string, unknown][] = [];
    const logger = {
      info: (fields: unknown) => void told.push(['info', fields]),
      error: (fields: unknown) => void told.push(['error', fields]),
    };
    const sweep = startRetention(hil.reviews.sweeping, 5, logger as never);
    await eventually('the request went', async () => (await hil.reviews.get(row.id))?.retention['payload_tombstone']);
    await sweep.stop();
    expect(told).toEqual([['info', { purged: 1, deleted: 0 }]]);
    const failing = startRetention(
      {
        sweep: () => Promise.resolve({ purged: 0, deleted: 0, failed: 2 }),
        timeToSweep: () => Promise.resolve({ atMs: hil.now, doubt: null }),
      },
      60_000,
      logger as never,
    );
    await failing.stop();
    expect(told.at(-1)).toEqual(['error', { failed: 2 }]);
  });
});
