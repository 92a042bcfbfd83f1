import { afterEach, expect, it } from '@jest/globals';
import type { AccessTokens } from '../../adapters/identity/access-tokens.js';
import type { GrantTokens } from '../../adapters/identity/grant-tokens.js';
import { GRANT_ISSUER, type GrantClaims } from '../../contracts/grants.js';
import { GateError } from '../../domain/errors.js';
import { thumbprintOf } from '../../domain/identity/grants.js';
import { bareService } from '../../test/support/bare-service.js';
import type { Caller } from '../plugins/app.js';
import type { Service } from '../plugins/service.js';
import { GRANT_HEADER, judgeGrants } from './grants.js';
import { agentOf } from './mcp-requests.js';
import { identifyByToken } from './token-callers.js';

let service: Service;
afterEach(() => service.close());

const bot: Caller = {
  kind: 'agent',
  spiffe: 'spiffe://gate.local/tenant/acme/agent/bot/instance/0190b8d0-0000-7000-8000-000000000000',
  callerId: 'agent',
  fingerprint: 'ab'.repeat(32),
  tenant: 'acme',
  agent: 'bot',
};

const tokens = {
  verify: () =>
    Promise.resolve({
      tenant: 'acme',
      agent: 'bot',
      fingerprint: 'cd'.repeat(32),
      validToMs: 2 ** 42,
      certificate: null,
    }),
} as unknown as AccessTokens;

/** A proxy without an issuer, whose agents show a certificate. */
async function asked(authorization: string | undefined, readElsewhere?: string) {
  service = bareService({ name: 'proxy', resolveCaller: () => bot });
  identifyByToken(service.app, undefined, ({ headers }) => headers.authorization === readElsewhere);
  service.app.get('/asked', async (request) => ({ agent: agentOf(request).agent ?? null }));
  const headers = authorization === undefined ? {} : { authorization };
  const reply = await service.app.inject({ method: 'GET', url: '/asked', headers });
  return [reply.statusCode, reply.json<{ error?: string; header?: string; agent?: string }>()];
}

it.each(['Bearer eyJhbGciOiJub25lIn0.e30.', 'Basic YTpi', 'nonsense', ''])(
  'refuses %j beside a certificate where no issuer is configured: nothing here judges it',
  async (authorization) => {
    expect(await asked(authorization)).toEqual([
      403,
      expect.objectContaining({ error: 'credential_not_judged', header: 'authorization' }),
    ]);
  },
);

it.each(['certificate_revoked', 'control_state_unavailable'] as const)(
  'lets nobody in by a token whose certificate is %s, and tells that first',
  async (code) => {
    service = bareService({
      name: 'proxy',
      resolveCaller: () => bot,
      standing: { faultOf: () => new GateError(code), onRevoked: () => undefined },
    });
    identifyByToken(service.app, { tokens, trustDomain: 'gate.local' });
    service.app.get('/asked', async (request) => ({ agent: agentOf(request).agent ?? null }));
    const reply = await service.app.inject({ method: 'GET', url: '/asked', headers: { authorization: 'Bearer good' } });
    expect(reply.json()).toMatchObject({ error: code });
  },
);

it('takes a request without one, and one whose token is read elsewhere', async () => {
  expect(await asked(undefined)).toEqual([200, { agent: 'bot' }]);
  await service.close();
  expect(await asked('Bearer operators-own', 'Bearer operators-own')).toEqual([200, { agent: 'bot' }]);
});

it.each<[string, Caller | null, number]>([
  ['is taken beside an access token on a connection with that certificate', bot, 200],
  ['is refused beside an access token alone', null, 403],
  ['is refused beside an access token and another certificate', { ...bot, fingerprint: 'ef'.repeat(32) }, 403],
])('a grant that is bound to a certificate %s', async (_what, shown, status) => {
  service = bareService({ name: 'proxy', resolveCaller: () => shown });
  identifyByToken(service.app, { tokens, trustDomain: 'gate.local' });
  const claims: GrantClaims = {
    iss: GRANT_ISSUER,
    sub: 'spiffe://gate.local/tenant/acme/agent/bot',
    act: { sub: 'user:ada', idp: 'corp', amr: [] },
    scope: ['tool:a'],
    yellow_scope: [],
    iat: 1,
    exp: 3,
    jti: '0190b8d0-0000-7000-8000-000000000001',
    cnf: { 'x5t#S256': thumbprintOf(bot.fingerprint) },
  };
  judgeGrants(service.app, {
    tokens: { verify: () => Promise.resolve(claims) } as unknown as GrantTokens,
    standing: { grantFault: () => null },
    trustDomain: 'gate.local',
    now: () => 2_000,
  });
  service.app.get('/asked', async (request) => ({ agent: agentOf(request).agent ?? null }));
  const headers = { authorization: 'Bearer good', [GRANT_HEADER]: 'shown' };
  const reply = await service.app.inject({ method: 'GET', url: '/asked', headers });
  expect([reply.statusCode, reply.json()]).toEqual([
    status,
    status === 200 ? { agent: 'bot' } : expect.objectContaining({ error: 'grant_invalid' }),
  ]);
});
