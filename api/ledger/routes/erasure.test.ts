import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { STORES, testRow } from '../../../test/support/ledger.js';
import { ledgerService, type TestLedgerService } from '../../../test/support/ledger-service.js';

const CORRELATION = '55555555-5555-4555-8555-555555555555';

describe.each(STORES)('erasure on %s', (kind) => {
  let gate: TestLedgerService;
  beforeEach(async () => {
    gate = await ledgerService(kind);
  });
  afterEach(() => gate.close());

  const seqs = async (path: string) => (await gate.call<{ seq: number }[]>(`GET ${path}`)).body.map(({ seq }) => seq);

  describe('POST /admin/tenants/{tenant}/tombstone', () => {
    it('hides the rows of that tenant from every read and says how many, once', async () => {
      await gate.ledger.append([testRow(), testRow({ tenant: 'other' }), testRow({ agent_id: 'agent-b' })]);
      const first = await gate.call('POST /admin/tenants/acme/tombstone', { reason: 'asked for by the customer' });
      expect([first.status, first.body]).toEqual([200, { tombstoned: 2 }]);
      expect(await seqs('/audit/agent-a')).toEqual([2]);
      expect(await seqs(`/audit/correlation/${CORRELATION}`)).toEqual([2]);
      expect((await gate.call('GET /agents')).body).toEqual({ agents: ['agent-a', 'tenant:acme'] });
      expect((await gate.call('POST /admin/tenants/acme/tombstone')).body).toEqual({ tombstoned: 0 });
      expect((await gate.call('POST /admin/tenants/unknown/tombstone', {})).body).toEqual({ tombstoned: 0 });
    });

    it('refuses to hide the rows of Gate itself, such as those about erasures', async () => {
      await gate.ledger.append([testRow(), testRow({ tenant: 'system' })]);
      expect(await gate.call('POST /admin/tenants/system/tombstone', { reason: 'x' })).toMatchObject({
        status: 400,
        body: { error: 'tenant_reserved' },
      });
      expect(await seqs('/audit/agent-a')).toEqual([1, 2]);
    });

    it('leaves the chain whole: the same head, every row walked, and the next row chained to it', async () => {
      await gate.ledger.append([testRow(), testRow()]);
      await gate.call('POST /admin/tenants/acme/tombstone');
      await gate.ledger.append([testRow()]);
      expect(await gate.ledger.verify()).toMatchObject({ valid: true, entries_checked: 4 });
      expect(await seqs('/audit/agent-a')).toEqual([4]);
      expect((await gate.call('POST /admin/tenants/acme/tombstone')).body).toEqual({ tombstoned: 1 });
    });

    it('leaves a row that says what was hidden, with the reason beside it and not in the hash', async () => {
      await gate.ledger.append([testRow()]);
      await gate.call('POST /admin/tenants/acme/tombstone', { reason: 'the reason' });
      const [note] = await gate.ledger.newest(1);
      expect(note).toMatchObject({
        event_kind: 'tenant.tombstoned',
        agent_id: 'tenant:acme',
        tenant: 'system',
        policy_decision: { tenant: 'acme', through_seq: 1 },
      });
      expect(JSON.stringify(note)).not.toContain('the reason');
      expect(await gate.ledger.sidecar(String(note?.id))).toMatchObject({ text: '{"reason":"the reason"}' });
    });

    it('hides more rows than fit into one step', async () => {
      for (let round = 0; round < 11; round++) await gate.ledger.append(Array.from({ length: 500 }, () => testRow()));
      expect((await gate.call('POST /admin/tenants/acme/tombstone')).body).toEqual({ tombstoned: 5_500 });
      expect(await gate.ledger.verify()).toMatchObject({ valid: true, entries_checked: 5_501 });
    });

    it.each([
      ['an invalid tenant', '/admin/tenants/a%2Fb/tombstone', {}],
      ['a reason that is too long', '/admin/tenants/acme/tombstone', { reason: 'x'.repeat(513) }],
      ['a reason that is no text', '/admin/tenants/acme/tombstone', { reason: 7 }],
    ])('refuses %s with 400', async (_, path, body) => {
      const answer = await gate.call(`POST ${path}`, body);
      expect([answer.status, answer.body['error']]).toEqual([400, 'invalid_request']);
    });
  });

  describe('POST /admin/namespaces/demo/cleanup', () => {
    it("hides the demonstration's rows and no operator's, and repeats harmlessly", async () => {
      await gate.ledger.append([testRow({ state_namespace: 'demo' }), testRow(), testRow({ state_namespace: 'demo' })]);
      const receipt = { contract: 'gate.namespace-cleanup-receipt/v1', namespace: 'demo' };
      expect((await gate.call('POST /admin/namespaces/demo/cleanup')).body).toEqual({
        ...receipt,
        selected: 2,
        tombstoned: 2,
        retained_operator: 2,
      });
      expect((await gate.call('POST /admin/namespaces/demo/cleanup')).body).toEqual({
        ...receipt,
        selected: 2,
        tombstoned: 0,
        retained_operator: 2,
      });
      expect(await seqs('/audit/agent-a')).toEqual([2]);
      expect(await gate.ledger.verify()).toMatchObject({ valid: true, entries_checked: 4 });
    });

    it('counts nothing in an empty ledger', async () => {
      expect((await gate.call('POST /admin/namespaces/demo/cleanup')).body).toMatchObject({
        selected: 0,
        tombstoned: 0,
        retained_operator: 0,
      });
    });
  });

  it('is for the console only, and 503 while the store is gone', async () => {
    for (const route of ['POST /admin/tenants/acme/tombstone', 'POST /admin/namespaces/demo/cleanup']) {
      for (const as of ['service-deep-review', 'service-proxy', 'agent-workload'])
        expect((await gate.call(route, undefined, { as })).status).toBe(403);
      expect((await gate.call(route, undefined, { as: null })).status).toBe(401);
    }
    await gate.ledger.close();
    for (const route of ['POST /admin/tenants/acme/tombstone', 'POST /admin/namespaces/demo/cleanup'])
      expect(await gate.call(route)).toMatchObject({ status: 503, body: { error: 'ledger_store_unavailable' } });
  });

  describe('what the database lets an editor do to an entry', () => {
    const AT = '2026-01-02T03:04:05.006Z';
    beforeEach(async () => {
      await gate.ledger.append([testRow(), testRow({ state_namespace: 'demo', tenant: null })]);
    });

    it.each([
      [
        'hide a row that belongs to no tenant as a tenant’s',
        `update ledger_entries set deleted_at = '${AT}' where seq = 2`,
      ],
      [
        "hide an operator's row as the demonstration's",
        `update ledger_entries set demo_deleted_at = '${AT}' where seq = 1`,
      ],
      ['hide with words instead of a time', "update ledger_entries set deleted_at = 'yes' where seq = 1"],
      [
        'change a hashed column while hiding',
        `update ledger_entries set deleted_at = '${AT}', reasoning = 'x' where seq = 1`,
      ],
      [
        'fill an absent column while hiding',
        `update ledger_entries set deleted_at = '${AT}', signal = 'x' where seq = 1`,
      ],
      ['empty a column while hiding', `update ledger_entries set deleted_at = '${AT}', tool_name = null where seq = 1`],
      [
        'change the hash while hiding',
        `update ledger_entries set deleted_at = '${AT}', entry_hash = 'x' where seq = 1`,
      ],
      ['update without any change', 'update ledger_entries set seq = seq where seq = 1'],
      ['delete', 'delete from ledger_entries where seq = 2'],
    ])('not: %s', async (_, text) => {
      await expect(gate.place.sql(text)).rejects.toThrow(/append-only|foreign key/i);
    });

    it('not: show a hidden row again, or hide it at another time', async () => {
      await gate.ledger.erasure.tombstoneTenant('acme');
      for (const value of ['null', `'${AT}'`])
        await expect(gate.place.sql(`update ledger_entries set deleted_at = ${value} where seq = 1`)).rejects.toThrow(
          /append-only/,
        );
    });
  });
});
