import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { tenantDispositions } from '../../contracts/tenant-dispositions.js';
import type { NewReview } from '../../contracts/review.js';
import type { BegunOperation } from '../../domain/review/ports.js';
import { bringUpToDate } from '../../domain/review/restored-store.js';
import { reviewIdOf } from '../../domain/review/sealed-review.js';
import { hilMigrations } from '../../migrations/hil.js';
import { ledgerPlace, STORES, type TestLedgerPlace } from '../../test/support/ledger.js';
import { dispositionFile } from './disposition-file.js';
import { openReviewStore, type WholeReviews } from '../../test/support/whole-reviews.js';

const T0 = Date.parse('2026-11-24T08:00:00.000Z');
const DAY_MS = 86_400_000;
const KEY = Buffer.alloc(32, 5);
const correlation = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const idOf = (n: number): string => reviewIdOf(correlation(n));
const reviewOf = (n: number, over: Partial<NewReview> = {}): NewReview => ({
  agent_id: 'payments-agent',
  correlation_id: correlation(n),
  method: 'tools/call',
  request_payload: { method: 'tools/call', params: { name: 'wire_transfer', arguments: { amount: n } } },
  risk_summary: 'money movement',
  state_namespace: 'operator',
  ttl_seconds: 600,
  created_at: new Date(T0).toISOString(),
  review_reasons: ['money movement'],
  approval_tier: 'standard',
  tenant: 'acme',
  ...over,
});

