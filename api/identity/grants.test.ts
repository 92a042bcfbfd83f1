import 'reflect-metadata';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomUUID, X509Certificate } from 'node:crypto';
import { createGrantTokens } from '../../adapters/identity/grant-tokens.js';
import { type IdTokens, openIdTokens } from '../../adapters/identity/id-tokens.js';
import {
  grantList,
  type IssuedGrant,
  issuedGrant,
  type ListedGrant,
  MOST_GRANTS_AT_ONCE,
} from '../../contracts/grants.js';
import { agentRecord } from '../../contracts/identity.js';
import { GateError } from '../../domain/errors.js';
import { isOfIdentity } from '../../domain/identity/identity-rows.js';
import { createRevocationMirror } from '../../domain/identity/revocation-mirror.js';
import { fingerprintOf } from '../../domain/identity/spiffe.js';
import { prepareRow } from '../../domain/ledger/entry.js';
import { ADMIN, DEV, identityWithPeople, OTHERS, SECOND } from '../../test/support/identity-people.js';
import { serviceCaller, TRUST_DOMAIN } from '../../test/support/identity-service.js';
import { STORES } from '../../test/support/ledger.js';
import { seededRandom } from '../../test/support/random.js';
import { startTokenProvider, type TokenProvider } from '../../test/support/token-provider.js';
import { eventually } from '../../test/support/waiting.js';

const AUDIENCE = 'delegations';
const SPIFFE = `spiffe://${TRUST_DOMAIN}/tenant/acme/agent/bot`;

let issuer: TokenProvider;
let idTokens: IdTokens;
/** How far the clock of the tests is ahead of that of the issuer. */
let now: () => number;
beforeAll(async () => {
  issuer = await startTokenProvider({ resource: 'https://gate.example/mcp', clients: [] });
  idTokens = await openIdTokens(
    [{ tenant: 'acme', name: 'corp', issuer: issuer.issuer, audience: AUDIENCE, keys: {} }],
    { now: () => now(), lookEveryMs: 0, pauseMs: 0 },
  );
});
afterAll(async () => {
  await idTokens.close();
  await issuer.close();
});

