import { randomUUID } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createGrantTokens } from '../../adapters/identity/grant-tokens.js';
import { GRANT_ISSUER } from '../../contracts/grants.js';
import { GateError } from '../../domain/errors.js';
import { compactJws } from '../../domain/identity/compact-jws.js';
import { NO_DECOYS } from '../../domain/identity/decoy-readings.js';
import { createRevocationMirror } from '../../domain/identity/revocation-mirror.js';
import { stateFault } from '../../domain/identity/standing.js';
import { stopFault } from '../../domain/identity/stops.js';
import { actorClaims, newSigner, signedActor } from '../../test/support/actor-token.js';
import { unwatched } from '../../test/support/bare-service.js';
import { TRUST_DOMAIN } from '../../test/support/identity-service.js';
import type { Caller } from '../plugins/app.js';
import type { Service } from '../plugins/service.js';
import { createActorRedeemer } from './actor-tokens.js';
import { createProxyService, type ProxyOptions } from './app.js';

const SPIFFE = `spiffe://${TRUST_DOMAIN}/tenant/acme/agent/bot`;
const BOT: Caller = {
  kind: 'agent',
  callerId: 'agent-workload',
  tenant: 'acme',
  agent: 'bot',
  spiffe: `${SPIFFE}/instance/0190d7b4-0000-7000-8000-000000000001`,
  fingerprint: 'ab'.repeat(32),
};

/** Everything of which one call is refused, as long as it holds. */
interface Faults {
  host: boolean;
  size: boolean;
  contract: boolean;
  json: boolean;
  certificate: boolean;
  unjudged: boolean;
  suspended: boolean;
  callback: boolean;
  conflict: boolean;
  stopped: boolean;
  grant: boolean;
  scope: boolean;
  name: boolean;
  engine: boolean;
  full: boolean;
  actor: boolean;
  admission: 'budget' | 'uses' | 'velocity' | null;
}

const NOTHING: Faults = {
  host: false,
  size: false,
  contract: false,
  json: false,
  certificate: false,
  unjudged: false,
  suspended: false,
  callback: false,
  conflict: false,
  stopped: false,
  grant: false,
  scope: false,
  name: false,
  engine: false,
  full: false,
  actor: false,
  admission: null,
};

const key = newSigner();
let nowMs: number;
let faults: Faults;
let asked: string[];
let over: Partial<ProxyOptions>;

