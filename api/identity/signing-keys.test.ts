import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createPublicKey, generateKeyPairSync, randomUUID, verify, X509Certificate } from 'node:crypto';
import { createAuthority, type Credential } from '../../adapters/identity/certificate-authority.js';
import { type IdentityStore, openIdentityStore } from '../../adapters/identity/identity-store.js';
import { certificatesOf, isSignedBy } from '../../adapters/identity/svid-signer.js';
import { openKey } from '../../adapters/identity/sealed-key.js';
import { createKeyStores, type KeyStores } from '../../adapters/signing/key-stores.js';
import { revocationVerifier } from '../../adapters/identity/revocation-signature.js';
import type { IdentityKeyRecord, SpiffeBundle } from '../../contracts/identity.js';
import type { NewLedgerRow } from '../../contracts/ledger.js';
import { isOfIdentity } from '../../domain/identity/identity-rows.js';
import { authoritiesOf } from '../../domain/identity/trust-bundle.js';
import { identityMigrations } from '../../migrations/identity.js';
import { certificateRequest } from '../../test/support/certificate-request.js';
import { identityOver, serviceAsker, serviceCaller, TRUST_DOMAIN } from '../../test/support/identity-service.js';
import { ledgerPlace, STORES, type TestLedgerPlace } from '../../test/support/ledger.js';
import { needs } from '../../test/support/needs.js';
import { SOFTHSM_PRESENT, type SoftToken, softToken } from '../../test/support/soft-token.js';
import { takingLedger } from '../../test/support/taking-ledger.js';
import { eventually } from '../../test/support/waiting.js';
import type { Caller } from '../plugins/app.js';
import type { Service } from '../plugins/service.js';
import { administrators } from './administrator.js';
import { openSigningKeys, type SigningKeyParts, type SigningKeys } from './signing-keys.js';

const HOUR_MS = 3_600_000;
const ANNOUNCE_MS = 600_000;
const ADMIN = 'x0123456789abcdefghijklmnopqrstuvw';

