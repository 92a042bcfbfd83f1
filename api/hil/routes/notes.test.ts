import { beforeAll, describe, expect, it } from '@jest/globals';
import type { PendingRequest } from '../../../contracts/review.js';
import { channelsOf } from '../../../adapters/notification/channels.js';
import { placesOf } from '../../../domain/notification/lines.js';
import { createNotifier } from '../../../domain/notification/notifier.js';
import { fixture } from '../../../test/support/fixture.js';
import { type HilAsk, type HilFixture, openHil, OPERATOR, OTHER_OPERATOR } from '../../../test/support/hil.js';
import { STORES } from '../../../test/support/ledger.js';
import { openReviewStore } from '../../../test/support/whole-reviews.js';

const UNKNOWN = '00000000-0000-4000-8000-000000000099';

describe.each(STORES)('notes of people on a row, on %s', (kind) => {
  let hil: HilFixture;
  const { sharedHere } = fixture(
    async () => {
      hil = await openHil(kind);
      const unused = () => undefined;
      const notifier = createNotifier({
        reviews: hil.reviews,
        notices: hil.reviews.notices,
        channels: channelsOf(
          {
            timeoutMs: 1,
            places: placesOf(undefined, Buffer.alloc(32)),
            slackDecides: false,
            teamsDecides: false,
            teams: { webhookUrl: 'http://127.0.0.1:1/' },
          },
          'payments',
        ),
        tenants: [],
        clock: () => hil.now,
        observe: unused,
        gaveUp: unused,
        failed: unused,
      });
      await hil.serve({ notifications: { mode: 'warn', notifier } });
    },
    () => hil.close(),
  );

  const assign = (id: string, body: unknown = { assigned_to: 'ada' }, asked: HilAsk = {}) =>
    hil.ask(`/pending/${id}/assign`, { method: 'POST', token: OPERATOR, body, ...asked });
  const incident = (id: string, body: unknown = { incident_summary: 'paid twice' }, asked: HilAsk = {}) =>
    hil.ask(`/pending/${id}/incident`, { method: 'PATCH', token: OPERATOR, body, ...asked });
  const rowOf = async (id: string) => (await hil.reviews.get(id)) as PendingRequest;

  describe('POST /pending/{id}/assign', () => {
    it('says who should look at the row, and who said so; nothing else of it changes', async () => {
      const row = await hil.park(1);
      expect(row).toMatchObject({ assigned_to: null, assigned_by: null, escalation_pool: null });
      const expected = {
        ...row,
        assigned_to: 'ada',
        assigned_by: 'operator:dev',
        escalation_pool: 'payments',
        escalation_pool_by: 'operator:dev',
      };
      expect(await assign(row.id, { assigned_to: 'ada', escalation_pool: 'payments' })).toMatchObject({
        status: 200,
        body: expected,
      });
      expect(await rowOf(row.id)).toEqual(expected);
      expect((await hil.ask('/pending/summaries')).body['items']).toMatchObject([
        { assigned_to: 'ada', escalation_pool: 'payments', status: 'pending' },
      ]);
    });

    it('gives a row back where it names nobody', async () => {
      const row = await hil.park(1);
      await assign(row.id, { assigned_to: 'operator:dev' });
      const back = { status: 200, body: { assigned_to: null, assigned_by: 'operator:dev' } };
      expect(await assign(row.id, { assigned_to: null })).toMatchObject(back);
      expect(await rowOf(row.id)).toMatchObject({ assigned_to: null, status: 'pending' });
      // The answer was lost.
      expect(await assign(row.id, { assigned_to: null })).toMatchObject(back);
    });

    it('is given back by nobody but who has it', async () => {
      const row = await hil.park(1);
      await assign(row.id, { assigned_to: 'operator:dev' });
      await assign(row.id, { assigned_to: 'operator:ben' });
      const taken = await rowOf(row.id);
      expect(await assign(row.id, { assigned_to: null })).toMatchObject({
        status: 409,
        body: { error: 'note_conflict', assigned_to: 'operator:ben' },
      });
      expect(await rowOf(row.id)).toEqual(taken);
    });

    it('chooses a pool alone, of a row that nobody has or somebody has, who keeps it', async () => {
      const row = await hil.park(1);
      const chosen = { escalation_pool: 'payments', escalation_pool_by: 'operator:dev' };
      expect(await assign(row.id, { escalation_pool: 'payments' })).toMatchObject({
        status: 200,
        body: { ...chosen, assigned_to: null, assigned_by: null },
      });
      await hil.reviews.note(row.id, row.tenant, () => ({ assigned_to: 'operator:ben', assigned_by: 'operator:ben' }));
      expect((await assign(row.id, { escalation_pool: null })).body).toMatchObject({
        escalation_pool: null,
        escalation_pool_by: 'operator:dev',
        assigned_to: 'operator:ben',
        assigned_by: 'operator:ben',
      });
      expect(await assign(row.id, { escalation_pool: 'nobody-has-it' })).toMatchObject({
        status: 400,
        body: { error: 'unknown_escalation_pool', escalation_pools: ['payments'] },
      });
    });

    it('says what is missing where neither is named, and writes nothing', async () => {
      const row = await hil.park(1);
      const refused = await assign(row.id, {});
      expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
      expect(refused.body['reason']).toContain(
        'has neither assigned_to nor escalation_pool: give one of them, or both',
      );
      expect(await rowOf(row.id)).toEqual(row);
    });

    it('leaves a pool that is not named, takes away one that is null, and may assign to somebody else', async () => {
      const row = await hil.park(1);
      await assign(row.id, { assigned_to: 'ada', escalation_pool: 'payments' });
      expect((await assign(row.id, { assigned_to: 'bob' })).body).toMatchObject({
        assigned_to: 'bob',
        escalation_pool: 'payments',
      });
      expect((await assign(row.id, { assigned_to: 'bob', escalation_pool: null })).body['escalation_pool']).toBeNull();
    });

    it('the same again changes nothing', async () => {
      const row = await hil.park(1);
      const first = await assign(row.id);
      const version = () => hil.place.sql('select version from reviews');
      const before = await version();
      expect(await assign(row.id)).toEqual({ ...first, text: expect.any(String) });
      expect(await version()).toEqual(before);
    });

    it.each(['approved', 'denied', 'expired'] as const)('a row that is %s is refused, and stays', async (status) => {
      const row = await hil.park(1);
      await hil.settle(row, { status });
      const settled = await rowOf(row.id);
      expect(await assign(row.id)).toMatchObject({ status: 409, body: { error: 'not_pending', status } });
      expect(await rowOf(row.id)).toEqual(settled);
    });

    it('anybody who may decide still may', async () => {
      const row = await hil.park(1);
      await assign(row.id, { assigned_to: 'somebody-else' });
      await hil.settle(row);
      expect(await rowOf(row.id)).toMatchObject({ status: 'approved', assigned_to: 'somebody-else' });
    });
  });

  describe('PATCH /pending/{id}/incident', () => {
    it.each(['approved', 'denied', 'expired'] as const)('notes what came of a call that was %s', async (status) => {
      const row = await hil.park(1);
      await hil.settle(row, { status });
      const settled = await rowOf(row.id);
      const answer = await incident(row.id);
      expect(answer.status).toBe(200);
      expect(await rowOf(row.id)).toEqual({
        ...settled,
        incident_summary: 'paid twice',
        incident_by: 'operator:dev',
      });
      // No digest of the row is over it.
      expect(answer.body['original_payload_digest']).toBe(row.original_payload_digest);
      expect((await incident(row.id, { incident_summary: 'paid once' })).body).toMatchObject({
        incident_summary: 'paid once',
        status,
      });
    });

    it('takes the place of the note that was expected alone, where one is said; null is none', async () => {
      const row = await hil.park(1);
      await hil.settle(row);
      const noted = (incident_summary: string, expected_summary: string | null) =>
        incident(row.id, { incident_summary, expected_summary });
      expect(await noted('first', 'something')).toMatchObject({ status: 409, body: { error: 'note_conflict' } });
      expect((await noted('first', null)).status).toBe(200);
      const first = await rowOf(row.id);
      expect(await noted('second', null)).toMatchObject({ status: 409, body: { error: 'note_conflict' } });
      expect(await rowOf(row.id)).toEqual(first);
      expect((await noted('second', 'first')).status).toBe(200);
    });

    it('the same again by the same person is done, and by another one is not', async () => {
      const row = await hil.park(1);
      await hil.settle(row);
      const body = { incident_summary: 'paid', expected_summary: null };
      expect([(await incident(row.id, body)).status, (await incident(row.id, body)).status]).toEqual([200, 200]);
      await hil.reviews.note(row.id, 'acme', () => ({ incident_by: 'operator:ada' }));
      expect(await incident(row.id, body)).toMatchObject({ status: 409, body: { error: 'note_conflict' } });
    });

    it('of two at once who expect the same, one is saved', async () => {
      const row = await hil.park(1);
      await hil.settle(row);
      const both = await Promise.all(
        ['one', 'other'].map((said) => incident(row.id, { incident_summary: said, expected_summary: null })),
      );
      expect(both.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 409]);
    });

    it('is refused while the row waits', async () => {
      const row = await hil.park(1);
      expect(await incident(row.id)).toMatchObject({ status: 409, body: { error: 'still_pending' } });
      expect(await rowOf(row.id)).toEqual(row);
    });
  });

  it('notes are part of what Gate wrote: whoever edits one in the store shows nobody a word', async () => {
    const row = await hil.park(1);
    await assign(row.id, { assigned_to: 'ada' });
    await hil.place.sql(`update reviews set annotations = replace(annotations, '"ada"', '"eve"') returning id`);
    await expect(hil.reviews.get(row.id)).rejects.toMatchObject({ code: 'review_tampered' });
    expect(await assign(row.id)).toMatchObject({ status: 409, body: { error: 'review_tampered' } });
    expect(await incident(row.id)).toMatchObject({ status: 409, body: { error: 'review_tampered' } });
  });

  it('notes and a settlement at once are all there, from two processes too', async () => {
    const row = await hil.park(1);
    const other = await openReviewStore({
      target: hil.place.target,
      payloadKeys: hil.place.keys,
      clock: () => hil.now,
    });
    try {
      const noted = (by: string) =>
        (kind === 'postgres' ? other : hil.reviews).note(row.id, 'acme', () => ({ incident_by: by }));
      await Promise.all(
        [assign(row.id), noted('operator:x'), hil.settle(row)].map((change) => change.catch(() => undefined)),
      );
      const stands = await rowOf(row.id);
      expect(stands).toMatchObject({ status: 'approved', incident_by: 'operator:x' });
      // An assignment after the settlement was refused; one before it stands.
      expect([null, 'ada']).toContain(stands.assigned_to);
    } finally {
      await other.close();
    }
  });

  describe.each([
    ['assign', assign],
    ['incident', incident],
  ] as const)('%s', (name, write) => {
    const settledRow = async (over = {}) => {
      const row = await hil.park(1, over);
      if (name === 'incident') await hil.settle(row);
      return row;
    };

    it('gives a foreign row, a withdrawn one and an unknown one the same answer', async () => {
      const { id } = await settledRow({ tenant: 'globex' });
      const withdrawn = await hil.park(2);
      await hil.reviews.withdraw(withdrawn.correlation_id);
      const headers = { 'x-gate-correlation-id': UNKNOWN };
      const texts = [];
      for (const asked of [id, withdrawn.id, UNKNOWN]) {
        const { status, text } = await write(asked, undefined, { headers });
        expect(status).toBe(404);
        texts.push(text);
      }
      expect(new Set(texts).size).toBe(1);
      expect((await write(id, undefined, { tenant: 'globex', token: OTHER_OPERATOR })).status).toBe(200);
    });

    describe('without effect', () => {
      sharedHere();
      let row: PendingRequest;
      beforeAll(async () => {
        const { id } = await settledRow();
        row = await rowOf(id);
      });

      it.each([
        [{}],
        [{ assigned_to: '', incident_summary: '' }],
        [{ assigned_to: 'x'.repeat(257) }],
        [{ assigned_to: 'ada', escalation_pool: '' }],
        [{ assigned_to: 'ada', status: 'approved' }],
        [{ incident_summary: 'x'.repeat(241) }],
        [{ incident_summary: 'x', decided_by: 'eve' }],
        [{ assigned_to: 'a\0b' }],
        [{ incident_summary: 'a\0b' }],
        [[]],
      ])('answers 400 to %j and writes nothing', async (body) => {
        expect(await write(row.id, body)).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
        expect(await rowOf(row.id)).toEqual(row);
      });

      it.each([
        ['a caller that is not on the list', { as: 'proxy' }, 403, 'capability_denied'],
        ['the simulator', { as: 'simulator', tenant: null }, 403, 'capability_denied'],
        ['a caller without a certificate', { as: null }, 401, 'caller_spiffe_missing'],
        ['a console without an operator’s token', { token: undefined }, 401, 'unauthenticated'],
        ['a token of another tenant', { token: OTHER_OPERATOR }, 401, 'unauthenticated'],
        [
          'a console that names no tenant and no operator',
          { tenant: null, token: undefined },
          400,
          'tenant_scope_required',
        ],
        ['a name of a decider', { headers: { 'x-gate-decided-by': 'eve' } }, 400, 'legacy_identity_header'],
      ] as const)('%s is refused before the body is read', async (_who, asked, status, error) => {
        expect(await write(row.id, 5, asked as HilAsk)).toMatchObject({ status, body: { error } });
        expect(await rowOf(row.id)).toEqual(row);
      });
    });
  });
});
