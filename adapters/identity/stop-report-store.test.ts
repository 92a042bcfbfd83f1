import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { hash } from 'node:crypto';
import type { StopCalls, StopReportContent } from '../../contracts/identity.js';
import { GateError } from '../../domain/errors.js';
import { identityMigrations } from '../../migrations/identity.js';
import { ledgerPlace, STORES, type TestLedgerPlace } from '../../test/support/ledger.js';
import { type IdentityStore, openIdentityStore } from './identity-store.js';

const NOW = Date.parse('2026-11-02T10:00:00.000Z');
const by = (who: string, nowMs = NOW) => ({ by: who, reason: 'odd', nowMs });
const TENANT = { tenant: 'acme', tool: null };
const SAID: StopCalls = { looked_at: '2026-11-02T10:00:02.000Z', calls: [], left_out: 0 };
const AGENTS = ['a', 'b', 'c', 'd'];

describe.each(STORES)('the certificates of a stopped tenant, on %s', (kind) => {
  let place: TestLedgerPlace;
  let store: IdentityStore;
  const opened: IdentityStore[] = [];
  const open = async () => {
    store = await openIdentityStore(place.target, place.keys);
    opened.push(store);
  };
  /** A certificate as issuing stores it, without one that anybody signed. */
  const certified = async (agent: string) => {
    const { token } = await store.enroll({ tenant: 'acme', agent, by: 'x', nowMs: NOW, expiresMs: NOW + 60_000 });
    const digest = (what: string) => hash('sha256', `${agent}/${what}`);
    const request = { csrSha256: digest('csr'), publicKeySha256: digest('key'), publicKey: Buffer.alloc(0) };
    const intent = await store.begin(request as never, { kind: 'token', token }, NOW);
    if ('issued' in intent) throw new Error('it was issued before');
    const svid = {
      id: `90000000-0000-4000-8000-00000000000${AGENTS.indexOf(agent)}`,
      spiffe: `spiffe://gate.local/tenant/acme/agent/${agent}/instance/1`,
      certPem: '',
      notBeforeMs: NOW,
      notAfterMs: NOW + 3_600_000,
      serial: digest('serial'),
      fingerprint: digest('leaf'),
      publicKeySha256: request.publicKeySha256,
    };
    await store.release(intent, svid, NOW);
  };
  const revoked = async () => (await place.sql('select id from identity_svids where revoked_ms is not null')).length;
  const rows = async (event: string) =>
    (await place.sql('select content from identity_outbox')).filter(({ content }) =>
      String(content).includes(`"event_kind":"${event}"`),
    ).length;
  const letGo = async () => {
    const { id } = (await store.stops({ tenant: 'acme' }, NOW))[0] as { id: string };
    await store.releaseStop(id, 'acme', by('operator:second'));
    return store.releaseStop(id, 'acme', by('operator:dev'));
  };
  const sign = (content: StopReportContent) => ({
    ...content,
    signature: { algorithm: 'ES256', key_id: 'a'.repeat(64), value: 'x' } as const,
  });

  beforeEach(async () => {
    place = await ledgerPlace(kind, { migrated: identityMigrations });
    await open();
    await store.bundleSequence('first');
    for (const agent of AGENTS) await certified(agent);
    await store.stop(TENANT, by('operator:dev'));
  });
  afterEach(async () => {
    for (const one of opened.splice(0)) await one.close();
    await place.remove();
  });

  it('are taken back one agent after the other, and by the next process where one ended in between', async () => {
    expect(await store.takeBackOne(NOW)).toBe(true);
    expect(await store.takeBackOne(NOW)).toBe(true);
    expect(await revoked()).toBe(2);
    await open();
    for (let left = true; left; left = await store.takeBackOne(NOW)) expect(await revoked()).toBeLessThanOrEqual(4);
    expect([await revoked(), await rows('svid.revoked'), await rows('agent.svid_recovery_opened')]).toEqual([4, 4, 4]);
    const [report] = await store.reportsDue(NOW + 2_000);
    await store.makeReport(report?.id ?? '', SAID, { nowMs: NOW, trustDomain: 'gate.local', sign });
    expect((await store.stopReport(report?.id ?? '', 'acme')).report).toMatchObject({ certificates_revoked: 4 });
  });

  it('are counted once, where two processes take them back at the same time', async () => {
    const first = store;
    await open();
    const all = async (one: IdentityStore) => {
      for (let tries = 0; tries < 50; tries += 1) {
        // Whoever comes second is told to ask again.
        const left = await one
          .takeBackOne(NOW)
          .catch((error: unknown) => error instanceof GateError || Promise.reject(error));
        if (!left) return;
      }
    };
    await Promise.all([all(first), all(store)]);
    expect([await revoked(), await rows('svid.revoked')]).toEqual([4, 4]);
    expect(await store.stopReports('acme', undefined)).toMatchObject([{ state: 'due', revokedCertificates: 4 }]);
  });

  it('are taken back before two people can let the tenant go', async () => {
    await expect(letGo()).rejects.toMatchObject({ code: 'store_unavailable' });
    // The report waits as well.
    expect(await store.reportsDue(NOW + 60_000)).toEqual([]);
    while (await store.takeBackOne(NOW));
    expect(await letGo()).toMatchObject({ state: 'active' });
  });
});