/** A proxy of which each gate is shut as the test says; `asked` is what was done behind the last one. */
function proxy(): Service {
  const refuses = (is: boolean, error: GateError): GateError | null => (is ? error : null);
  return createProxyService({
    ...unwatched(),
    trustDomain: TRUST_DOMAIN,
    mode: 'enforce',
    velocity: { limit: 10, windowMs: 60_000 },
    callDeadlineMs: 60_000,
    upstreamTimeoutMs: 5_000,
    ttlSecs: { auto: 120, standard: 600, strict: 1_800 },
    maxInFlight: faults.full ? 0 : 10,
    agentLimits: { controls: 0, replays: 0, replayedBytes: 0, streams: 0 },
    ledger: { append: async () => [] } as never,
    calls: {
      find: async () => (faults.conflict ? { correlation_id: 'x', state: 'denied', digest: 'of another body' } : null),
      decoyTouched: async () => undefined,
      waitFor: async () => null,
      async admit() {
        asked.push('admitted');
        if (faults.admission === 'budget')
          return {
            admitted: false,
            over: { of: 'agent', budgetMicros: 1, spentMicros: 1, reservedMicros: 0, askedMicros: 1 },
          };
        if (faults.admission === 'uses') return { admitted: false, exhausted: true };
        if (faults.admission === 'velocity') return { admitted: false, retryAfterSecs: 1, first: false };
        throw new GateError('store_unavailable', 'behind every gate');
      },
    } as never,
    runner: {
      assertUp: () => {
        if (faults.engine) throw new GateError('orchestrator_unavailable');
      },
      start: () => Promise.reject(new Error('not reached')),
    } as never,
    upstream: { nameFault: () => (faults.name ? 'no upstream has it' : null) } as never,
    standing: {
      faultOf: () => null,
      agentFault: () => refuses(faults.suspended, stateFault('suspended') as GateError),
      toolFault: (tenant: string) => refuses(faults.stopped, stopFault({ tenant, tool: 'read' })),
      grantFault: () => refuses(faults.grant, new GateError('grant_revoked')),
      forcesReview: () => false,
      budgetsOf: () => ({ tenant: null, agent: null }),
      decoysOf: () => NO_DECOYS,
      ageMs: () => 0,
      otherHistoryAtMs: () => null,
      onRevoked: () => () => undefined,
      onAgentStopped: () => () => undefined,
    } as never,
    address: { loopback: true, allowedHosts: [], origins: [] },
    grantTokens: createGrantTokens({ ask: () => Promise.resolve({ keys: [key.publicJwk] }) }),
    redeemActor: () => {
      asked.push('redeemed');
      return faults.actor
        ? Promise.reject(new GateError('a2a_redeem_failed'))
        : Promise.resolve({ iss: 'i', sub: 's', jti: 'j' });
    },
    checkCallback(url: string) {
      if (faults.callback) throw new GateError('callback_not_allowed');
      return url;
    },
    resolveCaller: () => (faults.certificate ? null : BOT),
    now: () => nowMs,
    signer: key,
    verifyDecision: (() => Promise.resolve(null)) as never,
    reviews: {} as never,
    rulesNow: {} as never,
    definitions: {} as never,
    sessions: {} as never,
    states: {} as never,
    cursors: {} as never,
    toolParams: {} as never,
    tasks: {} as never,
    subscriptions: {} as never,
    withdrawCall: {} as never,
    ...over,
  } as ProxyOptions);
}
const grantOf = (scope: readonly string[]): Promise<string> => {
  const iat = Math.floor(nowMs / 1_000);
  const act = { sub: 'user:ada', idp: 'corp', amr: [] };
  const claims = {
    iss: GRANT_ISSUER,
    sub: SPIFFE,
    act,
    scope,
    yellow_scope: [],
    iat,
    exp: iat + 600,
    jti: randomUUID(),
  };
  return compactJws(claims, key);
};
const call = async (service: Service): Promise<[number, string]> => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'read', arguments: {} } });
  const reply = await service.app.inject({
    method: 'POST',
    url: '/mcp',
    headers: {
      host: faults.host ? 'elsewhere.example' : 'localhost',
      'content-type': 'application/json',
      'x-gate-server-execution-contract': faults.contract ? 'gate.server-execution/v9' : 'gate.server-execution/v1',
      'x-gate-idempotency-id': randomUUID(),
      'x-gate-callback-url': 'https://example.com/done',
      'x-gate-grant': await grantOf([faults.scope ? 'tool:write' : 'tool:read']),
      'x-gate-actor-token': 'a.b.c',
      ...(faults.unjudged && { 'x-gate-attestation': 'e30' }),
    },
    payload: faults.size ? `${body}${' '.repeat(1_048_576)}` : faults.json ? `${body}}` : body,
  });
  return [reply.statusCode, reply.json<{ error: string }>().error];
};

beforeEach(() => {
  nowMs = Date.now();
  faults = { ...NOTHING };
  asked = [];
  over = {};
});

