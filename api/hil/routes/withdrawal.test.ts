import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { SignedDecision } from '../../../contracts/review.js';
import { type HilFixture, openHil } from '../../../test/support/hil.js';

let hil: HilFixture;
const sent: SignedDecision[] = [];
beforeEach(async () => {
  sent.length = 0;
  hil = await openHil('sqlite', {
    sender: {
      decide(signed) {
        sent.push(signed);
        const { pending_id, decided_at, reason, decided_via, principal, request_id } = signed;
        const said = { pending_id, status: 'denied' as const, decided_at, decision_reason: reason, decided_via };
        return Promise.resolve({
          outcome: 'applied',
          settled: { ...said, decided_by: principal.subject, principal, request_id },
        });
      },
    },
  });
});
afterEach(() => hil.close());

const withdraw = async (correlationId: string, body: object, as = 'proxy') =>
  (
    await hil.service.app.inject({
      method: 'POST',
      url: `/pending/by-correlation/${correlationId}/withdrawal`,
      headers: { 'x-test-caller': as, 'x-gate-tenant-scope': 'acme' },
      payload: body,
    })
  ).statusCode;
const AGENT = { tenant: 'acme', agent_id: 'payments-agent' };

describe('an agent withdraws its call, as the proxy tells it', () => {
  it('which denies the row by a signed decision that names no person', async () => {
    const row = await hil.park(1);
    expect(await withdraw(row.correlation_id, AGENT)).toBe(204);
    expect(sent).toMatchObject([
      { decision: 'deny', pending_id: row.id, principal: { subject: 'system:withdrawn-by-agent', method: 'system' } },
    ]);
    expect(await hil.reviews.get(row.id)).toMatchObject({
      status: 'withdrawn',
      decided_by: 'system:withdrawn-by-agent',
      decision_reason: 'the agent withdrew its call',
    });
    // A second time there is nothing to decide.
    expect(await withdraw(row.correlation_id, AGENT)).toBe(204);
    expect(sent).toHaveLength(1);
  });

  it('which nobody has to read for it: of a request that does not open any more it is the same, also once the call is over', async () => {
    const [waits, expired] = [await hil.park(1), await hil.park(2)];
    await hil.settle(expired, { status: 'expired' });
    await hil.place.sql('delete from review_keys');
    await expect(hil.reviews.get(waits.id)).rejects.toMatchObject({ code: 'payload_unavailable' });
    for (const { correlation_id } of [waits, waits, expired, expired])
      expect(await withdraw(correlation_id, AGENT)).toBe(204);
    expect(sent).toMatchObject([{ pending_id: waits.id, action_digest: waits.original_payload_digest }]);
    const [over] = (await hil.reviews.list({ tenant: 'acme', status: 'withdrawn' })).rows;
    expect(over).toMatchObject({ id: waits.id, decided_by: 'system:withdrawn-by-agent' });
    expect(await withdraw(waits.correlation_id, { ...AGENT, agent_id: 'somebody' })).toBe(404);
  });

  it.each<[string, object, string, number]>([
    ['another agent’s', { ...AGENT, agent_id: 'somebody' }, 'proxy', 404],
    ['another tenant’s', { ...AGENT, tenant: 'globex' }, 'proxy', 404],
    ['without saying whose', {}, 'proxy', 400],
    ['as the console', AGENT, 'console', 403],
  ])('and not %s', async (_, body, as, status) => {
    const row = await hil.park(1);
    expect(await withdraw(row.correlation_id, body, as)).toBe(status);
    expect(sent).toEqual([]);
    expect(await hil.reviews.get(row.id)).toMatchObject({ status: 'pending' });
  });
});
