import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { generateKeyPairSync } from 'node:crypto';
import { createAuthority, type Credential } from '../../adapters/identity/certificate-authority.js';
import { type IdentityStore, openIdentityStore } from '../../adapters/identity/identity-store.js';
import { revocationVerifier } from '../../adapters/identity/revocation-signature.js';
import { certificatesOf } from '../../adapters/identity/svid-signer.js';
import { revocationList, stopRecord } from '../../contracts/identity.js';
import type { NewLedgerRow } from '../../contracts/ledger.js';
import { isOfIdentity } from '../../domain/identity/identity-rows.js';
import { createRevocationMirror } from '../../domain/identity/revocation-mirror.js';
import { createSigner } from '../../domain/identity/signer.js';
import { bundleKeys } from '../../domain/identity/trust-bundle.js';
import { identityMigrations } from '../../migrations/identity.js';
import { identityOver, serviceAsker, serviceCaller, TRUST_DOMAIN } from '../../test/support/identity-service.js';
import { ledgerPlace, STORES, type TestLedgerPlace } from '../../test/support/ledger.js';
import { takingLedger } from '../../test/support/taking-ledger.js';
import { eventually } from '../../test/support/waiting.js';
import type { Caller } from '../plugins/app.js';
import type { Service } from '../plugins/service.js';
import { administrators } from './administrator.js';

const START_MS = Math.floor(Date.now() / 1_000) * 1_000;
const HOUR_MS = 3_600_000;
const token = (letter: string) => `${letter}0123456789abcdefghijklmnopqrstuvw`;
const [ADMIN, DEV, SECOND, OTHERS] = [token('x'), token('d'), token('s'), token('o')];

let ca: Credential;
beforeAll(async () => {
  ca = await createAuthority(TRUST_DOMAIN, {
    notBefore: new Date(START_MS - 24 * HOUR_MS),
    notAfter: new Date(START_MS + 720 * HOUR_MS),
  });
});