describe.each(STORES)('a store that is put back: %s', (kind) => {
  let now: number;
  let folder: string;
  let file: string;
  /** The store as it goes on, and an older copy of it. */
  let places: TestLedgerPlace[];
  let store: WholeReviews;
  let copy: WholeReviews;
  const clock = () => now;
  const dispositions = () => dispositionFile({ file, key: KEY, clock });
  const upToDate = (of = copy) => bringUpToDate(of, dispositions(), clock);
  const offboard = (tenant: string, of = store, operation_id: string = randomUUID()) =>
    of.tenants.begin({ tenant, operation_id, kind: 'offboard', asked_by: 'service:console' });

  const receiptOf = ({ tenant, operation_id, generation }: BegunOperation) => ({
    tenant,
    operation_id,
    kind: 'offboard' as const,
    generation,
    state: 'offboarded' as const,
    pending_denied: 0,
    rows_erased: 0,
    rows_held: 0,
    updated_at: new Date(T0).toISOString(),
    receipt_sha256: '0'.repeat(64),
  });
  const finished = (operation: BegunOperation) => store.tenants.finish(operation.operation_id, receiptOf(operation));

  beforeEach(async () => {
    now = T0;
    folder = await mkdtemp(join(tmpdir(), 'gate-dispositions-'));
    file = join(folder, 'dispositions.json');
    writeFileSync(file, '');
    places = [
      await ledgerPlace(kind, { migrated: hilMigrations }),
      await ledgerPlace(kind, { migrated: hilMigrations }),
    ];
    const [of, older] = await Promise.all(
      places.map(({ target }) =>
        openReviewStore({
          target,
          payloadKeys: (places[0] as TestLedgerPlace).keys,
          clock,
          dispositions: dispositions(),
        }),
      ),
    );
    store = of as WholeReviews;
    copy = older as WholeReviews;
    await upToDate(store);
  }, 60_000);
  afterEach(async () => {
    await Promise.all([store.close(), copy.close()]);
    await Promise.all(places.map((place) => place.remove()));
    await rm(folder, { recursive: true, force: true });
  });

  it('loses the rows of a tenant that left since, those that waited too, keeps what is held, and lets nothing new in', async () => {
    for (const n of [1, 2, 3]) await copy.createOnce(reviewOf(n));
    await copy.createOnce(reviewOf(4, { tenant: 'globex' }));
    await copy.settle({
      pending_id: idOf(1),
      status: 'approved',
      decided_at: new Date(T0).toISOString(),
      decided_by: 'operator:dev',
      decision_reason: null,
      decided_via: 'console',
      principal: null,
    });
    const hold = {
      operation_id: randomUUID(),
      hold_id: randomUUID(),
      authority_reason_sha256: `sha256:${'0'.repeat(64)}`,
    };
    await copy.hold(idOf(3), 'acme', { ...hold, action: 'apply' }, () => 'operator:dev');
    await offboard('acme');

    const receipt = await upToDate();
    expect(receipt).toEqual({
      contract: 'gate.hil-backup-erasure/v1',
      disposition_generation: 1,
      disposition_key_id: expect.stringMatching(/^sha256:[0-9a-f]{16}$/),
      disposition_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      tenants_behind: 1,
      people_behind: 0,
      payloads_purged: 0,
      rows_deleted: 2,
      rows_held: 1,
      evaluated_at: new Date(T0).toISOString(),
    });
    expect(JSON.stringify(receipt)).not.toMatch(/acme|wire_transfer/);
    expect(await Promise.all([1, 2, 4].map((n) => copy.get(idOf(n))))).toMatchObject([
      null,
      null,
      { tenant: 'globex' },
    ]);
    expect(await copy.get(idOf(3))).not.toBeNull();
    await expect(copy.createOnce(reviewOf(5))).rejects.toMatchObject({ code: 'tenant_offboarded' });
    // When the hold goes, the row goes.
    await copy.hold(idOf(3), 'acme', { ...hold, operation_id: randomUUID(), action: 'release' }, () => 'operator:dev');
    expect(await copy.get(idOf(3))).toBeNull();
    // The same again finds nothing to do.
    expect(await upToDate()).toMatchObject({ tenants_behind: 0, rows_deleted: 0, rows_held: 0 });
  });

  it('loses what is past its date before it is served', async () => {
    // A clock that is another than the database's deletes nothing.
    now = Date.now();
    for (const [n, days] of [
      [1, 8],
      [2, 8],
      [3, 31],
    ] as const) {
      const at = now - days * DAY_MS;
      await copy.createOnce(reviewOf(n, { created_at: new Date(at).toISOString() }));
      await copy.settle({
        pending_id: idOf(n),
        status: 'denied',
        decided_at: new Date(at + 1_000).toISOString(),
        decided_by: 'operator:dev',
        decision_reason: null,
        decided_via: 'console',
        principal: null,
      });
    }
    expect(await upToDate()).toMatchObject({ tenants_behind: 0, payloads_purged: 2, rows_deleted: 1 });
    expect(await upToDate()).toMatchObject({ payloads_purged: 0, rows_deleted: 0 });
  });

  it('lets a tenant in again that left and came back, without what it had before it left', async () => {
    await copy.createOnce(reviewOf(7));
    await offboard('acme');
    await store.tenants.begin({ tenant: 'acme', operation_id: randomUUID(), kind: 'provision', asked_by: 'x' });
    await copy.createOnce(reviewOf(1));
    expect(await upToDate()).toMatchObject({ disposition_generation: 2, tenants_behind: 1, rows_deleted: 2 });
    expect((await copy.createOnce(reviewOf(2))).created).toBe(true);
    // What it has since it came back stays, whoever leaves.
    await offboard('globex');
    expect(await upToDate()).toMatchObject({ tenants_behind: 1, rows_deleted: 0 });
    expect(await copy.get(idOf(2))).not.toBeNull();
  });

  it('goes on where it ended in the middle', async () => {
    for (const n of [1, 2, 3]) await copy.createOnce(reviewOf(n));
    await offboard('acme');
    const dies = { ...copy, tenants: { ...copy.tenants, stand: () => Promise.reject(new Error('killed')) } };
    await expect(bringUpToDate(dies, dispositions(), clock)).rejects.toThrow('killed');
    await copy.createOnce(reviewOf(4));
    expect(await upToDate()).toMatchObject({ tenants_behind: 1, rows_deleted: 1 });
    await expect(copy.createOnce(reviewOf(5))).rejects.toMatchObject({ code: 'tenant_offboarded' });
  });

  it('closes the door where the process ended between the store and the file, deletes nothing, and the operation goes on', async () => {
    for (const n of [1, 2, 3]) await store.createOnce(reviewOf(n));
    await store.close();
    const [place] = places as [TestLedgerPlace];
    const dies = { ...dispositions(), record: () => Promise.reject(new Error('killed')) as never };
    const killed = await openReviewStore({ target: place.target, payloadKeys: place.keys, clock, dispositions: dies });
    const operation_id = randomUUID();
    await expect(offboard('acme', killed, operation_id)).rejects.toMatchObject({ code: 'store_unavailable' });
    await killed.close();

    store = await openReviewStore({
      target: place.target,
      payloadKeys: place.keys,
      clock,
      dispositions: dispositions(),
    });
    expect(dispositions().read()).toMatchObject({ generation: 0 });
    expect(await upToDate(store)).toMatchObject({ disposition_generation: 1, tenants_behind: 0, rows_deleted: 0 });
    await expect(store.createOnce(reviewOf(4))).rejects.toMatchObject({ code: 'tenant_offboarded' });
    // What waited still waits for its denial, which the same operation brings.
    expect(await store.get(idOf(1))).toMatchObject({ status: 'pending' });
    expect(await offboard('acme', store, operation_id)).toMatchObject({ generation: 1, receipt: null });
  });

  it('is recorded by the same operation too, where nothing was started again in between', async () => {
    const operation_id = randomUUID();
    const [place] = places as [TestLedgerPlace];
    let isKilled = true;
    const file_ = dispositions();
    const once = await openReviewStore({
      target: place.target,
      payloadKeys: place.keys,
      clock,
      dispositions: {
        ...file_,
        record(one) {
          if (isKilled) throw new Error('the disk is full');
          file_.record(one);
        },
      },
    });
    await expect(offboard('acme', once, operation_id)).rejects.toMatchObject({ code: 'store_unavailable' });
    isKilled = false;
    expect(await offboard('acme', once, operation_id)).toMatchObject({ generation: 1, receipt: null });
    expect(dispositions().read()).toMatchObject({ generation: 1, tenants: [{ tenant: 'acme', state: 'offboarded' }] });
    await once.close();
  });

  it('begins no other operation while the last one cannot be recorded, and opens and goes on when it can', async () => {
    const [place] = places as [TestLedgerPlace];
    let isFull = true;
    const file_ = dispositions();
    const full = await openReviewStore({
      target: place.target,
      payloadKeys: place.keys,
      clock,
      dispositions: {
        ...file_,
        record(one, done) {
          if (isFull) throw new Error('the disk is full');
          file_.record(one, done);
        },
      },
    });
    const [first, second] = [randomUUID(), randomUUID()];
    for (const operation of [first, second, second])
      await expect(offboard('acme', full, operation)).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(await full.tenants.standing()).toMatchObject([{ generation: 1, operation_id: first }]);
    // A start finds one operation that was not recorded, and records it.
    expect(await upToDate(full)).toMatchObject({ disposition_generation: 1 });
    isFull = false;
    expect(await offboard('acme', full, second)).toMatchObject({ generation: 2 });
    expect(dispositions().read()).toMatchObject({ tenants: [{ generation: 2, left_in: 2 }] });
    await full.close();
  });

  it('records what was not recorded before the tenant comes back: a copy from before loses its rows', async () => {
    await copy.createOnce(reviewOf(1));
    const [place] = places as [TestLedgerPlace];
    const dies = { ...dispositions(), record: () => Promise.reject(new Error('killed')) as never };
    const killed = await openReviewStore({ target: place.target, payloadKeys: place.keys, clock, dispositions: dies });
    await expect(offboard('acme', killed)).rejects.toMatchObject({ code: 'store_unavailable' });
    await killed.close();
    await store.tenants.begin({ tenant: 'acme', operation_id: randomUUID(), kind: 'provision', asked_by: 'x' });
    expect(dispositions().read()).toMatchObject({ tenants: [{ state: 'active', generation: 2, left_in: 1 }] });
    expect(await upToDate()).toMatchObject({ tenants_behind: 1, rows_deleted: 1 });
  });

  describe('from the middle of an offboarding', () => {
    let operation_id: string;
    let begun: BegunOperation;
    /** Both stores know the operation, as the store and its copy do; the copy has what still waited. */
    beforeEach(async () => {
      operation_id = randomUUID();
      await copy.createOnce(reviewOf(1));
      begun = await offboard('acme', store, operation_id);
      await offboard('acme', copy, operation_id);
    });

    it('loses what waited once the operation is finished, again and again, and the same operation can be asked for', async () => {
      await finished(begun);
      expect(dispositions().read()).toMatchObject({ tenants: [{ left_in: 1, left_done: true }] });
      expect(await upToDate()).toMatchObject({ tenants_behind: 1, rows_deleted: 1 });
      expect(await copy.get(idOf(1))).toBeNull();
      expect(await upToDate()).toMatchObject({ rows_deleted: 0 });
      expect(await offboard('acme', copy, operation_id)).toMatchObject({ generation: 1, receipt: null });
    });

    it('loses what waited also where the tenant came back', async () => {
      await finished(begun);
      await store.tenants.begin({ tenant: 'acme', operation_id: randomUUID(), kind: 'provision', asked_by: 'x' });
      expect(await upToDate()).toMatchObject({ tenants_behind: 1, rows_deleted: 1 });
      expect((await copy.createOnce(reviewOf(2))).created).toBe(true);
    });

    it('loses what waited also where the tenant came back before the operation was finished', async () => {
      await store.tenants.begin({ tenant: 'acme', operation_id: randomUUID(), kind: 'provision', asked_by: 'x' });
      expect(dispositions().read()).toMatchObject({ tenants: [{ generation: 2, left_in: 1, left_done: false }] });
      expect(await upToDate()).toMatchObject({ tenants_behind: 1, rows_deleted: 1 });
      expect(await copy.get(idOf(1))).toBeNull();
      expect((await copy.createOnce(reviewOf(2))).created).toBe(true);
    });

    it('keeps what waits where the operation is still under way: it brings the denials', async () => {
      expect(await upToDate()).toMatchObject({ tenants_behind: 0, rows_deleted: 0 });
      expect(await copy.get(idOf(1))).toMatchObject({ status: 'pending' });
    });

    it('is told by the file before the store is: cut off between the two, the operation is finished again', async () => {
      const [place] = places as [TestLedgerPlace];
      const dies = {
        ...dispositions(),
        record(...of: Parameters<ReturnType<typeof dispositions>['record']>) {
          dispositions().record(...of);
          throw new Error('killed');
        },
      };
      const killed = await openReviewStore({ ...place, payloadKeys: place.keys, clock, dispositions: dies });
      await expect(killed.tenants.finish(operation_id, receiptOf(begun))).rejects.toThrow();
      await killed.close();
      expect(await store.tenants.isUnfinished(operation_id)).toBe(true);
      expect(await upToDate(store)).toMatchObject({ rows_deleted: 0 });
      expect(await upToDate()).toMatchObject({ rows_deleted: 1 });
      await finished(begun);
      expect(await upToDate(store)).toMatchObject({ tenants_behind: 0 });
    });

    it('is known from the store where the file is one of an earlier Gate, or was begun anew', async () => {
      await finished(begun);
      writeFileSync(file, '');
      await upToDate(store);
      expect(dispositions().read()).toMatchObject({ tenants: [{ left_in: 1, left_done: true }] });
      expect(await upToDate()).toMatchObject({ rows_deleted: 1 });
    });
  });

  describe('with people who have a passkey alone', () => {
    const bob = { tenant: 'acme', subject: 'webauthn:bob' };
    /** Somebody who was invited and has his passkey, and his account of a chat. */
    async function joins(of: WholeReviews, credential_id: string, person = bob) {
      const token_sha256 = `${credential_id}-token`.padEnd(64, '0');
      await of.passkeys.allowRecovery(
        { ...person, token_sha256, expires_ms: T0 + DAY_MS },
        { as: 'approver', at_ms: now },
      );
      const id_sha256 = credential_id.padEnd(64, '0');
      const ceremony = { ...person, id_sha256, challenge_sha256: id_sha256, created_ms: T0, expires_ms: T0 + DAY_MS };
      await of.passkeys.begin({ ...ceremony, purpose: 'recover' });
      const passkey = { ...person, credential_id, public_key: 'AA', counter: 0, created_ms: T0, key_sha256: id_sha256 };
      expect(await of.passkeys.complete(id_sha256, passkey, 'recover')).toBe(true);
      await of.chatLinks.upsert(person.tenant, { oidc_sub: person.subject, slack_user_id: `U-${credential_id}` });
    }
    const stands = async (of: WholeReviews, { tenant, subject } = bob) => ({
      approves: (await of.passkeys.approvers(tenant)).some((one) => one.subject === subject),
      passkeys: (await of.passkeys.of(tenant, subject)).map(({ credential_id }) => credential_id),
      linked: (await of.chatLinks.get(tenant, subject)) !== null,
    });
    const NOTHING = { approves: false, passkeys: [], linked: false };

    it('gives nobody back who was taken out since: no passkey, no account of a chat, no vote; others keep theirs', async () => {
      const others = [
        { tenant: 'acme', subject: 'webauthn:cy' },
        { tenant: 'globex', subject: 'webauthn:bob' },
      ];
      for (const each of [store, copy]) {
        await joins(each, 'first');
        for (const [at, other] of others.entries()) await joins(each, `other${at}`, other);
      }
      await store.passkeys.remove(bob);
      expect(await stands(copy)).toEqual({ approves: true, passkeys: ['first'], linked: true });
      const receipt = await upToDate();
      expect(receipt).toMatchObject({ people_behind: 1, tenants_behind: 0 });
      expect(JSON.stringify(receipt)).not.toContain('bob');
      expect(await stands(copy)).toEqual(NOTHING);
      for (const other of others) expect(await stands(copy, other)).toMatchObject({ approves: true, linked: true });
      expect(await upToDate()).toMatchObject({ people_behind: 0 });
    });

    it('gives back no invitation of somebody who was taken out before he used it', async () => {
      const invitation = { ...bob, token_sha256: 'a'.repeat(64), expires_ms: T0 + DAY_MS };
      for (const each of [store, copy]) await each.passkeys.allowRecovery(invitation, { as: 'approver', at_ms: now });
      await store.passkeys.remove(bob);
      expect(await copy.passkeys.recoverable({ ...invitation, now })).toBe(true);
      await upToDate();
      expect(await copy.passkeys.recoverable({ ...invitation, now })).toBe(false);
    });

    it('takes nothing from whoever has the name later, in the store and in every copy, also one that never knew the first', async () => {
      for (const each of [store, copy]) await joins(each, 'first');
      await store.passkeys.remove(bob);
      await joins(store, 'second');
      await upToDate(store);
      expect(await stands(store)).toEqual({ approves: true, passkeys: ['second'], linked: true });
      await upToDate();
      await joins(copy, 'third');
      await upToDate();
      expect(await stands(copy)).toEqual({ approves: true, passkeys: ['third'], linked: true });
      const eve = { tenant: 'acme', subject: 'webauthn:eve' };
      for (const key of ['eve1', 'eve2']) {
        await joins(store, key, eve);
        await store.passkeys.remove(eve);
      }
      await upToDate();
      await joins(copy, 'eve3', eve);
      await upToDate();
      expect(await stands(copy, eve)).toEqual({ approves: true, passkeys: ['eve3'], linked: true });
    });

    it('gives nobody back by another copy in which more was done with his passkeys than in the one that he was taken out of', async () => {
      for (const each of [store, copy]) await joins(each, 'first');
      for (const token of ['a', 'b', 'c'])
        await copy.passkeys.allowRecovery({ ...bob, token_sha256: token.repeat(64), expires_ms: T0 + DAY_MS });
      await store.passkeys.remove(bob);
      await upToDate();
      expect(await stands(copy)).toEqual(NOTHING);
      // And back again, with whoever has the name by then in one of them.
      await joins(copy, 'second');
      await upToDate(store);
      expect(await stands(store)).toEqual(NOTHING);
      await upToDate();
      expect(await stands(copy)).toMatchObject({ approves: true, passkeys: ['second'] });
      await joins(store, 'third');
      await store.passkeys.remove(bob);
      await upToDate();
      expect(await stands(copy)).toEqual(NOTHING);
      expect(dispositions().read()).toMatchObject({ people: [{ ...bob, left: 2 }] });
    });

    it('takes nobody out by a copy that is tried out, in which more was done with the passkeys of whoever had the name before', async () => {
      for (const each of [store, copy]) await joins(each, 'first');
      for (const token of ['a', 'b', 'c'])
        await copy.passkeys.allowRecovery({ ...bob, token_sha256: token.repeat(64), expires_ms: T0 + DAY_MS });
      await store.passkeys.remove(bob);
      await joins(store, 'second');
      expect(await upToDate(store)).toMatchObject({ people_behind: 0 });
      expect(await upToDate()).toMatchObject({ people_behind: 1 });
      const generationOf = async () => {
        const [stored] = await (places[0] as TestLedgerPlace).sql(
          `select generation from passkey_standings where subject = 'webauthn:bob'`,
        );
        return Number(stored?.['generation']);
      };
      const [said] = dispositions().read()?.people ?? [];
      expect(said).toMatchObject({ ...bob, left: 1 });
      expect(await generationOf()).toBeLessThan(said?.generation ?? 0);

      expect(await upToDate(store)).toMatchObject({ people_behind: 0 });
      expect(await stands(store)).toEqual({ approves: true, passkeys: ['second'], linked: true });
      // He goes on from the generation that the file says, and stays who he is at every start.
      expect(await generationOf()).toBe(said?.generation);
      expect(await upToDate(store)).toMatchObject({ people_behind: 0 });
      expect(await generationOf()).toBe(said?.generation);
      expect(await stands(copy)).toEqual(NOTHING);
    });

    it('goes by the generation where a file of an earlier Gate says no count: who has the earlier one is taken out', async () => {
      await joins(copy, 'first');
      await copy.passkeys.remove(bob);
      await joins(copy, 'second');
      const said = tenantDispositions.parse(dispositions().read());
      const ofEarlierGate = (generation: number) =>
        bringUpToDate(copy, { ...dispositions(), read: () => ({ ...said, people: [{ ...bob, generation }] }) }, clock);
      expect(await ofEarlierGate(3)).toMatchObject({ people_behind: 0 });
      expect(await stands(copy)).toMatchObject({ approves: true, passkeys: ['second'] });
      expect(await ofEarlierGate(9)).toMatchObject({ people_behind: 1 });
      expect(await stands(copy)).toEqual(NOTHING);
    });

    it('knows of a name that somebody has again that one of it was taken out, also where the file was begun anew', async () => {
      for (const each of [store, copy]) await joins(each, 'first');
      await store.passkeys.remove(bob);
      await joins(store, 'second');
      writeFileSync(file, '');
      await upToDate(store);
      expect(await stands(store)).toMatchObject({ approves: true, passkeys: ['second'] });
      await upToDate();
      expect(await stands(copy)).toEqual(NOTHING);
    });

    const spoiled = {
      'was edited': `update passkey_standings set mac = 'x' where subject = 'webauthn:bob'`,
      'is gone': `delete from passkey_standings where subject = 'webauthn:bob'`,
    };
    const spoil = (how: keyof typeof spoiled) => (places[0] as TestLedgerPlace).sql(spoiled[how]);
    const ways = Object.keys(spoiled) as (keyof typeof spoiled)[];

    it.each(ways)(
      'gives nobody back who was taken out while his row %s, after another one of the name',
      async (how) => {
        await joins(store, 'first');
        await store.passkeys.remove(bob);
        await upToDate();
        for (const one of [store, copy]) await joins(one, 'second');
        await spoil(how);
        expect(await store.passkeys.remove(bob)).toBe(true);
        expect(dispositions().read()).toMatchObject({ people: [{ ...bob, left: 2 }] });
        expect(await upToDate()).toMatchObject({ people_behind: 1 });
        expect(await stands(copy)).toEqual(NOTHING);
        expect(await store.passkeys.remove({ ...bob, subject: 'webauthn:nobody' })).toBe(false);
      },
    );

    it.each(ways)('takes nobody out who was invited while the row of whoever had the name %s', async (how) => {
      await joins(store, 'first');
      await store.passkeys.remove(bob);
      await spoil(how);
      await joins(store, 'second');
      expect(await upToDate(store)).toMatchObject({ people_behind: 0 });
      expect(await stands(store)).toEqual({ approves: true, passkeys: ['second'], linked: true });
    });

    it('invites nobody of whom the store says nothing while it cannot be read who was taken out', async () => {
      const latest = readFileSync(file, 'utf8');
      rmSync(file);
      await expect(joins(store, 'first')).rejects.toMatchObject({ code: 'store_unavailable' });
      writeFileSync(file, latest);
      await joins(store, 'first');
      expect(await stands(store)).toMatchObject({ approves: true });
    });

    it('takes nobody out while that cannot be recorded', async () => {
      await joins(store, 'first');
      const latest = readFileSync(file, 'utf8');
      rmSync(file);
      await expect(store.passkeys.remove(bob)).rejects.toMatchObject({ code: 'store_unavailable' });
      expect(await stands(store)).toMatchObject({ approves: true });
      writeFileSync(file, latest);
      expect(await store.passkeys.remove(bob)).toBe(true);
      expect(await stands(store)).toEqual(NOTHING);
    });

    it('learns from the store who was taken out where the file is one of an earlier Gate or was begun anew, and keeps it as tenants leave', async () => {
      for (const each of [store, copy]) await joins(each, 'first');
      await store.passkeys.remove(bob);
      writeFileSync(file, '');
      await upToDate(store);
      await offboard('globex');
      expect(dispositions().read()).toMatchObject({ people: [bob], tenants: [{ tenant: 'globex' }] });
      await upToDate();
      expect(await stands(copy)).toEqual(NOTHING);
    });
  });

  it('is asked for a write before anything is stored, so that a full disk is known then', () => {
    now += 1_000;
    dispositions().check();
    expect(dispositions().read()).toMatchObject({ generation: 0, updated_at: new Date(now).toISOString() });
  });

  it('is not served with a file that is older than it, forged, of another key, emptied, or gone', async () => {
    const empty = readFileSync(file, 'utf8');
    await offboard('acme');
    const latest = readFileSync(file, 'utf8');
    await finished(await offboard('globex'));
    writeFileSync(file, latest);
    await expect(upToDate(store)).rejects.toThrow('older than the store');
    writeFileSync(file, empty);
    await expect(upToDate(store)).rejects.toThrow('older than the store');
    for (const forged of [
      latest.replace('offboarded', 'active'),
      latest.replace('"generation": 1', '"generation": 9'),
    ]) {
      expect(forged).not.toBe(latest);
      writeFileSync(file, forged);
      await expect(upToDate()).rejects.toThrow('its HMAC does not hold');
    }
    for (const torn of ['{', '[]', '{}', latest.slice(0, -20), latest.replace('{', '{"contract": "x",')]) {
      writeFileSync(file, torn);
      await expect(upToDate()).rejects.toThrow('is not a file of dispositions');
    }
    writeFileSync(file, latest);
    const other = dispositionFile({ file, key: randomBytes(32), clock });
    await expect(bringUpToDate(copy, other, clock)).rejects.toThrow('written with another key');
    rmSync(file);
    await expect(upToDate()).rejects.toThrow('is missing: put the latest one back');
    expect(existsSync(file)).toBe(false);
  });

  it('begins a file with what the store says where an empty one was put there', async () => {
    await offboard('acme');
    writeFileSync(file, '\n');
    await upToDate(store);
    expect(tenantDispositions.parse(JSON.parse(await readFile(file, 'utf8')))).toMatchObject({
      generation: 1,
      tenants: [{ tenant: 'acme', state: 'offboarded', generation: 1 }],
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it.each([
    ['is gone', () => rmSync(file)],
    ['was emptied', () => writeFileSync(file, '')],
    ['was forged', () => writeFileSync(file, '{}')],
  ])('no tenant leaves while the file %s: nothing is stored, and the same works later', async (_how, break_) => {
    await offboard('globex');
    const latest = readFileSync(file, 'utf8');
    break_();
    await expect(offboard('acme')).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(await store.tenants.standing()).toMatchObject([{ tenant: 'globex' }]);
    expect((await store.createOnce(reviewOf(1))).created).toBe(true);
    writeFileSync(file, latest);
    expect(await offboard('acme')).toMatchObject({ generation: 1 });
    expect(dispositions().read()).toMatchObject({ generation: 2 });
  });

  it('is not served where a state of a tenant is not what Gate wrote', async () => {
    await offboard('acme', copy);
    await (places[1] as TestLedgerPlace).sql(`update review_tenants set state = 'active' where tenant = 'acme'`);
    await expect(upToDate()).rejects.toMatchObject({ code: 'review_tampered' });
  });
});