describe.each(STORES)('the keys with which identity signs, on %s', (kind) => {
  const startMs = Math.floor(Date.now() / 1_000) * 1_000;
  const tokenKey = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  let ca: Credential;
  let place: TestLedgerPlace;
  let store: IdentityStore;
  let service: Service;
  let keys: SigningKeys;
  let told: NewLedgerRow[];
  let trusts: string[];
  let caller: Caller | null;
  let now: number;
  let canRotateCa: boolean;

  /** A process of identity that begins anew over the same store. */
  const opened = (
    configured = { certificates: ca.key, tokens: tokenKey },
    steadyMs = () => now,
    elsewhere: Pick<SigningKeyParts, 'keyStores' | 'newKeys'> = {},
  ): Promise<SigningKeys> =>
    openSigningKeys({
      store,
      ring: place.keys,
      trustDomain: TRUST_DOMAIN,
      caPem: ca.cert,
      configured: { certificates: () => configured.certificates, tokens: () => configured.tokens },
      announceMs: ANNOUNCE_MS,
      clock: () => now,
      steadyMs,
      ...elsewhere,
      onTrust: (pem) => trusts.push(pem),
    });
  async function serve(): Promise<void> {
    keys = await opened();
    service = identityOver(ca, {
      ...keys,
      keys: { ...keys, canRotateCa },
      store,
      ledger: takingLedger((rows) => told.push(...rows)),
      administratorOf: administrators({ token: ADMIN, tenant: 'acme' }),
      resolveCaller: () => caller,
      clock: () => now,
    });
  }
  beforeAll(async () => {
    ca = await createAuthority(TRUST_DOMAIN, {
      notBefore: new Date(startMs - 24 * HOUR_MS),
      notAfter: new Date(startMs + 720 * HOUR_MS),
    });
    place = await ledgerPlace(kind, { migrated: identityMigrations });
    store = await openIdentityStore(place.target, place.keys);
  });
  afterAll(async () => {
    await store.close();
    await place.remove();
  });
  beforeEach(async () => {
    [now, told, trusts, canRotateCa, caller] = [startMs, [], [], true, serviceCaller('console')];
    for (const table of ['signing_keys', 'outbox', 'enrollments', 'intents', 'svids', 'agents'])
      await place.sql(`delete from identity_${table}`);
    await serve();
  });
  afterEach(() => service.close());

  const asks = serviceAsker(() => service);
  const ask = (method: 'GET' | 'POST', url: string, body?: object, as: string | null = ADMIN) =>
    asks(method, url, { as, ...(body && { body }) });
  const rotate = (over: object = {}) =>
    ask('POST', '/keys/rotations', {
      request_id: randomUUID(),
      use: 'certificates',
      old_until: new Date(startMs).toISOString(),
      ...over,
    });
  const stages = async () =>
    (await ask('GET', '/keys')).json<{ keys: IdentityKeyRecord[] }>().keys.map(({ state }) => state);
  const bundle = async () => (await ask('GET', '/.well-known/spiffe-bundle', undefined, null)).json<SpiffeBundle>();
  const passes = async (ms: number) => {
    now += ms;
    await keys.step();
  };
  const delivered = async () => {
    await eventually(
      'the ledger has all',
      async () => (await place.sql('select id from identity_outbox')).length === 0,
    );
    return told.map(({ event_kind: event }) => event);
  };
  async function certificate(agent: string): Promise<{ readonly leaf: X509Certificate; readonly ca: string }> {
    const { token } = (await ask('POST', '/enrollments', { tenant: 'acme', agent_name: agent })).json<{
      token: string;
    }>();
    const { pem } = await certificateRequest();
    caller = null;
    const reply = await ask('POST', '/enrollments/svid', { csr_pem: pem }, token);
    caller = serviceCaller('console');
    const { cert_pem: leaf, ca_cert_pem: trusted } = reply.json<{ cert_pem: string; ca_cert_pem: string }>();
    return { leaf: new X509Certificate(leaf), ca: trusted };
  }
  const list = () =>
    keys.signList({
      format: 'gate.revocation-list/1',
      trust_domain: TRUST_DOMAIN,
    } as never);

  it('are those of the settings, of which nothing is stored until one is replaced', async () => {
    expect(await stages()).toEqual([]);
    expect(isSignedBy((await certificate('bot')).leaf, ca.cert)).toBe(true);
    const asked = jest.spyOn(store, 'advanceKeys');
    await passes(1_000);
    expect([await stages(), trusts]).toEqual([[], []]);
    // Which is seen in what is read each second: nothing is due of none.
    expect(asked).not.toHaveBeenCalled();
    asked.mockRestore();
  });

  it('of another CA are published before they sign, and those before withdrawn when all that they signed is over', async () => {
    const before = await certificate('before');
    const first = (await bundle()).spiffe_sequence;
    const reply = await rotate({ reason: 'it is the day' });
    expect([reply.statusCode, reply.json<IdentityKeyRecord>()]).toEqual([
      200,
      expect.objectContaining({ state: 'announced', signs_from: new Date(startMs + ANNOUNCE_MS).toISOString() }),
    ]);
    const next = reply.json<IdentityKeyRecord>().public_pem;
    // Trusted at once, and no certificate is of it.
    expect(trusts).toEqual([`${new X509Certificate(ca.cert).toString()}${next}`]);
    expect([(await bundle()).spiffe_sequence, authoritiesOf(await bundle())]).toEqual([first + 1, trusts[0]]);
    await passes(ANNOUNCE_MS - 1);
    const announced = await certificate('announced');
    expect([isSignedBy(announced.leaf, ca.cert), isSignedBy(announced.leaf, next), announced.ca]).toEqual([
      true,
      false,
      trusts[0],
    ]);
    expect(await stages()).toEqual(['signing', 'announced']);

    await passes(1);
    expect(await stages()).toEqual(['retiring', 'signing']);
    const after = await certificate('after');
    expect([isSignedBy(after.leaf, ca.cert), isSignedBy(after.leaf, next)]).toEqual([false, true]);
    // Whoever heard of both verifies what either signed.
    const signed = await list();
    expect(() => revocationVerifier(() => trusts[0] as string)(signed)).not.toThrow();
    expect(() => revocationVerifier(() => ca.cert)(signed)).toThrow('that no CA of');
    expect(isSignedBy(before.leaf, authoritiesOf(await bundle()))).toBe(true);

    // A certificate for an hour, by a clock that is behind.
    await passes(HOUR_MS + 359_999);
    expect(await stages()).toEqual(['retiring', 'signing']);
    await passes(1);
    expect(await stages()).toEqual(['withdrawn', 'signing']);
    expect([authoritiesOf(await bundle()), trusts[1]]).toEqual([next, next]);
    expect(isSignedBy(before.leaf, authoritiesOf(await bundle()))).toBe(false);

    expect((await delivered()).filter((event) => event?.startsWith('identity.key_'))).toEqual([
      'identity.key_announced',
      'identity.key_signs',
      'identity.key_withdrawn',
    ]);
    const rows = told.filter(({ event_kind: event }) => event?.startsWith('identity.key_'));
    expect(rows.every(isOfIdentity)).toBe(true);
    expect(rows[0]).toMatchObject({
      actor_sub: expect.stringMatching(/^admin-token:/),
      policy_decision: { use: 'certificates', replaces: expect.stringMatching(/^[0-9a-f]{64}$/) },
      payload_canonical_json: '{"reason":"it is the day"}',
    });
  });

  it('of tokens are in the key set before they sign, and stay for a day', async () => {
    const jwks = async () =>
      (await ask('GET', '/jwks.json', undefined, null)).json<{ keys: { kid: string; x: string }[] }>().keys;
    const [first] = await jwks();
    const old = await keys.tokenSigner.sign('before');
    expect((await rotate({ use: 'tokens', old_until: undefined })).statusCode).toBe(200);
    expect((await jwks()).map(({ kid }) => kid)).toEqual([first?.kid, expect.any(String)]);
    expect(keys.tokenSigner.publicJwk.kid).toBe(first?.kid);
    await passes(ANNOUNCE_MS);
    const signed = await keys.tokenSigner.sign('after');
    expect([signed.key_id, old.key_id]).toEqual([(await jwks())[1]?.kid, first?.kid]);
    for (const [text, { key_id: id, value }] of [
      ['before', old],
      ['after', signed],
    ] as const) {
      const x = (await jwks()).find(({ kid }) => kid === id)?.x ?? '';
      const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
      expect(verify(null, Buffer.from(text), key, Buffer.from(value, 'base64'))).toBe(true);
    }
    await passes(24 * HOUR_MS + 359_999);
    expect(await jwks()).toHaveLength(2);
    await passes(1);
    expect((await jwks()).map(({ kid }) => kid)).toEqual([signed.key_id]);
    // The CA is another matter.
    expect(authoritiesOf(await bundle())).toBe(new X509Certificate(ca.cert).toString());
  });

  it('go on from the stage at which a process ended, whichever it was', async () => {
    const requestId = randomUUID();
    const { id } = (await rotate({ request_id: requestId })).json<IdentityKeyRecord>();
    // The answer was lost.
    keys = await opened();
    expect((await keys.rotate({ requestId, use: 'certificates', oldUntilMs: null, by: 'dev', reason: null })).id).toBe(
      id,
    );
    const both = keys.trusted();
    now += ANNOUNCE_MS;
    await keys.step();
    keys = await opened();
    expect([await stages(), keys.trusted()]).toEqual([['retiring', 'signing'], both]);
    const { cert } = await keys.signer
      .sign({
        commonName: 'bot',
        spiffe: `spiffe://${TRUST_DOMAIN}/service/x`,
        notBefore: new Date(now),
        notAfter: new Date(now + 60_000),
        publicKey: new Uint8Array(generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'der' })),
      })
      .then(({ certPem }) => ({ cert: new X509Certificate(certPem) }));
    expect(isSignedBy(cert, both.replace(new X509Certificate(ca.cert).toString(), ''))).toBe(true);
    now += 2 * HOUR_MS;
    await keys.step();
    // The file of the settings is not even read any more.
    keys = await opened({ certificates: 'no key', tokens: tokenKey });
    expect([await stages(), certificatesOf(keys.trusted()).length]).toEqual([['withdrawn', 'signing'], 1]);
    const stored = await place.sql('select state, sealed_key from identity_signing_keys order by announced_ms');
    expect(stored).toEqual([
      { state: 'withdrawn', sealed_key: null },
      { state: 'signing', sealed_key: expect.stringMatching(/^gate\.sealed-key\/1 /) },
    ]);
    expect((await delivered()).filter((event) => event?.startsWith('identity.key_'))).toHaveLength(3);
  });

  it('go on once where two processes do what is due at the same time, and either takes it over', async () => {
    const other = await opened();
    const asked = {
      requestId: randomUUID(),
      use: 'certificates',
      oldUntilMs: startMs,
      by: 'dev',
      reason: null,
    } as const;
    const [one, same] = await Promise.all([keys.rotate(asked), other.rotate(asked)]);
    expect(one.id).toBe(same.id);
    now += ANNOUNCE_MS;
    await Promise.all([keys.step(), other.step(), keys.step(), other.step()]);
    await Promise.all([keys.step(), other.step()]);
    expect(await stages()).toEqual(['retiring', 'signing']);
    expect(keys.trusted()).toBe(other.trusted());
    expect((await delivered()).filter((event) => event === 'identity.key_signs')).toHaveLength(1);
  });

  it('do not sign before others could hear of them, where identity was away for the time of the announcement', async () => {
    await rotate();
    now += 2 * ANNOUNCE_MS;
    let steady = 0;
    keys = await opened(undefined, () => steady);
    await keys.step();
    steady = 299_999;
    await keys.step();
    expect(await stages()).toEqual(['signing', 'announced']);
    steady = 300_000;
    await keys.step();
    expect(await stages()).toEqual(['retiring', 'signing']);
  });

  it('stay at least until what they signed elsewhere is over', async () => {
    await rotate({ old_until: new Date(startMs + 48 * HOUR_MS).toISOString() });
    await passes(ANNOUNCE_MS);
    await passes(47 * HOUR_MS);
    expect(await stages()).toEqual(['retiring', 'signing']);
    await passes(2 * HOUR_MS);
    expect(await stages()).toEqual(['withdrawn', 'signing']);
    // The next one is identity's own: it knows what that signed.
    expect((await rotate({ old_until: undefined })).statusCode).toBe(200);
    await passes(ANNOUNCE_MS);
    await passes(2 * HOUR_MS);
    expect(await stages()).toEqual(['withdrawn', 'withdrawn', 'signing']);
    expect(
      await place.sql("select id from identity_signing_keys where state = 'withdrawn' and sealed_key is not null"),
    ).toEqual([]);
  });

  it('are replaced one at a time, and refused where nobody would take them over', async () => {
    const refused = async (over: object) => {
      const reply = await rotate(over);
      return [reply.statusCode, reply.json<{ error: string }>().error];
    };
    expect(await refused({ old_until: undefined })).toEqual([400, 'invalid_request']);
    // Nothing would come in its place before that.
    const tooLate = new Date(startMs + 721 * HOUR_MS).toISOString();
    expect(await refused({ old_until: tooLate })).toEqual([400, 'invalid_request']);
    expect(await refused({ use: 'tokens', old_until: tooLate })).toEqual([400, 'invalid_request']);
    expect(await refused({ use: 'rows' })).toEqual([400, 'invalid_request']);
    expect(await stages()).toEqual([]);
    const requestId = randomUUID();
    const first = (await rotate({ request_id: requestId })).json<IdentityKeyRecord>();
    expect(await refused({})).toEqual([409, 'rotation_active']);
    expect((await rotate({ request_id: requestId })).json()).toEqual(first);
    expect(await refused({ request_id: requestId, use: 'tokens' })).toEqual([400, 'invalid_request']);
    await passes(ANNOUNCE_MS);
    expect(await refused({})).toEqual([409, 'rotation_active']);
    await service.close();
    canRotateCa = false;
    await serve();
    expect(await refused({})).toEqual([409, 'rotation_unavailable']);
    expect((await rotate({ use: 'tokens', old_until: undefined })).statusCode).toBe(200);
  });

  it('are of the administrator, asked by the console', async () => {
    for (const [method, url] of [
      ['GET', '/keys'],
      ['POST', '/keys/rotations'],
    ] as const) {
      expect((await ask(method, url, undefined, null)).json()).toMatchObject({ error: 'invalid_token' });
      expect((await ask(method, url, undefined, ADMIN.replace('x', 'y'))).json()).toMatchObject({
        error: 'invalid_token',
      });
      caller = serviceCaller('proxy');
      expect((await ask(method, url)).json()).toMatchObject({ error: 'capability_denied' });
      caller = serviceCaller('console');
    }
    expect(await stages()).toEqual([]);
  });

  it('are not taken where somebody edited a row, or gave another key of the settings than the one that signs', async () => {
    await rotate();
    const other = await createAuthority(TRUST_DOMAIN, { notBefore: new Date(0), notAfter: new Date(2 ** 42) });
    await expect(opened({ certificates: other.key, tokens: tokenKey })).rejects.toThrow('belongs to no CA');
    await place.sql("update identity_signing_keys set signs_due_ms = 0 where state = 'announced'");
    await expect(keys.step()).rejects.toMatchObject({ code: 'identity_tampered' });
    await expect(opened()).rejects.toMatchObject({ code: 'identity_tampered' });
    expect((await ask('GET', '/keys')).json()).toMatchObject({ error: 'identity_tampered' });
    // What signs and counts stays as it was.
    expect(isSignedBy((await certificate('bot')).leaf, ca.cert)).toBe(true);
  });

  (SOFTHSM_PRESENT ? describe : describe.skip)(`made in a token${needs('softhsm2', SOFTHSM_PRESENT)}`, () => {
    let token: SoftToken;
    let stores: KeyStores;
    beforeEach(() => {
      token = softToken();
      stores = createKeyStores({ limitMs: 20_000, clock: () => now });
    });
    afterEach(() => {
      stores.close();
      token.remove();
    });
    const openedThere = () =>
      openSigningKeys({
        store,
        ring: place.keys,
        trustDomain: TRUST_DOMAIN,
        caPem: ca.cert,
        configured: { certificates: () => ca.key, tokens: () => tokenKey },
        announceMs: ANNOUNCE_MS,
        clock: () => now,
        steadyMs: () => now,
        keyStores: stores,
        newKeys: token.reference('{key}'),
      });

    it.each(['certificates', 'tokens'] as const)('sign from there, and only from there (%s)', async (use) => {
      keys = await openedThere();
      const asked = { requestId: randomUUID(), use, oldUntilMs: startMs, by: 'dev', reason: null };
      const announced = await keys.rotate(asked);
      // Nothing of it is in the store but where it lies, and that is sealed.
      const [row] = await place.sql("select sealed_key from identity_signing_keys where state = 'announced'");
      expect(openKey(place.keys, use, String(row?.['sealed_key']))).toBe(
        token.reference(`gate-${use}-${asked.requestId}`),
      );
      now += ANNOUNCE_MS;
      await keys.step();
      // A process that begins anew finds it by that alone.
      stores.close();
      stores = createKeyStores({ limitMs: 20_000, clock: () => now });
      keys = await openedThere();
      if (use === 'certificates') {
        expect(revocationVerifier(() => announced.publicPem)(await list())).toMatchObject({
          trust_domain: TRUST_DOMAIN,
        });
      } else {
        const { key_id: id, value } = await keys.tokenSigner.sign('text');
        expect([id, verify(null, Buffer.from('text'), announced.publicPem, Buffer.from(value, 'base64'))]).toEqual([
          announced.id,
          true,
        ]);
      }
      expect(() => keys.assertSigns()).not.toThrow();
      // The token is away: nothing else signs in its place.
      stores.close();
      process.env['SOFTHSM2_CONF'] = '/nowhere';
      const signs = () => (use === 'certificates' ? list() : keys.tokenSigner.sign('text'));
      await expect(signs()).rejects.toMatchObject({ code: 'signing_unavailable' });
      expect(() => keys.assertSigns()).toThrow(`the key of ${use}: the token gate: unreachable`);
    });

    it('are not made there while another one is on its way', async () => {
      keys = await openedThere();
      const asked = { use: 'tokens', oldUntilMs: null, by: 'dev', reason: null } as const;
      await keys.rotate({ ...asked, requestId: randomUUID() });
      const requestId = randomUUID();
      await expect(keys.rotate({ ...asked, requestId })).rejects.toMatchObject({ code: 'rotation_active' });
      await expect(stores.open(token.reference(`gate-tokens-${requestId}`))).rejects.toThrow('has no key');
    });

    it('are not followed by one in the store where no setting says where keys are made', async () => {
      await stores.make(token.reference('{key}'), 'first', 'Ed25519');
      const there = { certificates: ca.key, tokens: token.reference('first') };
      const asked = { requestId: randomUUID(), oldUntilMs: null, by: 'dev', reason: null };
      keys = await opened(there, () => now, { keyStores: stores });
      await expect(keys.rotate({ ...asked, use: 'tokens' })).rejects.toMatchObject({
        code: 'rotation_unavailable',
        message: expect.stringContaining('GATE_IDENTITY_NEW_KEYS'),
      });
      expect(await keys.keys()).toEqual([]);
      // The setting is there: the same question is answered.
      keys = await opened(there, () => now, { keyStores: stores, newKeys: token.reference('{key}') });
      expect(await keys.rotate({ ...asked, use: 'tokens' })).toMatchObject({ state: 'announced' });
      now += ANNOUNCE_MS;
      await keys.step();
      // As where the one that signs came by a rotation, and the setting is gone.
      keys = await opened(there, () => now, { keyStores: stores });
      now += 40 * HOUR_MS;
      await keys.step();
      await expect(keys.rotate({ ...asked, requestId: randomUUID(), use: 'tokens' })).rejects.toMatchObject({
        code: 'rotation_unavailable',
      });
    });

    it('that cannot be made are announced to nobody', async () => {
      keys = await openedThere();
      process.env['SOFTHSM2_CONF'] = '/nowhere';
      await expect(
        keys.rotate({ requestId: randomUUID(), use: 'tokens', oldUntilMs: null, by: 'dev', reason: null }),
      ).rejects.toMatchObject({ code: 'signing_unavailable' });
      expect(await keys.keys()).toEqual([]);
    });

    it('are those of the settings, where these say that they lie there', async () => {
      const reference = await stores.make(token.reference('{key}'), 'tokens', 'Ed25519');
      const signing = await openSigningKeys({
        store,
        ring: place.keys,
        trustDomain: TRUST_DOMAIN,
        caPem: ca.cert,
        configured: { certificates: () => ca.key, tokens: () => reference },
        announceMs: ANNOUNCE_MS,
        keyStores: stores,
      });
      const { value } = await signing.tokenSigner.sign('text');
      const { publicKey } = await stores.open(reference);
      expect(verify(null, Buffer.from('text'), publicKey, Buffer.from(value, 'base64'))).toBe(true);
    });
  });
});