describe.each(STORES)('a tool or a tenant that is stopped, on %s', (kind) => {
  let place: TestLedgerPlace;
  let store: IdentityStore;
  let service: Service;
  let caller: Caller | null;
  let now: number;
  let told: NewLedgerRow[];

  beforeAll(async () => {
    place = await ledgerPlace(kind, { migrated: identityMigrations });
    store = await openIdentityStore(place.target, place.keys, { mostListed: 3 });
  });
  afterAll(async () => {
    await store.close();
    await place.remove();
  });
  beforeEach(async () => {
    now = START_MS;
    told = [];
    caller = serviceCaller('console');
    for (const table of ['outbox', 'listings', 'stops']) await place.sql(`delete from identity_${table}`);
    await place.sql(
      "update identity_state set revocation_generation = 0, bundle_sequence = 0, bundle_sha256 = '', mac = ''",
    );
    await store.bundleSequence('first');
    const tokenSigner = createSigner(generateKeyPairSync('ed25519').privateKey);
    service = identityOver(ca, {
      store,
      ledger: takingLedger((rows) => told.push(...rows)),
      bundle: {
        keys: bundleKeys(certificatesOf(ca.cert), [tokenSigner.publicJwk]),
        spiffe_sequence: 7,
        spiffe_refresh_hint: 300,
      },
      tokenKeys: [tokenSigner.publicJwk],
      administratorOf: administrators({ token: ADMIN, tenant: 'acme' }),
      people: {
        operators: [
          { name: 'dev', tenant: 'acme', token: DEV },
          { name: 'second', tenant: 'acme', token: SECOND },
          { name: 'dev', tenant: 'other', token: OTHERS },
        ],
      },
      resolveCaller: () => caller,
      clock: () => now,
    });
  });
  afterEach(() => service.close());

  const asks = serviceAsker(() => service);
  const ask = (method: 'GET' | 'POST', url: string, as: string | null = DEV, body?: object) =>
    asks(method, url, { as, ...(body && { body }) });
  const isRefused = (reply: Awaited<ReturnType<typeof ask>>, status: number, code: string) =>
    expect([reply.statusCode, reply.json<{ error: string }>().error]).toEqual([status, code]);
  const stop = (tool?: string, as = DEV, reason = 'pays somebody unknown') =>
    ask('POST', '/stops', as, { tenant: 'acme', ...(tool !== undefined && { tool }), reason });
  const stopped = async (tool?: string) => {
    const reply = await stop(tool);
    expect(reply.statusCode).toBe(200);
    return stopRecord.parse(reply.json());
  };
  const release = (id: string, as = DEV) => ask('POST', `/stops/${id}/release?tenant=acme`, as, { reason: 'known' });
  const listAfter = async (after: number) => {
    caller = serviceCaller('proxy');
    const reply = await ask('GET', `/revocation/list?after=${after}`, null);
    caller = serviceCaller('console');
    expect(reply.statusCode).toBe(200);
    return revocationVerifier(ca.cert)(revocationList.parse(reply.json()));
  };
  const kinds = async () => {
    await eventually(
      'the ledger has every row',
      async () => (await place.sql('select id from identity_outbox')).length === 0,
    );
    return told.map(({ event_kind }) => event_kind);
  };

  it.each([
    ['a tool', 'wire_transfer', 'the tool wire_transfer'],
    ['the tenant whole', undefined, 'tenant acme'],
  ])('%s: at once, by the next number of the list, as a row of the ledger', async (_what, tool, words) => {
    const record = await stopped(tool);
    expect(record).toEqual({
      id: record.id,
      tenant: 'acme',
      tool: tool ?? null,
      state: 'suspended',
      changed_at: new Date(now).toISOString(),
      changed_by: 'operator:dev',
      reason: 'pays somebody unknown',
      release: null,
    });
    const list = await listAfter(0);
    expect([list.generation, list.stops]).toEqual([
      1,
      [{ tenant: 'acme', tool: tool ?? null, state: 'suspended', changed_at: new Date(now).toISOString() }],
    ]);
    // Again, it changes nothing.
    now += 1_000;
    expect(await stopped(tool)).toEqual(record);
    // A list without any has the form that a proxy of before knows.
    expect(Object.keys(await listAfter(1))).not.toContain('stops');
    expect(await kinds()).toEqual(['stop.set']);
    expect(told[0]).toMatchObject({
      tenant: 'acme',
      actor_sub: 'operator:dev',
      reasoning: expect.stringContaining(words),
      policy_decision: { stop_id: record.id, tool: tool ?? null },
      payload_canonical_json: '{"reason":"pays somebody unknown"}',
    });
    expect(told.every(isOfIdentity)).toBe(true);
  });

  it('is let go by two people: one asks, another one confirms', async () => {
    const { id } = await stopped('wire_transfer');
    const asked = await release(id, SECOND);
    expect([asked.statusCode, asked.json()]).toEqual([
      202,
      expect.objectContaining({
        state: 'suspended',
        somebody_else: true,
        release: expect.objectContaining({ requested_by: 'operator:second', reason: 'known' }),
      }),
    ]);
    // The same person again is one person.
    expect((await release(id, SECOND)).statusCode).toBe(202);
    expect((await release(id)).json()).toMatchObject({ state: 'active', changed_by: 'operator:dev', release: null });
    expect((await listAfter(0)).stops).toMatchObject([{ tool: 'wire_transfer', state: 'active' }]);
    expect(await kinds()).toEqual(['stop.set', 'stop.release_requested', 'stop.released']);
    expect(told[2]).toMatchObject({
      policy_decision: { requested_by: 'operator:second', confirmed_by: 'operator:dev' },
    });
  });

  it('is let go by nobody alone: not by a request of yesterday, one that was taken back, or the token of the administrator', async () => {
    const { id } = await stopped('wire_transfer');
    isRefused(await release(id, ADMIN), 403, 'person_required');
    await release(id, SECOND);
    now += 24 * HOUR_MS;
    expect((await release(id)).statusCode).toBe(202);
    // Who stops it again says no.
    await stop('wire_transfer', SECOND);
    expect((await release(id, SECOND)).statusCode).toBe(202);
    expect((await ask('GET', '/stops?tenant=acme')).json()).toMatchObject([{ state: 'suspended' }]);
  });

  it('is of its tenant alone, and asked by the console for an administrator of it', async () => {
    const { id } = await stopped('wire_transfer');
    isRefused(await ask('POST', '/stops', OTHERS, { tenant: 'acme', reason: 'x' }), 403, 'tenant_mismatch');
    isRefused(await ask('GET', '/stops?tenant=acme', OTHERS), 403, 'tenant_mismatch');
    isRefused(await ask('POST', `/stops/${id}/release?tenant=other`, OTHERS, {}), 404, 'not_found');
    isRefused(await ask('POST', '/stops', null, { tenant: 'acme', reason: 'x' }), 401, 'invalid_token');
    caller = serviceCaller('proxy');
    isRefused(await stop('x'), 403, 'capability_denied');
    expect((await ask('GET', '/stops?tenant=acme', null)).json()).toHaveLength(1);
    caller = serviceCaller('hil');
    isRefused(await ask('GET', '/stops?tenant=acme'), 403, 'capability_denied');
  });

  it.each([
    ['no reason', { tenant: 'acme', tool: 'x' }],
    ['an empty tool', { tenant: 'acme', tool: '', reason: 'x' }],
    ['a tool of 257 characters', { tenant: 'acme', tool: 'x'.repeat(257), reason: 'x' }],
    ['half a surrogate', { tenant: 'acme', tool: '\ud800', reason: 'x' }],
    ['another field', { tenant: 'acme', tool: 'x', reason: 'x', for: '1h' }],
  ])('is nothing with %s', async (_what, body) => {
    isRefused(await ask('POST', '/stops', DEV, body), 400, 'invalid_request');
    expect((await ask('GET', '/stops?tenant=acme')).json()).toEqual([]);
  });

  it('is told to proxies in answers that are whole, however many were stopped, and they keep to it', async () => {
    const mirror = createRevocationMirror({ trustDomain: TRUST_DOMAIN, now: () => now });
    const tools = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    for (const tool of tools) await stopped(tool);
    const came: string[] = [];
    for (let more = true; more; more = came.at(-1) === 'more')
      came.push(mirror.take(await listAfter(mirror.position())));
    expect(came).toEqual(['more', 'more', 'whole']);
    for (const tool of tools) expect(mirror.toolFault('acme', ['z', tool])?.code).toBe('tool_suspended');
    expect([mirror.toolFault('acme', ['z'])?.code, mirror.toolFault('other', ['a'])?.code]).toEqual([
      undefined,
      undefined,
    ]);
    const listed = (await ask('GET', '/stops?tenant=acme')).json<{ id: string; tool: string }[]>();
    expect(listed.map(({ tool }) => tool).sort()).toEqual(tools);
    expect((await ask('GET', `/stops?tenant=acme&after=${listed[5]?.id}`)).json()).toMatchObject([listed[6]]);
  });

  it.each([
    ['lets it go', "update identity_stops set state = 'active'"],
    ['makes it another tool’s', "update identity_stops set tool = 'another'"],
    ['makes it another tenant’s', "update identity_stops set tenant = 'other'"],
    ['takes it off the list', 'update identity_stops set listed_generation = 0'],
    ['signs a request for release', "update identity_stops set release_by = 'operator:x', release_ms = 1"],
  ])('is what Gate wrote: whoever %s in the store is found out', async (_what, edit) => {
    const { id } = await stopped('wire_transfer');
    await place.sql(edit);
    isRefused(await release(id), 409, 'identity_tampered');
    // A proxy that is started anew hears of it, or of nothing.
    caller = serviceCaller('proxy');
    isRefused(await ask('GET', '/revocation/list?after=0', null), 409, 'identity_tampered');
  });

  it('by two at the same time is stopped once', async () => {
    const replies = await Promise.all([stop('wire_transfer'), stop('wire_transfer', SECOND)]);
    expect(replies.map(({ statusCode }) => statusCode)).toEqual([200, 200]);
    expect(await kinds()).toEqual(['stop.set']);
  });
});
