import 'reflect-metadata';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { issuedActorToken, redeemedActorToken } from '../../contracts/actor-tokens.js';
import { type Peers, readActorToken, stalePeer, unknownPeer } from '../../domain/identity/actor-tokens.js';
import type { Signer } from '../../domain/identity/signer.js';
import { actorClaims, newSigner, PEER, PEER_AGENT, signedActor } from '../../test/support/actor-token.js';
import { identityWithPeople } from '../../test/support/identity-people.js';
import { serviceCaller, TRUST_DOMAIN } from '../../test/support/identity-service.js';
import { STORES } from '../../test/support/ledger.js';

const INSTANCE = '0190d7b4-0000-7000-8000-000000000001';
const TARGET = `spiffe://${TRUST_DOMAIN}/tenant/acme/agent/bot/instance/${INSTANCE}`;

describe.each(STORES)('actor tokens, on %s', (kind) => {
  const identity = identityWithPeople(kind);
  const { at, ask, isRefused, sql, kinds } = identity;
  let theirs: Signer;
  beforeEach(() => {
    theirs = newSigner();
    at.peers = {
      isPeer: (domain) => domain === PEER || domain === TRUST_DOMAIN,
      keysOf(domain) {
        if (domain === TRUST_DOMAIN) return [identity.signer().publicJwk];
        if (domain === 'silent.example') throw stalePeer(domain);
        if (domain !== PEER) throw unknownPeer(domain);
        return [newSigner().publicJwk, theirs.publicJwk];
      },
      comesAs: (domain, by) =>
        (domain === PEER || domain === TRUST_DOMAIN) && by.tenant === 'acme' && by.agent === 'partner-gate',
    } satisfies Peers;
  });
  const registered = async (agent = 'bot') => {
    at.caller = serviceCaller('console');
    const reply = await ask('POST', '/agents', { body: { tenant: 'acme', agent_name: agent } });
    expect(reply.statusCode).toBe(201);
    return reply.json<{ id: string }>().id;
  };
  const issue = (over: object = {}, scope: unknown = ['tool:read']) => {
    at.caller = serviceCaller('proxy');
    const binding = {
      target: TARGET,
      tenant: 'acme',
      audience: PEER,
      purpose: 'agent-to-agent',
      operation: 'tools/call',
      lifetime_seconds: 30,
      ...over,
    };
    return ask('POST', '/actor-token', { as: null, body: { binding, scope } });
  };
  const redeem = async (token: string | Promise<string>, expected: object = {}, by: object = {}) => {
    at.caller = serviceCaller('proxy');
    return ask('POST', '/actor-token/redeem', {
      as: null,
      body: {
        token: await token,
        expected: {
          issuer: `spiffe://${PEER}`,
          subject: PEER_AGENT,
          audience: `spiffe://${TRUST_DOMAIN}`,
          scope: ['tool:read'],
          tenant: 'theirs',
          ...expected,
        },
        shown_by: { tenant: 'acme', agent_name: 'partner-gate', ...by },
      },
    });
  };
  const theirToken = (over: object = {}) => signedActor(theirs, actorClaims(at.now, over));
  const states = async () =>
    (await sql('select state from identity_actor_tokens order by id')).map(({ state }) => state);
  const used = async () => (await sql('select id from identity_actor_uses')).length;

  describe('one that is made', () => {
    it('says which agent asks, where, for what and for how long, and nothing else, under a key of identity', async () => {
      await registered();
      const reply = await issue();
      expect([reply.statusCode, reply.headers['cache-control']]).toEqual([200, 'no-store']);
      const { token, jti, exp } = issuedActorToken.parse(reply.json());
      const read = readActorToken(token);
      const iat = Math.floor(at.now / 1_000);
      expect(read.claims).toEqual({
        iss: `spiffe://${TRUST_DOMAIN}`,
        sub: TARGET,
        aud: `spiffe://${PEER}`,
        scope: ['tool:read'],
        iat,
        exp: iat + 30,
        jti,
      });
      expect([read.kid, exp]).toEqual([identity.signer().publicJwk.kid, iat + 30]);
      expect(await states()).toEqual(['released']);
      // No row of the ledger: the call that carries it has its own.
      expect(await kinds()).toEqual(['agent.registered']);
    });

    it('is made for a Gate that is known, and an agent of the tenant and trust domain that the binding names', async () => {
      await registered();
      for (const over of [
        { audience: 'nobody.example' },
        { tenant: 'other' },
        { target: TARGET.replace(TRUST_DOMAIN, PEER) },
        { target: `spiffe://${TRUST_DOMAIN}/tenant/acme/agent/bot` },
        { target: `spiffe://${TRUST_DOMAIN}/service/proxy` },
      ])
        isRefused(await issue(over), 403, 'binding_mismatch');
      for (const over of [
        { purpose: 'anything' },
        { lifetime_seconds: 0 },
        { lifetime_seconds: 61 },
        { operation: '' },
        { audience: 'Partner.example' },
      ])
        isRefused(await issue(over), 400, 'invalid_request');
      isRefused(await issue({}, []), 400, 'invalid_request');
      isRefused(await issue({}, ['tool:read', 'tool:read']), 400, 'invalid_request');
      expect(await states()).toEqual([]);
    });

    it('is not made for an agent that nobody registered, or that is stopped', async () => {
      isRefused(await issue(), 403, 'unregistered_agent');
      const id = await registered();
      at.caller = serviceCaller('console');
      await ask('POST', `/agents/${id}/suspend?tenant=acme`, { body: { reason: 'odd' } });
      isRefused(await issue(), 403, 'agent_suspended');
      expect(await states()).toEqual([]);
    });

    it('does not leave where its agent is stopped while it is signed', async () => {
      const id = await registered();
      at.actorTokens = {
        async beginActorToken(token) {
          await identity.store().beginActorToken(token);
          at.caller = serviceCaller('console');
          await ask('POST', `/agents/${id}/suspend?tenant=acme`, { body: { reason: 'odd' } });
        },
      };
      isRefused(await issue(), 403, 'agent_suspended');
      expect(await states()).toEqual(['failed']);
    });

    it('is never signed once the process that was about to is gone', async () => {
      await registered();
      const ends = () => Promise.reject(new Error('the process ends'));
      at.actorTokens = { releaseActorToken: ends, failActorToken: ends };
      expect((await issue()).statusCode).toBe(500);
      expect(await states()).toEqual(['pending']);
      await (await identity.opensAgain()).close();
      expect(await states()).toEqual(['interrupted']);
    });
  });

  describe('one of another Gate', () => {
    it('counts once', async () => {
      const token = await theirToken();
      const first = await redeem(token);
      expect(first.statusCode).toBe(200);
      const { claims } = readActorToken(token);
      const { iss, sub, aud, scope, jti, exp } = claims;
      expect(redeemedActorToken.parse(first.json())).toEqual({ iss, sub, aud, scope, jti, exp });
      isRefused(await redeem(token), 409, 'jti_already_used');
      // Signed anew it is the same one; that of another issuer under the same id is not.
      isRefused(await redeem(signedActor(theirs, { ...claims, exp: claims.exp + 1 })), 409, 'jti_already_used');
      const ours = { ...claims, iss: `spiffe://${TRUST_DOMAIN}`, sub: TARGET };
      const own = await signedActor(identity.signer(), ours);
      expect((await redeem(own, { issuer: ours.iss, subject: TARGET, tenant: 'acme' })).statusCode).toBe(200);
      expect(await used()).toBe(2);
    });

    it('counts once, however many ask at once, and through however many processes', async () => {
      const other = await identity.opensAgain();
      const stores = [identity.store(), other];
      let turn = 0;
      at.actorTokens = { useActorToken: (token) => stores[(turn += 1) % 2]?.useActorToken(token) as Promise<boolean> };
      const token = await theirToken();
      const codes = await Promise.all(Array.from({ length: 16 }, async () => (await redeem(token)).statusCode));
      await other.close();
      expect(codes.toSorted((one, other) => one - other)).toEqual([200, ...Array<number>(15).fill(409)]);
    });

    it.each<[string, (token: string) => string]>([
      ['is no token', () => 'nothing'],
      ['has two parts', (token) => token.split('.').slice(0, 2).join('.')],
      ['has four parts', (token) => `${token}.e30`],
      ['has an empty signature', (token) => `${token.slice(0, token.lastIndexOf('.'))}.`],
      ['has a header that is no JSON', (token) => token.replace(/^[^.]+/, 'AAAA')],
      ['is written in another alphabet', (token) => `${token}=`],
    ])('is refused as malformed where it %s', async (_what, change) => {
      isRefused(await redeem(change(await theirToken())), 400, 'malformed_token');
      expect(await used()).toBe(0);
    });

    it.each<[string, object]>([
      ['has a claim more', { act: { sub: 'user:ada' } }],
      ['has no scope', { scope: [] }],
      ['says a scope twice', { scope: ['tool:read', 'tool:read'] }],
      ['has no id', { jti: '' }],
      ['has an id with NUL', { jti: 'a\0b' }],
      ['has a time that is no number', { exp: 'soon' }],
    ])('is refused as malformed where it %s', async (_what, over) => {
      isRefused(await redeem(theirToken(over)), 400, 'malformed_token');
      expect(await used()).toBe(0);
    });

    it.each<[string, object, object]>([
      ['is for another Gate', { aud: 'spiffe://third.example' }, {}],
      ['is asked for as for another Gate', {}, { audience: 'spiffe://third.example' }],
      ['is of another agent', { sub: PEER_AGENT.replace('/bot/', '/else/') }, {}],
      ['is of an agent of another tenant than is said', {}, { tenant: 'acme' }],
      ['is of an agent of another Gate', { sub: TARGET }, { subject: TARGET, tenant: 'acme' }],
      ['is of a service', { sub: `spiffe://${PEER}/service/proxy` }, { subject: `spiffe://${PEER}/service/proxy` }],
      [
        'is of an agent without an instance',
        { sub: PEER_AGENT.split('/instance')[0] },
        { subject: PEER_AGENT.split('/instance')[0] },
      ],
      ['is for another tool', { scope: ['tool:write'] }, {}],
      ['is for more than is asked', { scope: ['tool:read', 'tool:write'] }, {}],
      ['is for less than is asked', {}, { scope: ['tool:read', 'tool:write'] }],
      ['lives too long', { exp: Math.floor(Date.now() / 1_000) + 10_000 }, {}],
      ['says to be of an issuer by whose key it is not signed', { iss: `spiffe://${TRUST_DOMAIN}` }, {}],
      ['is expected of what is no trust domain', {}, { issuer: `spiffe://${PEER}/service/identity` }],
    ])('is refused where it %s', async (_what, over, expected) => {
      isRefused(await redeem(theirToken(over), expected), 401, 'invalid_token');
      expect(await used()).toBe(0);
    });

    it('counts within its time, and half a minute around it for clocks', async () => {
      const iat = Math.floor(at.now / 1_000);
      const codes = [];
      for (const [from, to] of [
        [iat - 60, iat - 29],
        [iat - 60, iat - 30],
        [iat + 30, iat + 60],
        [iat + 31, iat + 60],
        [iat, iat],
        [iat, iat - 1],
        [iat, iat + 60],
        [iat, iat + 61],
      ])
        codes.push((await redeem(theirToken({ iat: from, exp: to }))).statusCode);
      expect(codes).toEqual([200, 401, 200, 401, 401, 401, 200, 401]);
    });

    it('is refused where its signature does not hold, or its header is another', async () => {
      const claims = actorClaims(at.now);
      isRefused(await redeem(signedActor(newSigner(), claims)), 401, 'invalid_token');
      const [header = '', payload = '', signature = ''] = (await theirToken()).split('.');
      const more = Buffer.from(JSON.stringify({ ...claims, scope: ['tool:read'], sub: PEER_AGENT })).toString(
        'base64url',
      );
      isRefused(await redeem(`${header}.${more}.${signature}`), 401, 'invalid_token');
      const { kid } = theirs.publicJwk;
      for (const of of [
        { alg: 'none', kid, typ: 'JWT' },
        { alg: 'HS256', kid, typ: 'JWT' },
        { alg: 'EdDSA', kid, typ: 'at+jwt' },
        { alg: 'EdDSA', typ: 'JWT' },
        { alg: 'EdDSA', kid, typ: 'JWT', crit: ['exp'] },
        { alg: 'EdDSA', kid, typ: 'JWT', jwk: theirs.publicJwk },
      ]) {
        const forged = Buffer.from(JSON.stringify(of)).toString('base64url');
        isRefused(await redeem(`${forged}.${payload}.${signature}`), 401, 'invalid_token');
      }
      expect(await used()).toBe(0);
    });

    it('is refused where two keys have one name', async () => {
      const { keysOf } = at.peers;
      const { kid } = theirs.publicJwk;
      at.peers = { ...at.peers, keysOf: (domain) => [...keysOf(domain), { ...newSigner().publicJwk, kid }] };
      isRefused(await redeem(theirToken()), 401, 'invalid_token');
    });

    it('is refused where nobody knows its Gate, or nobody has heard it for too long, with its name', async () => {
      for (const [domain, code] of [
        ['nobody.example', 'peer_bundle_unknown'],
        ['silent.example', 'peer_bundle_stale'],
      ] as const) {
        const refused = await redeem(theirToken({ iss: `spiffe://${domain}` }), { issuer: `spiffe://${domain}` });
        isRefused(refused, 403, code);
        expect(refused.json()).toMatchObject({ trust_domain: domain });
      }
    });

    it('is refused where another agent shows it than as which its Gate calls', async () => {
      for (const by of [{ agent_name: 'else' }, { tenant: 'other' }])
        isRefused(await redeem(theirToken(), {}, by), 401, 'invalid_token');
      expect(await used()).toBe(0);
    });

    it('does not count where nobody can say whether it was used', async () => {
      const token = await theirToken();
      at.actorTokens = { useActorToken: () => Promise.reject(new Error('the store is away')) };
      isRefused(await redeem(token), 503, 'replay_store_unavailable');
      at.actorTokens = {};
      expect((await redeem(token)).statusCode).toBe(200);
    });

    it('is known as used for longer than it could be used', async () => {
      const token = await theirToken({ exp: Math.floor(at.now / 1_000) + 60 });
      expect((await redeem(token)).statusCode).toBe(200);
      const [row] = await sql('select used_ms, kept_until_ms from identity_actor_uses');
      expect(Number(row?.['kept_until_ms']) - Number(row?.['used_ms'])).toBe(300_000);
    });
  });

  it('are asked for and used by proxies alone', async () => {
    await registered();
    const token = await theirToken();
    for (const caller of ['console', 'brain', 'ledger', 'hil']) {
      at.caller = serviceCaller(caller);
      isRefused(await ask('POST', '/actor-token', { as: null, body: {} }), 403, 'capability_denied');
      isRefused(await ask('POST', '/actor-token/redeem', { as: null, body: { token } }), 403, 'capability_denied');
    }
  });
});