describe('the gates of one tool call', () => {
  // In this order: with each fault that is mended, the next one answers.
  const ORDER: readonly (readonly [keyof Faults, number, string])[] = [
    ['host', 403, 'host_not_allowed'],
    ['size', 413, 'request_too_large'],
    ['contract', 400, 'server_execution_selector_invalid'],
    ['json', 400, 'invalid_mcp'],
    ['certificate', 401, 'unauthorized'],
    ['unjudged', 403, 'credential_not_judged'],
    ['suspended', 403, 'agent_suspended'],
    ['callback', 400, 'callback_not_allowed'],
    ['conflict', 409, 'server_execution_idempotency_conflict'],
    ['stopped', 403, 'tool_suspended'],
    ['grant', 403, 'grant_revoked'],
    ['scope', 403, 'scope_outside_envelope'],
    ['name', 404, 'tool_unknown'],
    ['engine', 503, 'orchestrator_unavailable'],
    ['full', 503, 'pipeline_unavailable'],
    ['actor', 403, 'a2a_redeem_failed'],
  ];

  it('answer in one order, and nothing is kept or used up of what they refuse', async () => {
    faults = { ...NOTHING, ...Object.fromEntries(ORDER.map(([fault]) => [fault, true])), admission: 'budget' };
    const heard: (readonly [number, string])[] = [];
    for (const [fault] of ORDER) {
      const service = proxy();
      heard.push(await call(service));
      await service.close();
      expect([fault, asked]).toEqual([fault, fault === 'actor' ? ['redeemed'] : []]);
      (faults as unknown as Record<string, unknown>)[fault] = false;
    }
    expect(heard).toEqual(ORDER.map(([, status, error]) => [status, error]));
  });

  it.each([
    ['budget', 429, 'quota_exceeded'],
    ['uses', 403, 'grant_usage_exhausted'],
    ['velocity', 429, 'rate_limited'],
    [null, 503, 'store_unavailable'],
  ] as const)('count last, in one transaction that lets the call in: %s', async (admission, status, error) => {
    faults.admission = admission;
    const service = proxy();
    expect(await call(service)).toEqual([status, error]);
    expect(asked).toEqual(['redeemed', 'admitted']);
    await service.close();
  });
});

describe('without identity', () => {
  let steady = 0;
  const away = () => Promise.reject(new GateError('control_state_unavailable', 'identity is away'));
  let service: Service | undefined;
  afterAll(() => service?.close());
  const answers = async () => {
    service = proxy();
    const said = await call(service);
    await service.close();
    service = undefined;
    return said;
  };

  it('nobody is let in once the list of revocations is over: stops, containment, budgets and decoys stand in it', async () => {
    const standing = createRevocationMirror({ trustDomain: TRUST_DOMAIN, now: () => nowMs, steadyMs: () => steady });
    over = { standing };
    expect(await answers()).toEqual([503, 'control_state_unavailable']);
    standing.take({
      trust_domain: TRUST_DOMAIN,
      generated_at: new Date(nowMs).toISOString(),
      expires_at: new Date(nowMs + 300_000).toISOString(),
      generation: 0,
      latest: 0,
      after: 0,
      after_history: '',
      history: '',
      svids: [],
      agents: [],
      standings: [],
      stops: [],
      budgets: [],
      decoys: [],
      grants: [],
    } as never);
    const until = (ms: number) => {
      nowMs += ms;
      steady += ms;
    };
    expect(await answers()).toEqual([503, 'store_unavailable']);
    until(299_000);
    expect(await answers()).toEqual([503, 'store_unavailable']);
    until(2_000);
    expect(await answers()).toEqual([503, 'control_state_unavailable']);
  });

  it('grants count by the keys that are known for a quarter of an hour, and then none does', async () => {
    let isAway = false;
    const grantTokens = createGrantTokens({
      ask: () => (isAway ? away() : Promise.resolve({ keys: [key.publicJwk] })),
      steadyMs: () => steady,
    });
    over = { grantTokens };
    expect(await answers()).toEqual([503, 'store_unavailable']);
    isAway = true;
    steady += 899_000;
    expect(await answers()).toEqual([503, 'store_unavailable']);
    steady += 2_000;
    expect(await answers()).toEqual([503, 'grant_jwks_unavailable']);
    isAway = false;
    expect(await answers()).toEqual([503, 'store_unavailable']);
  });

  it('no token of another Gate counts, and nothing is kept of its call', async () => {
    const identity = () => Promise.resolve({ redeemActorToken: away });
    const redeem = createActorRedeemer({ identity, trustDomain: TRUST_DOMAIN });
    const token = await signedActor(key, actorClaims(nowMs));
    over = { redeemActor: (_token, of) => redeem(token, of) };
    expect(await answers()).toEqual([503, 'a2a_unavailable']);
    expect(asked).toEqual([]);
  });
});