describe.each(STORES)('what is delegated to an agent, on %s', (kind) => {
  const identity = identityWithPeople(kind);
  const { at, told, sql, ask, certified, isRefused, kinds, listAfter } = identity;
  beforeEach(() => {
    now = () => at.now;
    at.verifyDelegator = idTokens.verify;
  });
  const idToken = (sub = 'ada', over: object = {}) => {
    const iat = Math.floor(at.now / 1_000);
    return issuer.forged(
      { iss: issuer.issuer, aud: AUDIENCE, sub, iat, exp: iat + 300, jti: randomUUID(), ...over },
      { typ: 'JWT' },
    );
  };
  const asConsole = () => (at.caller = serviceCaller('console'));
  const registered = async (envelope: object = { scope_envelope: ['tool:read'] }, agent = 'bot') => {
    asConsole();
    const reply = await ask('POST', '/agents', { body: { tenant: 'acme', agent_name: agent, ...envelope } });
    expect(reply.statusCode).toBe(201);
    return agentRecord.parse(reply.json()).id;
  };
  const asked = async (over: object = {}, as = 'console') => {
    at.caller = serviceCaller(as);
    const body = { tenant: 'acme', agent_spiffe: SPIFFE, id_token: await idToken(), scope: ['tool:read'], ...over };
    return ask('POST', '/grant', { as: null, body });
  };
  const granted = async (over: object = {}): Promise<IssuedGrant> => {
    const reply = await asked(over);
    expect([reply.statusCode, reply.headers['cache-control']]).toEqual([200, 'no-store']);
    return issuedGrant.parse(reply.json());
  };
  const listed = async (query = '', as: string | null = DEV): Promise<readonly ListedGrant[]> => {
    asConsole();
    const reply = await ask('GET', `/grants?tenant=acme${query}`, { as });
    expect(reply.statusCode).toBe(200);
    return grantList.parse(reply.json()).grants;
  };
  const changed = (id: string, how: 'narrow' | 'widen', envelope: object, as = DEV) => {
    asConsole();
    return ask('POST', `/agents/${id}/envelope/${how}?tenant=acme`, { as, body: { ...envelope, reason: 'less' } });
  };
  const revoke = (jti: string, as = DEV) => {
    asConsole();
    return ask('POST', '/revoke', { as, body: { kind: 'grant', jti, reason: 'lost' } });
  };
  const uses = (jti: string, count: number) => {
    at.caller = serviceCaller('proxy');
    return ask('POST', '/grants/uses', { as: null, body: { uses: [{ jti, uses: count }] } });
  };
  /** What a proxy knows of the list. */
  const mirror = async () => {
    const mirrored = createRevocationMirror({ trustDomain: TRUST_DOMAIN, now: () => at.now, steadyMs: () => at.now });
    while (mirrored.take(await listAfter(mirrored.position())) !== 'whole');
    return mirrored;
  };

  describe('its envelope', () => {
    it('is empty where nobody said otherwise, and then nothing is granted', async () => {
      asConsole();
      const reply = await ask('POST', '/agents', { body: { tenant: 'acme', agent_name: 'bot' } });
      expect(agentRecord.parse(reply.json())).toMatchObject({ scope_envelope: [], yellow_envelope: [] });
      const refused = await asked();
      isRefused(refused, 403, 'scope_outside_envelope');
      expect(refused.json()).toMatchObject({ offenders: ['tool:read'] });
      expect(await listed()).toEqual([]);
      expect(await kinds()).toEqual(['agent.registered']);
    });

    it('is narrowed and widened, each with a row that has it before and after', async () => {
      const id = await registered({ scope_envelope: ['tool:b', 'tool:a', 'tool:b'], yellow_envelope: ['yellow:c'] });
      const wider = { scope_envelope: ['tool:a', 'tool:b', 'tool:d'], yellow_envelope: ['yellow:c'] };
      expect(agentRecord.parse((await changed(id, 'widen', wider, SECOND)).json())).toMatchObject(wider);
      const narrower = { scope_envelope: ['tool:d'], yellow_envelope: [] };
      expect(agentRecord.parse((await changed(id, 'narrow', narrower)).json())).toMatchObject(narrower);
      asConsole();
      expect((await ask('GET', '/agents?tenant=acme')).json()).toEqual([expect.objectContaining(narrower)]);
      expect(await kinds()).toEqual(['agent.registered', 'agent.envelope_widened', 'agent.envelope_narrowed']);
      expect(JSON.parse(told()[0]?.payload_canonical_json ?? '')).toEqual({
        scope_envelope: ['tool:a', 'tool:b'],
        yellow_envelope: ['yellow:c'],
      });
      expect(told()[1]).toMatchObject({ actor_sub: 'operator:second', tenant: 'acme' });
      expect(JSON.parse(told()[2]?.payload_canonical_json ?? '')).toEqual({
        scope_envelope_before: ['tool:a', 'tool:b', 'tool:d'],
        scope_envelope_after: ['tool:d'],
        yellow_envelope_before: ['yellow:c'],
        yellow_envelope_after: [],
        reason: 'less',
      });
      for (const row of told()) expect([isOfIdentity(row), prepareRow(row) !== undefined]).toEqual([true, true]);
    });

    it('refuses what goes the other way, what is no scope, and whoever may not', async () => {
      const id = await registered();
      const wider = { scope_envelope: ['tool:read', 'tool:x'], yellow_envelope: [] };
      const refused = await changed(id, 'narrow', wider);
      isRefused(refused, 422, 'envelope_not_narrower');
      expect(refused.json()).toMatchObject({ offenders: ['tool:x'] });
      isRefused(await changed(id, 'widen', { scope_envelope: [], yellow_envelope: [] }), 422, 'envelope_not_wider');
      const unwritten = await changed(id, 'widen', { scope_envelope: ['tool:read', 'Tool:X'], yellow_envelope: [] });
      isRefused(unwritten, 422, 'scope_not_normalized');
      expect(unwritten.json()).toMatchObject({ field: 'scope_envelope[1]' });
      isRefused(await changed(id, 'widen', wider, OTHERS), 403, 'tenant_mismatch');
      isRefused(await changed(id, 'widen', wider, 'nobody'), 401, 'unauthenticated');
      isRefused(await changed('70000000-0000-4000-8000-000000000007', 'widen', wider), 404, 'not_found');
      asConsole();
      await ask('POST', `/agents/${id}/decommission?tenant=acme`, { body: {} });
      isRefused(await changed(id, 'widen', wider), 403, 'agent_decommissioned');
      expect(await kinds()).toEqual(['agent.registered', 'agent.decommissioned']);
    });

    it('gives nothing where somebody edited it', async () => {
      const id = await registered();
      await sql(`update identity_envelopes set scope_envelope = '["tool:all","tool:read"]'`);
      isRefused(await asked({ scope: ['tool:all'] }), 409, 'identity_tampered');
      const less = { scope_envelope: ['tool:read'], yellow_envelope: [] };
      for (const how of ['narrow', 'widen'] as const) isRefused(await changed(id, how, less), 409, 'identity_tampered');
    });

    it('keeps no stop from being told, and nobody from looking, where somebody edited it', async () => {
      const id = await registered();
      await registered({ scope_envelope: ['tool:x'] }, 'other');
      await sql(`update identity_envelopes set scope_envelope = '["tool:all"]' where id = ?`, [id]);
      asConsole();
      const stopped = await ask('POST', `/agents/${id}/suspend?tenant=acme`, { body: { reason: 'odd' } });
      expect([stopped.statusCode, stopped.json()]).toEqual([
        200,
        expect.objectContaining({ state: 'suspended', scope_envelope: [], yellow_envelope: [] }),
      ]);
      const all = (await ask('GET', '/agents?tenant=acme')).json<{ agent_name: string; scope_envelope: string[] }[]>();
      expect(all.map(({ agent_name: name, scope_envelope: scope }) => `${name}: ${scope.join()}`).toSorted()).toEqual([
        'bot: ',
        'other: tool:x',
      ]);
    });

    it('is written anew by who lets nothing be delegated from now on, where somebody edited it', async () => {
      const id = await registered();
      const { jti } = await granted();
      await sql(`update identity_envelopes set scope_envelope = '["tool:all"]', envelope_generation = 0`);
      const nothing = { scope_envelope: [], yellow_envelope: [] };
      expect((await changed(id, 'narrow', nothing)).statusCode).toBe(200);
      expect((await mirror()).grantFault(jti)?.code).toBe('grant_revoked');
      isRefused(await asked({ scope: ['tool:all'] }), 403, 'scope_outside_envelope');
      expect((await changed(id, 'widen', { scope_envelope: ['tool:read'], yellow_envelope: [] })).statusCode).toBe(200);
      await granted();
      expect((await changed(id, 'narrow', nothing)).statusCode).toBe(200);
      await kinds();
      const [first, second] = told().filter(({ event_kind: event }) => event === 'agent.envelope_narrowed');
      expect(first?.policy_decision).toMatchObject({
        edited_rows: [expect.stringContaining(`identity_envelopes ${id}`)],
        replaced_row_sha256: expect.any(String),
      });
      expect(second?.policy_decision).not.toHaveProperty('edited_rows');
    });

    it('takes back the grants that hold more than it does from now on', async () => {
      const id = await registered({ scope_envelope: ['tool:a', 'tool:b'], yellow_envelope: ['yellow:c'] });
      const kept = await granted({ scope: ['tool:a'] });
      const gone = await granted({ scope: ['tool:a', 'tool:b'] });
      const yellow = await granted({ scope: [], yellow_scope: ['yellow:c'] });
      await changed(id, 'narrow', { scope_envelope: ['tool:a'], yellow_envelope: [] });
      expect((await listed('&active=true')).map(({ jti }) => jti)).toEqual([kept.jti]);
      const { grantFault } = await mirror();
      expect([kept, gone, yellow].map(({ jti }) => grantFault(jti)?.code)).toEqual([
        undefined,
        'grant_revoked',
        'grant_revoked',
      ]);
      expect((await kinds()).slice(-2)).toEqual(['grant.revoked', 'grant.revoked']);
      expect(told().at(-1)).toMatchObject({ policy_decision: { because: 'envelope_narrowed' } });
    });
  });

  describe('a grant', () => {
    it('says who delegates what to whom, for how long and how often, under a key of identity', async () => {
      await registered({ scope_envelope: ['tool:a', 'tool:b'], yellow_envelope: ['yellow:c'] });
      const seconds = Math.floor(at.now / 1_000);
      const recurrence = { tz_offset_minutes: 0, windows: [{ weekdays: [0], start_minute: 0, end_minute: 60 }] };
      const terms = { max_uses: 3, not_before: seconds + 10, not_after: seconds + 100, recurrence };
      const issued = await granted({
        id_token: await idToken('ada', { amr: ['pwd', 'otp'], nonce: 'n' }),
        nonce: 'n',
        scope: ['tool:b', 'tool:a'],
        yellow_scope: ['yellow:c'],
        ...terms,
      });
      const act = { sub: 'user:ada', idp: 'corp', amr: ['pwd', 'otp'] };
      expect(issued).toMatchObject({
        sub: SPIFFE,
        act,
        nbf: seconds + 10,
        exp: seconds + 100,
        max_uses: 3,
        recurrence,
      });
      at.caller = null;
      const tokens = createGrantTokens({ ask: async () => (await ask('GET', '/jwks.json', { as: null })).json() });
      expect(await tokens.verify(issued.grant)).toEqual({
        iss: 'gate-identity',
        sub: SPIFFE,
        act,
        scope: ['tool:a', 'tool:b'],
        yellow_scope: ['yellow:c'],
        iat: seconds,
        exp: seconds + 100,
        jti: issued.jti,
        nbf: seconds + 10,
        max_uses: 3,
        recurrence,
      });
      const [header = ''] = issued.grant.split('.');
      expect(Object.keys(JSON.parse(Buffer.from(header, 'base64url').toString()) as object)).toEqual([
        'alg',
        'kid',
        'typ',
      ]);
      expect(await listed()).toEqual([
        {
          jti: issued.jti,
          agent_spiffe: SPIFFE,
          human_sub: 'user:ada',
          idp: 'corp',
          scope: ['tool:a', 'tool:b'],
          yellow_scope: ['yellow:c'],
          issued_at: new Date(seconds * 1_000).toISOString(),
          max_uses: 3,
          uses: 0,
          not_before: new Date((seconds + 10) * 1_000).toISOString(),
          not_after: new Date((seconds + 100) * 1_000).toISOString(),
          exp: new Date((seconds + 100) * 1_000).toISOString(),
          recurrence_summary: 'Mon 00:00–01:00 (UTC+00:00)',
          revoked_at: null,
          revoked_by: null,
        },
      ]);
      await kinds();
      expect(told()[1]).toMatchObject({
        event_kind: 'identity.grant_issued',
        actor_sub: 'user:ada',
        actor_idp: 'corp',
        agent_spiffe: SPIFFE,
        policy_decision: { jti: issued.jti, act, scope: ['tool:a', 'tool:b'], max_uses: 3 },
      });
      expect(isOfIdentity(told()[1])).toBe(true);
    });

    it('lasts a day where nobody says less', async () => {
      await registered();
      expect((await granted()).exp).toBe(Math.floor(at.now / 1_000) + 86_400);
    });

    it('is whole or refused, and a refusal leaves nothing', async () => {
      await registered({ scope_envelope: ['tool:a'], yellow_envelope: ['yellow:c'] });
      const beyond = await asked({ scope: ['tool:a', 'tool:x', 'tool:y'] });
      isRefused(beyond, 403, 'scope_outside_envelope');
      expect(beyond.json()).toMatchObject({ offenders: ['tool:x', 'tool:y'] });
      const yellow = await asked({ scope: ['tool:a'], yellow_scope: ['tool:a'] });
      isRefused(yellow, 403, 'yellow_scope_outside_envelope');
      expect(yellow.json()).toMatchObject({ offenders: ['tool:a'] });
      isRefused(await asked({ scope: [] }), 422, 'invalid_grant_terms');
      isRefused(await asked({ scope: ['Tool:A'] }), 422, 'scope_not_normalized');
      isRefused(await asked({ scope: ['tool:a'], max_uses: 0 }), 422, 'invalid_grant_terms');
      isRefused(await asked({ scope: ['tool:a'], not_after: 1 }), 422, 'invalid_grant_terms');
      isRefused(await asked({ scope: 'tool:a' }), 400, 'invalid_request');
      isRefused(await asked({ scope: ['tool:a'], sub: SPIFFE }), 400, 'invalid_request');
      isRefused(await asked({ agent_spiffe: 'bot' }), 400, 'invalid_request');
      isRefused(await asked({ agent_spiffe: SPIFFE.replace('acme', 'other') }), 403, 'tenant_mismatch');
      isRefused(
        await asked({ tenant: 'other', agent_spiffe: SPIFFE.replace('acme', 'other') }),
        403,
        'tenant_mismatch',
      );
      isRefused(await asked({ agent_spiffe: SPIFFE.replace('bot', 'unknown') }), 403, 'unregistered_agent');
      isRefused(await asked({ id_token: 'x.y.z' }), 401, 'invalid_token');
      isRefused(await asked({ id_token: await idToken('ada', { exp: 1 }) }), 401, 'invalid_token');
      expect(await sql('select id from identity_grants')).toEqual([]);
      expect(await kinds()).toEqual(['agent.registered']);
    });

    it('needs the keys of the issuer, and an issuer at all', async () => {
      await registered();
      await issuer.rotate();
      issuer.fault = 'answers 503';
      isRefused(await asked(), 503, 'jwks_unavailable');
      issuer.fault = null;
      expect((await asked()).statusCode).toBe(200);
      at.verifyDelegator = (await openIdTokens([])).verify;
      isRefused(await asked(), 409, 'delegation_not_configured');
    });

    it('is for nobody else to ask for than the console, a proxy that shows the agent’s certificate, and a simulator', async () => {
      await registered();
      for (const as of ['ledger', 'hil', 'brain']) isRefused(await asked({}, as), 403, 'capability_denied');
      isRefused(await asked({}, 'proxy'), 401, 'invalid_token');
      const { pem } = await certified('shown');
      const fingerprint = fingerprintOf(new X509Certificate(pem));
      isRefused(await asked({ credential_fingerprint: fingerprint }, 'proxy'), 401, 'invalid_token');
      const spiffe = SPIFFE.replace('bot', 'shown');
      const shown = { agent_spiffe: `${spiffe}/instance/70000000-0000-7000-8000-000000000007` };
      const [{ id } = { id: '' }] = (await sql("select id from identity_agents where agent_name = 'shown'")) as {
        id: string;
      }[];
      await changed(id, 'widen', { scope_envelope: ['tool:read'], yellow_envelope: [] });
      const reply = await asked({ ...shown, credential_fingerprint: fingerprint }, 'proxy');
      expect([reply.statusCode, reply.json()]).toEqual([200, expect.objectContaining({ sub: spiffe })]);
      await kinds();
      expect(told().at(-1)).toMatchObject({ credential_fingerprint: fingerprint });
      // Once it is revoked, it shows nothing.
      asConsole();
      await ask('POST', '/revoke', { as: ADMIN, body: { kind: 'agent', agent_id: id } });
      isRefused(await asked({ ...shown, credential_fingerprint: fingerprint }, 'proxy'), 401, 'invalid_token');
    });

    it('is given for a stopped agent to nobody, and what it had is taken back', async () => {
      const id = await registered();
      const before = await granted();
      asConsole();
      await ask('POST', `/agents/${id}/suspend?tenant=acme`, { body: { reason: 'odd' } });
      isRefused(await asked(), 403, 'agent_suspended');
      expect((await mirror()).grantFault(before.jti)?.code).toBe('grant_revoked');
      asConsole();
      for (const as of [DEV, SECOND]) await ask('POST', `/agents/${id}/unsuspend?tenant=acme`, { as, body: {} });
      // Let go, it needs another one.
      expect((await mirror()).grantFault(before.jti)?.code).toBe('grant_revoked');
      expect((await mirror()).grantFault((await granted()).jti)).toBeNull();
      asConsole();
      await ask('POST', '/stops', { body: { tenant: 'acme', reason: 'all' } });
      isRefused(await asked(), 403, 'tenant_suspended');
    });

    it('that never left is closed by the next start, and is never given', async () => {
      await registered();
      const { store } = identity;
      const begun = await granted();
      await sql("update identity_grants set state = 'pending'");
      // As whoever writes to the store, it has no mark: the row as the process left it is made by the store itself.
      await sql('delete from identity_grants');
      await store().beginGrant(
        {
          jti: begun.jti,
          tenant: 'acme',
          agent: 'bot',
          spiffe: SPIFFE,
          fingerprint: null,
          isBound: false,
          by: { tenant: 'acme', sub: 'ada', idp: 'corp', amr: [] },
          idTokenSha256: 'a'.repeat(64),
          scope: ['tool:read'],
          yellowScope: [],
          terms: {
            iat: 1,
            exp: Math.floor(at.now / 1_000) + 60,
            notBefore: null,
            notAfter: null,
            maxUses: null,
            recurrence: null,
          },
        },
        at.now,
      );
      await (await identity.opensAgain()).close();
      expect(await sql('select state from identity_grants')).toEqual([{ state: 'interrupted' }]);
      await expect(
        store().releaseGrant(
          {
            jti: begun.jti,
            tenant: 'acme',
            agent: 'bot',
            spiffe: SPIFFE,
            fingerprint: null,
            isBound: false,
            by: { tenant: 'acme', sub: 'ada', idp: 'corp', amr: [] },
            idTokenSha256: 'a'.repeat(64),
            scope: ['tool:read'],
            yellowScope: [],
            terms: { iat: 1, exp: 2, notBefore: null, notAfter: null, maxUses: null, recurrence: null },
          },
          at.now,
        ),
      ).rejects.toMatchObject({ code: 'signing_unavailable' });
      expect(await listed()).toEqual([]);
      expect(await kinds()).toEqual(['agent.registered', 'identity.grant_issued']);
    });

    it('is one for each ID token, whichever agent asks and however the token is written', async () => {
      await registered({ scope_envelope: ['tool:read'] });
      await registered({ scope_envelope: ['tool:read'] }, 'other');
      const id_token = await idToken();
      // What is refused uses no token up.
      isRefused(await asked({ id_token, scope: ['tool:x'] }), 403, 'scope_outside_envelope');
      const { jti } = await granted({ id_token, max_uses: 1 });
      await revoke(jti);
      // The last character of base64url has bits that say nothing.
      const last = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
      const other = id_token.slice(0, -1) + (last[last.indexOf(id_token.at(-1) ?? '') ^ 1] ?? '');
      for (const one of [id_token, other]) {
        const refused = await asked({ id_token: one });
        isRefused(refused, 401, 'invalid_token');
        expect(refused.json<{ reason: string }>().reason).toContain('exchanged for a grant before');
      }
      isRefused(await asked({ id_token, agent_spiffe: SPIFFE.replace('bot', 'other') }), 401, 'invalid_token');
      const shared = await idToken();
      const together = await Promise.all(
        ['bot', 'other', 'bot', 'other'].map((name) =>
          asked({ id_token: shared, agent_spiffe: SPIFFE.replace('bot', name) }),
        ),
      );
      expect(together.map(({ statusCode }) => String(statusCode)).toSorted()).toEqual(['200', '401', '401', '401']);
    });

    it('is named in the list where somebody edited its row, beside all others', async () => {
      await registered();
      // The list is by ids, of which those of one millisecond come in any order.
      const ids = [await granted(), await granted(), await granted()].map(({ jti }) => jti).toSorted();
      const [first = '', edited = '', last = ''] = ids;
      await sql("update identity_grants set human_sub = 'user:eve', id_token_sha256 = ? where id = ?", [
        'b'.repeat(64),
        edited,
      ]);
      const others = [first, last].map((jti) => expect.objectContaining({ jti, human_sub: 'user:ada' }));
      const tampered = { jti: edited, tampered: `identity_grants ${edited}: its mark does not hold` };
      for (const query of ['', '&active=true', '&agent_name=bot'])
        expect(await listed(query)).toEqual([others[0], tampered, others[1]]);
      expect(await listed(`&after=${edited}`)).toEqual([others[1]]);
    });

    it.each(["state = 'failed'", "agent_name = 'other'", 'expires_ms = 1'])(
      'is found by its row of the ledger alone where somebody edited it out of what is asked: %s',
      async (edit) => {
        await registered();
        await granted();
        await sql(`update identity_grants set ${edit}`);
        expect(await listed('&active=true&agent_name=bot')).toEqual([]);
        await kinds();
        const row = told().find(({ event_kind: event }) => event === 'identity.grant_issued');
        const jti = row?.policy_decision?.['jti'] as string;
        expect((await revoke(jti)).statusCode).toBe(200);
        expect((await mirror()).grantFault(jti)?.code).toBe('grant_revoked');
      },
    );

    it('that never left leaves its token good for another try', async () => {
      await registered();
      const id_token = await idToken();
      const { store } = identity;
      const release = store().releaseGrant;
      try {
        Object.assign(store(), { releaseGrant: () => Promise.reject(new GateError('store_unavailable')) });
        isRefused(await asked({ id_token }), 503, 'store_unavailable');
      } finally {
        Object.assign(store(), { releaseGrant: release });
      }
      expect(await sql('select state from identity_grants')).toEqual([{ state: 'failed' }]);
      await granted({ id_token });
    });

    it('is one of a hundred of an agent at most, and of an hour', async () => {
      await registered();
      for (let count = 0; count < MOST_GRANTS_AT_ONCE; count += 1) await granted();
      const refused = await asked();
      isRefused(refused, 429, 'rate_limited');
      expect(refused.json<{ retry_after_secs: number }>().retry_after_secs).toBeGreaterThan(0);
      at.now += 86_400_000;
      await granted();
    });

    it('counts for nothing a day after it was made, whatever somebody made of the end of its row', async () => {
      await registered();
      for (let count = 0; count < MOST_GRANTS_AT_ONCE; count += 1) await granted();
      const edit = 'update identity_grants set expires_ms = ?, issued_ms = ?';
      await sql(edit, [at.now + 10 * 86_400_000, at.now + 86_400_000]);
      at.now += 86_399_000;
      isRefused(await asked(), 429, 'rate_limited');
      expect(await listed('&active=true')).toHaveLength(MOST_GRANTS_AT_ONCE);
      at.now += 2_000;
      expect(await listed('&active=true')).toEqual([]);
      const { jti } = await granted();
      expect(await listed('&active=true')).toMatchObject([{ jti }]);
    });
  });

  describe('a grant that is taken back', () => {
    it('is refused by every proxy that hears of it, is told once, and keeps its first time', async () => {
      await registered();
      const [gone, kept] = [await granted(), await granted()];
      const reply = await revoke(gone.jti);
      expect([reply.statusCode, reply.json()]).toEqual([
        200,
        { kind: 'grant', id: gone.jti, revoked_at: new Date(at.now).toISOString() },
      ]);
      const { generation } = await listAfter(0);
      at.now += 5_000;
      expect((await revoke(gone.jti, ADMIN)).json()).toEqual(reply.json());
      expect((await listAfter(generation)).grants).toBeUndefined();
      const { grantFault } = await mirror();
      expect([grantFault(gone.jti)?.code, grantFault(kept.jti)]).toEqual(['grant_revoked', null]);
      expect((await kinds()).slice(-1)).toEqual(['grant.revoked']);
      expect(told().at(-1)).toMatchObject({
        actor_sub: 'operator:dev',
        policy_decision: { jti: gone.jti },
        payload_canonical_json: '{"reason":"lost"}',
      });
      expect(await listed('&active=true')).toHaveLength(1);
      expect(await listed('&agent_name=other')).toEqual([]);
      expect((await listed()).find(({ jti }) => jti === gone.jti)).toMatchObject({ revoked_by: 'operator:dev' });
    });

    it('is nobody else’s to take back, and what is not there is not found', async () => {
      await registered();
      const { jti } = await granted();
      isRefused(await revoke(jti, OTHERS), 404, 'not_found');
      isRefused(await revoke('x'), 404, 'not_found');
      isRefused(await revoke(jti, 'nobody'), 401, 'unauthenticated');
      asConsole();
      isRefused(await ask('GET', '/grants?tenant=acme', { as: OTHERS }), 403, 'tenant_mismatch');
    });

    it.each([
      "state = 'failed'",
      "state = 'revoked', revoked_ms = 1",
      "state = 'pending'",
      'expires_ms = 1',
      "scope = '[]'",
    ])('is on the list, once, whatever somebody made of its row: %s', async (edit) => {
      const [id, other] = [await registered({ scope_envelope: ['tool:read', 'tool:x'] }), 'other'];
      const { jti } = await granted();
      await sql(`update identity_grants set ${edit}`);
      await changed(id, 'narrow', { scope_envelope: ['tool:read'], yellow_envelope: [] });
      expect((await mirror()).grantFault(jti)?.code).toBe('grant_revoked');
      asConsole();
      await ask('POST', `/agents/${id}/suspend?tenant=acme`, { body: { reason: 'odd' } });
      expect((await kinds()).filter((one) => one === 'grant.revoked')).toHaveLength(1);
      expect(told().find(({ event_kind: event }) => event === 'grant.revoked')).toMatchObject({
        policy_decision: { jti, edited_rows: [expect.stringContaining(jti)] },
      });
      // By its id alone, too.
      await registered({ scope_envelope: ['tool:read'] }, other);
      const second = await granted({ agent_spiffe: SPIFFE.replace('bot', other) });
      await sql(`update identity_grants set ${edit} where id = ?`, [second.jti]);
      const revokedOnce = await revoke(second.jti);
      expect(revokedOnce.statusCode).toBe(200);
      expect((await mirror()).grantFault(second.jti)?.code).toBe('grant_revoked');
      const { generation } = await listAfter(0);
      at.now += 5_000;
      expect((await revoke(second.jti)).json()).toEqual(revokedOnce.json());
      expect((await listAfter(generation)).latest).toBe(generation);
      expect((await kinds()).filter((one) => one === 'grant.revoked')).toHaveLength(2);
    });

    it('is not had again by the same token where somebody edited its row before it was taken back', async () => {
      await registered();
      const token = await idToken();
      const { jti } = await granted({ id_token: token });
      await sql("update identity_grants set human_sub = 'user:eve'");
      isRefused(await asked({ id_token: token }), 401, 'invalid_token');
      expect((await revoke(jti)).statusCode).toBe(200);
      isRefused(await asked({ id_token: token }), 401, 'invalid_token');
    });

    it('keeps no agent from being stopped where a row that was edited names the token of another one', async () => {
      const id = await registered({ scope_envelope: ['tool:read'] });
      const [first, second] = [await granted(), await granted()];
      await sql(
        `update identity_grants set state = 'failed', id_token_sha256 = (select id_token_sha256 from identity_grants where id = '${second.jti}') where id = '${first.jti}'`,
      );
      asConsole();
      const stopped = await ask('POST', `/agents/${id}/suspend?tenant=acme`, { body: { reason: 'odd' } });
      expect(stopped.statusCode).toBe(200);
      const heard = await mirror();
      expect([first, second].map(({ jti }) => heard.grantFault(jti)?.code)).toEqual(['grant_revoked', 'grant_revoked']);
    });

    it('keeps no tenant from being let go where somebody put its row back to before', async () => {
      await registered();
      const { jti } = await granted();
      await revoke(jti);
      await sql("update identity_grants set state = 'issued', expires_ms = ?", [at.now + 10 * 86_400_000]);
      asConsole();
      const stop = (await ask('POST', '/stops', { body: { tenant: 'acme', reason: 'all' } })).json<{ id: string }>();
      await sql("update identity_grants set state = 'issued'");
      at.now += 2 * 86_400_000;
      const release = async (as: string) =>
        (await ask('POST', `/stops/${stop.id}/release?tenant=acme`, { as, body: { reason: 'known' } })).statusCode;
      expect(await release(DEV)).toBe(202);
      // 503 while what it has is still being taken back.
      await eventually('it is let go', async () => (await release(SECOND)) === 200);
      expect((await kinds()).filter((one) => one === 'grant.revoked')).toHaveLength(1);
    });

    it('is on the list also where somebody edited its row, and nobody takes it off unseen', async () => {
      const id = await registered();
      const edited = await granted();
      await sql("update identity_grants set agent_spiffe = 'x', expires_ms = expires_ms - 1");
      expect((await revoke(edited.jti)).statusCode).toBe(200);
      expect((await mirror()).grantFault(edited.jti)?.code).toBe('grant_revoked');
      const other = await granted();
      await revoke(other.jti);
      await sql('update identity_revoked_grants set listed_generation = listed_generation + 100 where id = ?', [
        other.jti,
      ]);
      at.caller = serviceCaller('proxy');
      isRefused(await ask('GET', '/revocation/list?after=0', { as: null }), 409, 'identity_tampered');
      expect(id).not.toBe('');
    });

    it('stands in pages, each number whole', async () => {
      await registered();
      const grants: IssuedGrant[] = [];
      for (let count = 0; count < 8; count += 1) grants.push(await granted());
      for (const { jti } of grants) await revoke(jti);
      const { grantFault } = await mirror();
      expect(grants.map(({ jti }) => grantFault(jti)?.code)).toEqual(Array(8).fill('grant_revoked'));
    });
  });

  describe('the uses of a grant', () => {
    it('are what proxies told, never less, and end it once there are none left', async () => {
      await registered();
      const { jti } = await granted({ max_uses: 3 });
      await uses(jti, 2);
      await uses(jti, 1);
      expect(await listed()).toMatchObject([{ uses: 2 }]);
      expect(await identity.store().sweepGrants(at.now)).toBe(0);
      await uses(jti, 3);
      expect(await identity.store().sweepGrants(at.now)).toBe(1);
      expect(await identity.store().sweepGrants(at.now)).toBe(0);
      // Proxies count uses themselves: on the list it would end the calls that it let in before.
      expect((await mirror()).grantFault(jti)).toBeNull();
      await ask('POST', '/grants/uses', { as: null, body: { uses: [] } });
      asConsole();
      isRefused(await ask('POST', '/grants/uses', { body: { uses: [] } }), 403, 'capability_denied');
      expect(await listed()).toMatchObject([{ uses: 3, revoked_at: null, revoked_by: null }]);
      // What it let in goes on: it is there to be taken back until its end.
      expect(await listed('&active=true')).toMatchObject([{ jti, uses: 3, max_uses: 3 }]);
      await kinds();
      expect(told().at(-1)).toMatchObject({
        event_kind: 'grant.auto_revoked',
        actor_sub: 'system:grant-sweep',
        policy_decision: { jti, reason: 'usage_exhausted' },
      });
    });

    it.each(['an operator', 'a narrowing', 'a stop of its agent', 'a stop of its tenant'])(
      'once there are none left, keep nobody from taking back what waits with it: %s',
      async (who) => {
        const id = await registered();
        const { jti } = await granted({ max_uses: 1 });
        await uses(jti, 1);
        expect(await identity.store().sweepGrants(at.now)).toBe(1);
        if (who === 'an operator')
          for (const one of await listed('&active=true')) expect((await revoke(one.jti)).statusCode).toBe(200);
        if (who === 'a narrowing') await changed(id, 'narrow', { scope_envelope: [], yellow_envelope: [] });
        asConsole();
        if (who === 'a stop of its agent')
          await ask('POST', `/agents/${id}/suspend?tenant=acme`, { body: { reason: 'odd' } });
        if (who === 'a stop of its tenant') await ask('POST', '/stops', { body: { tenant: 'acme', reason: 'all' } });
        await eventually('it is on the list', async () => (await mirror()).grantFault(jti)?.code === 'grant_revoked');
        expect(await identity.store().sweepGrants(at.now)).toBe(0);
        asConsole();
        expect(await listed()).toMatchObject([{ revoked_by: expect.stringMatching(/^operator:/) }]);
        expect(await listed('&active=true')).toEqual([]);
      },
    );

    it('once there are none left, keep it on the list of active ones until its end alone', async () => {
      await registered();
      const { jti } = await granted({ max_uses: 1, not_after: Math.floor(at.now / 1_000) + 60 });
      await uses(jti, 1);
      await identity.store().sweepGrants(at.now);
      at.now += 59_000;
      expect(await listed('&active=true')).toMatchObject([{ jti }]);
      at.now += 1_000;
      expect(await listed('&active=true')).toEqual([]);
    });

    it('end it where its deadline passed without one', async () => {
      await registered();
      const seconds = Math.floor(at.now / 1_000);
      const [unused, used] = [await granted({ not_after: seconds + 60 }), await granted({ not_after: seconds + 60 })];
      await uses(used.jti, 1);
      expect(await identity.store().sweepGrants(at.now + 60_000)).toBe(0);
      // What a proxy tells later is still told.
      const late = await granted({ not_after: seconds + 60 });
      expect(await identity.store().sweepGrants(at.now + 359_000)).toBe(0);
      await uses(late.jti, 1);
      expect(await identity.store().sweepGrants(at.now + 360_000)).toBe(1);
      await revoke('x');
      const rows = (await kinds()).length;
      expect(told()[rows - 1]).toMatchObject({
        event_kind: 'grant.auto_revoked',
        actor_sub: 'system:grant-sweep',
        policy_decision: { jti: unused.jti, reason: 'unused_by_deadline' },
      });
    });
  });

  it('comes to the same however requests, stops, uses and the sweep fall together', async () => {
    const random = seededRandom(`grants together, ${kind}`);
    await registered({ scope_envelope: ['tool:a', 'tool:b'] });
    const held: IssuedGrant[] = [];
    const gone = new Set<string>();
    for (let round = 0; round < 4; round += 1) {
      await Promise.all(
        Array.from({ length: 6 }, async () => {
          const what = random.next();
          const one = held[Math.floor(random.next() * held.length)];
          if (what < 0.5 || !one) {
            const reply = await asked({ scope: ['tool:a'], max_uses: 2 });
            if (reply.statusCode === 200) held.push(issuedGrant.parse(reply.json()));
            else expect([403, 503]).toContain(reply.statusCode);
          } else if (what < 0.7) {
            if ((await revoke(one.jti)).statusCode === 200) gone.add(one.jti);
          } else if (what < 0.9) {
            await identity.store().tellUses([{ jti: one.jti, uses: 2 }]);
          } else await identity.store().sweepGrants(at.now);
        }),
      );
    }
    const mirrored = await mirror();
    const active = new Set((await listed('&active=true')).map(({ jti }) => jti));
    // What is used up counts no more, and is on nobody's list for that.
    for (const { jti } of held) {
      expect(mirrored.grantFault(jti)?.code).toBe(gone.has(jti) ? 'grant_revoked' : undefined);
      if (gone.has(jti)) expect(active.has(jti)).toBe(false);
    }
    await kinds();
    const rows = told().filter(({ event_kind: event }) => event === 'identity.grant_issued');
    expect(rows.map(({ policy_decision: what }) => what?.['jti'] as string).toSorted()).toEqual(
      held.map(({ jti }) => jti).toSorted(),
    );
  });
});
