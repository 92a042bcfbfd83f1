import 'reflect-metadata';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createHmac, randomUUID, X509Certificate } from 'node:crypto';
import { exportSPKI, importJWK } from 'jose';
import { createGrantTokens } from '../../adapters/identity/grant-tokens.js';
import { type IdTokens, openIdTokens } from '../../adapters/identity/id-tokens.js';
import { exchangedToken, MOST_EXCHANGES_A_MINUTE } from '../../contracts/token-exchange.js';
import { GateError } from '../../domain/errors.js';
import { isOfIdentity } from '../../domain/identity/identity-rows.js';
import { fingerprintOf, spiffeOfCertificate } from '../../domain/identity/spiffe.js';
import { DEV, identityWithPeople } from '../../test/support/identity-people.js';
import { serviceCaller, TRUST_DOMAIN } from '../../test/support/identity-service.js';
import { STORES } from '../../test/support/ledger.js';
import { startTokenProvider, type TokenProvider } from '../../test/support/token-provider.js';
import type { Caller } from '../plugins/app.js';

const AUDIENCE = 'delegations';
const SPIFFE = `spiffe://${TRUST_DOMAIN}/tenant/acme/agent/bot`;
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ID_TOKEN = 'urn:ietf:params:oauth:token-type:id_token';
const JWT = 'urn:ietf:params:oauth:token-type:jwt';

let issuer: TokenProvider;
let foreign: TokenProvider;
let idTokens: IdTokens;
let now: () => number;
beforeAll(async () => {
  const started = () => startTokenProvider({ resource: 'https://gate.example/mcp', clients: [] });
  [issuer, foreign] = await Promise.all([started(), started()]);
  const of = (tenant: string, { issuer: iss }: TokenProvider) => ({
    tenant,
    name: `corp-${tenant}`,
    issuer: iss,
    audience: AUDIENCE,
    keys: {},
  });
  idTokens = await openIdTokens([of('acme', issuer), of('other', foreign)], {
    now: () => now(),
    lookEveryMs: 0,
    pauseMs: 0,
  });
});
afterAll(async () => {
  await idTokens.close();
  await Promise.all([issuer.close(), foreign.close()]);
});

describe.each(STORES)('a grant by token exchange, on %s', (kind) => {
  const identity = identityWithPeople(kind);
  const { at, told, sql, ask, certified, kinds } = identity;
  let pem: string;
  let id: string;
  beforeEach(async () => {
    now = () => at.now;
    at.verifyDelegator = idTokens.verify;
    ({ pem, id } = await certified('bot'));
    const envelope = { scope_envelope: ['tool:a', 'tool:b'], yellow_envelope: ['yellow:c'] };
    await ask('POST', `/agents/${id}/envelope/widen?tenant=acme`, { body: { ...envelope, reason: 'its task' } });
    at.caller = agent();
  });
  const agent = (over: Partial<Caller> = {}): Caller => {
    const shown = new X509Certificate(pem);
    return {
      kind: 'agent',
      spiffe: spiffeOfCertificate(shown) ?? '',
      callerId: 'agent-workload',
      fingerprint: fingerprintOf(shown),
      tenant: 'acme',
      agent: 'bot',
      validToMs: Date.parse(shown.validTo),
      ...over,
    };
  };
  const claims = (over: object = {}) => {
    const iat = Math.floor(at.now / 1_000);
    return { iss: issuer.issuer, aud: AUDIENCE, sub: 'ada', iat, exp: iat + 300, jti: randomUUID(), ...over };
  };
  const idToken = (over: object = {}, header: object = {}, by: 'its key' | 'another key' = 'its key') =>
    issuer.forged(claims(over), { typ: 'JWT', ...header }, by);
  const posted = (body: string | Buffer, headers: Record<string, string> = {}) =>
    ask('POST', '/token', {
      as: null,
      body,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    });
  /** A request as it should be, with other parameters; `undefined` leaves one out. */
  const form = async (over: Readonly<Record<string, string | undefined>> = {}): Promise<string> => {
    const fields = {
      grant_type: EXCHANGE,
      subject_token: over['subject_token'] ?? (await idToken()),
      subject_token_type: ID_TOKEN,
      scope: 'tool:a',
      ...over,
    };
    return new URLSearchParams(
      Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    ).toString();
  };
  const exchange = async (over: Readonly<Record<string, string | undefined>> = {}) => posted(await form(over));
  type Reply = Awaited<ReturnType<typeof ask>>;
  const refusal = ({ statusCode, body }: Reply) => {
    const { error, refused_for: why } = JSON.parse(body) as { error: string; refused_for?: string };
    return why === undefined ? [statusCode, error] : [statusCode, error, why];
  };
  const given = async (over: Readonly<Record<string, string | undefined>> = {}) => {
    const reply = await exchange(over);
    expect([reply.statusCode, reply.body]).toEqual([200, reply.body]);
    return { ...exchangedToken.parse(reply.json()), headers: reply.headers };
  };
  const claimsOf = async (token: string) => {
    const before = at.caller;
    at.caller = null;
    const tokens = createGrantTokens({ ask: async () => (await ask('GET', '/jwks.json', { as: null })).json() });
    const read = await tokens.verify(token);
    at.caller = before;
    return read;
  };
  const states = () => sql('select state from identity_grants');

  it('is of the person for the agent, whole, bound to the certificate, and ends with it', async () => {
    const issued = await given({ scope: 'tool:b yellow:c tool:a', max_uses: '3', client_id: SPIFFE });
    const seconds = Math.floor(at.now / 1_000);
    const until = Math.floor(Date.parse(new X509Certificate(pem).validTo) / 1_000);
    expect(issued).toMatchObject({
      issued_token_type: JWT,
      token_type: 'N_A',
      expires_in: until - seconds,
      scope: 'tool:a tool:b yellow:c',
    });
    expect(issued.headers['cache-control']).toBe('no-store');
    const bound = { 'x5t#S256': Buffer.from(fingerprintOf(new X509Certificate(pem)), 'hex').toString('base64url') };
    expect(await claimsOf(issued.access_token)).toMatchObject({
      sub: SPIFFE,
      act: { sub: 'user:ada', idp: 'corp-acme' },
      scope: ['tool:a', 'tool:b'],
      yellow_scope: ['yellow:c'],
      exp: until,
      max_uses: 3,
      cnf: bound,
    });
    await kinds();
    const row = told().at(-1);
    expect(row).toMatchObject({
      event_kind: 'identity.grant_issued',
      actor_sub: 'user:ada',
      credential_fingerprint: fingerprintOf(new X509Certificate(pem)),
      policy_decision: { scope: ['tool:a', 'tool:b'], yellow_scope: ['yellow:c'], cnf: bound },
    });
    expect(isOfIdentity(row)).toBe(true);
  });

  it('ends sooner where that is asked, and what nobody knows is passed over', async () => {
    const seconds = Math.floor(at.now / 1_000);
    const issued = await given({
      not_after: String(seconds + 60),
      requested_token_type: JWT,
      unheard_of: 'x',
      resource: '',
    });
    expect(issued.expires_in).toBe(60);
  });

  describe('is refused', () => {
    it.each<[string, () => Promise<string> | string]>([
      ['for another audience', () => idToken({ aud: 'another' })],
      ['for others as well', () => idToken({ aud: [AUDIENCE, 'another'] })],
      ['of an issuer that nobody named', () => idToken({ iss: 'https://id.example' })],
      ['that is over, by more than the clocks may differ', () => idToken({ exp: Math.floor(at.now / 1_000) - 61 })],
      ['of the future', () => idToken({ iat: Math.floor(at.now / 1_000) + 61 })],
      ['signed by another key under its name', () => idToken({}, {}, 'another key')],
      ['without a signature', () => `${part({ alg: 'none', typ: 'JWT' })}.${part(claims())}.`],
      ['signed with the public key as a secret', confused],
      ['that is an access token', () => idToken({}, { typ: 'at+jwt' })],
      ['of an agent', () => idToken({ scope: 'gate.agent' })],
      ['that is no token', () => 'x.y.z'],
    ])('by an ID token %s', async (_what, make) => {
      const reply = await exchange({ subject_token: await make() });
      expect(refusal(reply)).toEqual([400, 'invalid_request', 'invalid_token']);
      expect(reply.json<{ error_description: string }>().error_description).toContain('the ID token is refused');
      expect(reply.headers['cache-control']).toBe('no-store');
      expect(await states()).toEqual([]);
    });

    it('by an ID token of another tenant’s issuer', async () => {
      const token = await foreign.forged(claims({ iss: foreign.issuer }), { typ: 'JWT' });
      expect(refusal(await exchange({ subject_token: token }))).toEqual([400, 'invalid_request', 'tenant_mismatch']);
      expect(await states()).toEqual([]);
    });

    it('by a token that was exchanged before, here or by POST /grant', async () => {
      const token = await idToken();
      await given({ subject_token: token });
      expect(refusal(await exchange({ subject_token: token }))).toEqual([400, 'invalid_request', 'invalid_token']);
      const other = await idToken();
      at.caller = serviceCaller('console');
      const body = { tenant: 'acme', agent_spiffe: SPIFFE, id_token: other, scope: ['tool:a'] };
      expect((await ask('POST', '/grant', { as: null, body })).statusCode).toBe(200);
      at.caller = agent();
      expect(refusal(await exchange({ subject_token: other }))).toEqual([400, 'invalid_request', 'invalid_token']);
      const shared = await idToken();
      const together = await Promise.all(Array.from({ length: 4 }, () => exchange({ subject_token: shared })));
      expect(together.map(({ statusCode }) => String(statusCode)).toSorted()).toEqual(['200', '400', '400', '400']);
    });

    it.each<[string, Readonly<Record<string, string | undefined>>, string]>([
      ['another grant type', { grant_type: 'client_credentials' }, 'unsupported_grant_type'],
      ['no grant type', { grant_type: undefined }, 'unsupported_grant_type'],
      ['no subject', { subject_token: '' }, 'invalid_request'],
      ['no type of it', { subject_token_type: undefined }, 'invalid_request'],
      ['another type of it', { subject_token_type: JWT }, 'invalid_request'],
      ['another type of what comes', { requested_token_type: ID_TOKEN }, 'invalid_request'],
      ['an actor by a token', { actor_token: 'x', actor_token_type: JWT }, 'invalid_request'],
      ['a resource', { resource: 'https://gate.example/mcp' }, 'invalid_target'],
      ['an audience', { audience: 'gate' }, 'invalid_target'],
      ['no scope', { scope: undefined }, 'invalid_scope'],
      ['a scope that is not written as one', { scope: 'tool:a  tool:b' }, 'invalid_scope'],
      ['another client', { client_id: SPIFFE.replace('bot', 'other') }, 'invalid_client'],
      ['a secret beside the certificate', { client_secret: 'x' }, 'invalid_request'],
      ['what is no number', { max_uses: '1e1' }, 'invalid_request'],
      ['no use', { max_uses: '0' }, 'invalid_request'],
      ['a schedule, which is not for here', { recurrence: '{}' }, 'invalid_request'],
      ['a scope under its name at POST /grant', { yellow_scope: 'yellow:c' }, 'invalid_request'],
      ['a beginning after the end of the certificate', { not_before: '9999999999' }, 'invalid_request'],
    ])('with %s', async (_what, over, code) => {
      const reply = await exchange(over);
      expect(refusal(reply).slice(0, 2)).toEqual([code === 'invalid_client' ? 401 : 400, code]);
      expect(await states()).toEqual([]);
    });

    it('with a parameter that stands there twice, known or not', async () => {
      for (const again of ['scope=tool:b', 'unheard_of=x&unheard_of=x', 'resource=&resource='])
        expect(refusal(await posted(`${await form()}&${again}`))).toEqual([400, 'invalid_request']);
      expect(await states()).toEqual([]);
    });

    it('as anything but a form, and with an authorization beside the certificate', async () => {
      const body = await form();
      const json = await posted(JSON.stringify({}), { 'content-type': 'application/json' });
      expect(refusal(json)).toEqual([400, 'invalid_request']);
      expect(json.json<{ error_description: string }>().error_description).toContain('is a form');
      expect(refusal(await ask('POST', '/token', { as: null }))).toEqual([400, 'invalid_request']);
      expect(refusal(await posted(body, { authorization: 'Basic eDp5' }))).toEqual([400, 'invalid_request']);
      const broken = await posted(Buffer.from([...Buffer.from(`${body}&x=`), 0xff]));
      expect(refusal(broken)).toEqual([400, 'invalid_request']);
      expect(await states()).toEqual([]);
    });

    it('beyond the envelope, whole, with what is beyond it', async () => {
      const reply = await exchange({ scope: 'tool:a tool:x yellow:c' });
      expect(refusal(reply)).toEqual([400, 'invalid_scope', 'scope_outside_envelope']);
      expect(reply.json()).toMatchObject({ offenders: ['tool:x'] });
      const yellow = await exchange({ scope: 'tool:a yellow:a' });
      expect(refusal(yellow)).toEqual([400, 'invalid_scope', 'yellow_scope_outside_envelope']);
      expect(await states()).toEqual([]);
    });

    it('to whoever is no agent, and to one whose certificate is not the current one', async () => {
      for (const caller of [serviceCaller('console'), serviceCaller('proxy')]) {
        at.caller = caller;
        expect(refusal(await exchange())).toEqual([403, 'capability_denied']);
      }
      at.caller = null;
      expect(refusal(await exchange())).toEqual([401, 'caller_spiffe_missing']);
      at.caller = agent({ fingerprint: 'a'.repeat(64) });
      expect(refusal(await exchange())).toEqual([401, 'invalid_client', 'invalid_token']);
      at.caller = serviceCaller('console');
      await ask('POST', '/revoke', { body: { kind: 'agent', agent_id: id } });
      at.caller = agent();
      expect(refusal(await exchange())).toEqual([401, 'invalid_client', 'invalid_token']);
      expect(await states()).toEqual([]);
    });

    it('more than so often in a minute, for each agent by itself and before anything is looked up', async () => {
      let looked = 0;
      at.verifyDelegator = async () => {
        looked += 1;
        throw new GateError('invalid_token');
      };
      for (let count = 0; count < MOST_EXCHANGES_A_MINUTE; count += 1)
        expect(refusal(await exchange({ subject_token: 'x.y.z' }))).toEqual([400, 'invalid_request', 'invalid_token']);
      const limited = await exchange({ subject_token: 'x.y.z' });
      expect(refusal(limited)).toEqual([429, 'rate_limited']);
      expect(limited.headers).toMatchObject({ 'retry-after': '60', 'cache-control': 'no-store' });
      expect(limited.json()).toMatchObject({ retry_after_secs: 60, error_description: expect.any(String) });
      expect(looked).toBe(MOST_EXCHANGES_A_MINUTE);
      at.caller = agent({ agent: 'other', spiffe: SPIFFE.replace('bot', 'other') });
      expect(refusal(await exchange({ subject_token: 'x.y.z' }))).toEqual([400, 'invalid_request', 'invalid_token']);
      at.caller = agent();
      at.now += 60_000;
      at.verifyDelegator = idTokens.verify;
      await given();
    });

    it('under its own code where the store, and not the request, is at fault, and where the body is too long', async () => {
      const long = await posted(`${await form()}&x=${'x'.repeat(262_144)}`);
      expect(refusal(long)).toEqual([413, 'payload_too_large']);
      await sql("update identity_agents set created_by_sub = 'x'");
      expect(refusal(await exchange())).toEqual([409, 'identity_tampered']);
      expect(await states()).toEqual([]);
    });

    it('to an agent that is not registered or that is stopped, and where nobody may delegate', async () => {
      at.caller = agent({ agent: 'unknown', spiffe: SPIFFE.replace('bot', 'unknown') });
      expect(refusal(await exchange())).toEqual([400, 'unauthorized_client', 'unregistered_agent']);
      at.caller = serviceCaller('console');
      await ask('POST', `/agents/${id}/suspend?tenant=acme`, { as: DEV, body: { reason: 'odd' } });
      at.caller = agent();
      expect(refusal(await exchange())).toEqual([400, 'unauthorized_client', 'agent_suspended']);
      at.verifyDelegator = () => Promise.reject(new GateError('delegation_not_configured'));
      expect(refusal(await exchange())).toEqual([400, 'unauthorized_client', 'delegation_not_configured']);
      at.verifyDelegator = () => Promise.reject(new GateError('jwks_unavailable'));
      expect(refusal(await exchange())).toEqual([503, 'jwks_unavailable']);
    });
  });

  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  async function confused(): Promise<string> {
    const [head = ''] = (await idToken()).split('.');
    const { kid } = JSON.parse(Buffer.from(head, 'base64url').toString()) as { kid: string };
    const key = await importJWK({ ...issuer.publicKey(), alg: 'ES256' }, 'ES256', { extractable: true });
    const signed = `${part({ alg: 'HS256', typ: 'JWT', kid })}.${part(claims())}`;
    const secret = await exportSPKI(key as CryptoKey);
    return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
  }
});
