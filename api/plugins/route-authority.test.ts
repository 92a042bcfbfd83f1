import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { noModels } from '../../domain/models/model-standing.js';
import { noNarrator } from '../../domain/models/narrator.js';
import type { FastifyRequest } from 'fastify';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import {
  CALLER_IDS,
  GATE_OWN_ROUTES,
  type GovernedService,
  ROUTE_AUTHORITY,
  routeName,
} from '../../contracts/route-authority.js';
import { parseKeyRing } from '../../domain/crypto/key-ring.js';
import { createSigner } from '../../domain/identity/signer.js';
import { routeMatcher } from '../../domain/identity/route-matcher.js';
import { createInspector } from '../../domain/inspection/inspector.js';
import { openEvidencedLedger } from '../../test/support/evidenced-ledger.js';
import { shippedPolicyDirectory } from '../../adapters/policy/policy-sources.js';
import { createBrainService } from '../brain/app.js';
import { callMigrations } from '../../migrations/calls.js';
import { toolClassMigrations } from '../../migrations/tool-classes.js';
import { toolPinMigrations } from '../../migrations/tool-pins.js';
import { openStore, type Store } from '../../adapters/store/database.js';
import { boundToLedger } from '../../domain/tool-classes/bound-to-ledger.js';
import { toolClassStoreOver, type ToolClassTables } from '../../adapters/tools/class-store.js';
import { toolClassing } from '../../domain/tool-classes/tool-classes.js';
import { type ToolPinTables, toolPinStoreOver } from '../../adapters/tools/pin-store.js';
import { toolPinning } from '../../domain/tool-definitions/pinning.js';
import { pinRoutes } from '../proxy/routes/pins.js';
import { uncertainRoutes } from '../proxy/routes/uncertain.js';
import { scanInThreads } from '../../adapters/inspection/scan-threads.js';
import { spendRoutes } from '../proxy/routes/spend.js';
import { standingRoutes } from '../proxy/routes/standing.js';
import { toolRoutes } from '../proxy/routes/tools.js';
import { hilService } from '../../test/support/hil-service.js';
import { createAuthority } from '../../adapters/identity/certificate-authority.js';
import { openIdentityStore } from '../../adapters/identity/identity-store.js';
import { revocationSigner } from '../../adapters/identity/revocation-signature.js';
import { tenantWarrantSigner } from '../../adapters/identity/tenant-warrant-signature.js';
import { stopReportSigner } from '../../adapters/identity/stop-report-signature.js';
import { svidSigner } from '../../adapters/identity/svid-signer.js';
import { administrators } from '../identity/administrator.js';
import { createIdentityService } from '../identity/app.js';
import { createLedgerService } from '../ledger/app.js';
import { createPolicyService } from '../policy/app.js';
import { readGroups } from '../../config/env.js';
import { SERVICES } from '../../stack/services.js';
import { registeredRoutes } from './caller-authority.js';
import type { Caller } from './app.js';
import { createService, type Service } from './service.js';
import { loadPolicySet } from '../../adapters/policy/load-policy-set.js';
import { loadPersonas } from '../../adapters/inspection/persona-files.js';
import { openReviewStore } from '../../test/support/whole-reviews.js';

const services: readonly GovernedService[] = [
  ...new Set([...ROUTE_AUTHORITY, ...GATE_OWN_ROUTES].map(({ service }) => service)),
];
const rowsOf = (service: GovernedService) =>
  [...ROUTE_AUTHORITY, ...GATE_OWN_ROUTES].filter((row) => row.service === service);

describe('the route authority table', () => {
  it('has 141 rows: 29 hil, 51 identity, 36 ledger, 25 policy-engine', () => {
    const count = (service: string) => ROUTE_AUTHORITY.filter((row) => row.service === service).length;
    expect([count('hil'), count('identity'), count('ledger'), count('policy-engine')]).toEqual([29, 51, 36, 25]);
    expect(ROUTE_AUTHORITY).toHaveLength(141);
  });

  it('names only known callers, at least one per row, and none of the 141 is public', () => {
    const known: readonly string[] = Object.values(CALLER_IDS);
    for (const { callers } of ROUTE_AUTHORITY) {
      if (callers === 'public') throw new Error('a row of the authority table is public');
      expect(callers.length).toBeGreaterThan(0);
      expect(callers.filter((caller) => !known.includes(caller))).toEqual([]);
    }
  });

  it.each(services)('reads one way only with the own routes of %s added', (service) => {
    const match = routeMatcher(rowsOf(service));
    for (const row of rowsOf(service)) expect(match(row.method, row.path)).toBe(row);
  });

  it('prefixes every capability with the service it belongs to', () => {
    for (const row of [...ROUTE_AUTHORITY, ...GATE_OWN_ROUTES]) {
      expect(row.capability.split('.')[0]).toBe(row.service === 'policy-engine' ? 'policy' : row.service);
    }
  });

  it('lets every workload ask for its certificate, except deep review, and no agent', () => {
    const asking = ROUTE_AUTHORITY.find((row) => row.path === '/workload-svid')?.callers;
    const others = ['agent-workload', 'service-deep-review'];
    expect(asking).toEqual(Object.values(CALLER_IDS).filter((id) => !others.includes(id)));
  });

  // Typed by hand: one for each legend entry and each special case.
  it.each([
    ['hil', 'POST /decide/{id}', 'hil.decision.execute', 'service-console service-simulator'],
    ['hil', 'POST /pending', 'hil.pending.create', 'service-proxy service-simulator'],
    ['hil', 'DELETE /identities/{oidc_sub}/slack', 'hil.identity.manage', 'service-console'],
    ['hil', 'POST /webhook/teams', 'hil.webhook.receive', 'service-console'],
    ['identity', 'POST /svid', 'identity.svid.agent.issue', 'agent-workload service-simulator'],
    ['identity', 'POST /sign/blob', 'identity.sign.blob', 'service-ledger'],
    [
      'identity',
      'POST /attestation/verify',
      'identity.attestation.verify',
      'agent-workload service-identity service-proxy',
    ],
    ['ledger', 'POST /log', 'ledger.append', 'service-deep-review service-proxy'],
    ['ledger', 'GET /stream/audit', 'ledger.audit.stream', 'service-console'],
    ['policy-engine', 'POST /evaluate', 'policy.evaluate', 'service-console service-proxy'],
    ['policy-engine', 'DELETE /policies/tenant/{prefix}', 'policy.tenant.lifecycle', 'service-console service-proxy'],
  ] as const)('%s %s needs %s of %s', (service, name, capability, callers) => {
    const row = rowsOf(service).find((candidate) => routeName(candidate) === name);
    expect(row?.capability).toBe(capability);
    expect(row?.callers).toHaveLength(callers.split(' ').length);
    expect(row?.callers).toEqual(expect.arrayContaining(callers.split(' ')));
  });
});

const ADMINISTRATOR = 'administrator-of-acme-0123456789abcdef';
/** Each service as it is composed, over empty stores. The test header names the caller. `null`: the service does not exist yet. */
const running = {} as Record<GovernedService, Service | null>;
const folder = mkdtempSync(join(tmpdir(), 'gate-routes-'));
const closing: (() => Promise<unknown>)[] = [];

function callerOf(request: FastifyRequest): Caller | null {
  const callerId = request.headers['x-test-caller'];
  if (typeof callerId !== 'string') return null;
  const kind = callerId === CALLER_IDS.agent ? 'agent' : 'service';
  return { kind, callerId, spiffe: 'spiffe://gate.local/service/test', fingerprint: 'ab'.repeat(32) };
}

beforeAll(async () => {
  const common = () => ({
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    trustDomain: 'gate.local',
    resolveCaller: callerOf,
  });
  const keys = parseKeyRing(`test:${'0123456789abcdef'.repeat(4)}`);
  const ledger = await openEvidencedLedger({ target: { file: join(folder, 'ledger.db') }, sidecarKeys: keys });
  const reviews = await openReviewStore({ target: { file: join(folder, 'hil.db') }, payloadKeys: keys });
  closing.push(
    () => ledger.close(),
    () => reviews.close(),
  );
  running.ledger = createLedgerService({ ...common(), ledger, evidence: ledger });
  running.hil = hilService({
    ...common(),
    reviews,
    sender: { decide: () => Promise.reject(new Error('no engine in this test')) },
    starter: { start: () => Promise.reject(new Error('no engine in this test')) },
    decisionKey: generateKeyPairSync('ed25519').privateKey,
    sessionKey: Buffer.alloc(32, 7),
    operators: [{ name: 'dev', tenant: 'acme', token: ADMINISTRATOR }],
  });
  running['policy-engine'] = createPolicyService({
    ...common(),
    policies: await loadPolicySet({ directory: shippedPolicyDirectory() }),
  });
  const scanner = scanInThreads();
  closing.push(() => scanner.close());
  running.brain = createBrainService({
    narrator: noNarrator,
    standings: noModels,
    ...common(),
    inspector: createInspector({ personas: await loadPersonas() }),
    scanner,
  });
  const identity = await openIdentityStore({ file: join(folder, 'identity.db') }, keys);
  closing.push(() => identity.close());
  const { cert, key } = await createAuthority('gate.local', { notBefore: new Date(0), notAfter: new Date(2 ** 42) });
  running.identity = createIdentityService({
    ...common(),
    store: identity,
    signer: svidSigner(cert, key),
    ledger,
    signList: revocationSigner(cert, key),
    signReport: stopReportSigner(cert, key),
    signWarrant: tenantWarrantSigner(cert, key),
    published: () => ({ bundle: { keys: [], spiffe_sequence: 1, spiffe_refresh_hint: 1 }, tokenKeys: [] }),
    tokenSigner: createSigner(generateKeyPairSync('ed25519').privateKey),
    verifyDelegator: () => Promise.reject(new Error('nobody delegates here')),
    administratorOf: administrators({ token: ADMINISTRATOR, tenant: 'acme' }),
  });
  // Only the operators' routes of the proxy; its other routes are for agents.
  const calls = await openStore<ToolClassTables & ToolPinTables>({ file: join(folder, 'calls.db') }, callMigrations, {
    tool_classes: toolClassMigrations,
    pins: toolPinMigrations,
  });
  closing.push(() => calls.close());
  running.proxy = createService({ name: 'proxy', governed: 'proxy', ...common() });
  toolRoutes(running.proxy.app, {
    classing: toolClassing({
      pins: toolPinStoreOver(calls as unknown as Store<ToolPinTables>, { keys, upstream: 'own' }),
      store: boundToLedger(toolClassStoreOver(calls as unknown as Store<ToolClassTables>, keys), ledger),
      upstream: 'demo',
      byName: () => null,
      ruleOn: () => null,
    }),
    operatorOf: () => ({ tenant: 'acme', subject: 'operator:dev' }),
  });
  pinRoutes(running.proxy.app, {
    pinning: toolPinning({
      pins: toolPinStoreOver(calls as unknown as Store<ToolPinTables>, { keys, upstream: 'own' }),
      ledger,
    }),
    operatorOf: () => ({ tenant: 'acme', subject: 'operator:dev' }),
  });
  const nobodyAsks = () => Promise.reject(new Error('routes are looked at, not asked'));
  uncertainRoutes(running.proxy.app, {
    uncertain: { list: nobodyAsks, show: nobodyAsks, settle: nobodyAsks },
    operatorOf: () => ({ tenant: 'acme', subject: 'operator:dev' }),
  });
  spendRoutes(running.proxy.app, {
    spend: { of: nobodyAsks, byAgent: nobodyAsks },
    tenantOf: () => 'acme',
  });
  standingRoutes(running.proxy.app, { worker: () => undefined, upstreams: () => null });
  for (const service of services) running[service] ??= await openedByItself(service, common());
  for (const service of Object.values(running)) {
    await service?.app.ready();
    if (service) closing.unshift(() => service.close());
  }
});
afterAll(async () => {
  for (const close of closing) await close();
  rmSync(folder, { recursive: true, force: true });
});

/** A service that needs nothing that is put together above, opened as it declares; `null` when there is none of this name. */
async function openedByItself(name: GovernedService, parts: object): Promise<Service | null> {
  const service = SERVICES.find((declared) => (declared.name as string) === name);
  if (!service) return null;
  const { listener } = await (await service.open()).open({
    ...parts,
    config: readGroups(name, service.settings, {}),
    storeTarget: (store: string) => ({ file: join(folder, `${store}.db`) }),
    onStop: (_phase: string, _what: string, step: () => Promise<unknown>) => void closing.push(step),
  } as never);
  return listener?.().service as Service;
}

/** Refused for its body; or, before it is read, because the route takes text, a form, a signature over bytes, or a session of a passkey. */
const UNREAD = /"unsupported_media_type"|"the body is a form \(|"chat_signature_invalid"|"passkey_session_required"/;

describe.each(services)('what %s registers and what the table says are the same', (service) => {
  const names = () => (running[service] ? registeredRoutes(running[service].app).map(routeName) : []);

  it('registers exactly the routes whose rows say that they are built', () => {
    const built = rowsOf(service).filter((row) => row.built);
    expect(names().toSorted()).toEqual(built.map(routeName).toSorted());
  });

  it.each([
    ['JSON in which a member stands twice', '{"decision":"deny","decision":"approve"}', /duplicate key/],
    [
      'bytes that are no UTF-8',
      Buffer.from('{"decision":"deny","reason":"ok\u00ff"}', 'latin1'),
      /the body is not UTF-8/,
    ],
  ])('no route reads %s', async (_what, payload, refusal) => {
    const read: string[] = [];
    for (const row of rowsOf(service).filter(
      (candidate) => candidate.method !== 'GET' && names().includes(routeName(candidate)),
    )) {
      const reply = await (running[service] as Service).app.inject({
        method: row.method,
        url: row.path.replace(/\{[a-z_]+\}/g, '00000000-0000-4000-8000-000000000000'),
        headers: {
          'content-type': 'application/json',
          'x-gate-tenant-scope': 'acme',
          authorization: `Bearer ${ADMINISTRATOR}`,
          ...(row.callers !== 'public' && { 'x-test-caller': row.callers[0] as string }),
        },
        payload,
      });
      if (!refusal.test(reply.body) && !UNREAD.test(reply.body)) read.push(`${routeName(row)}: ${reply.body}`);
    }
    expect(read).toEqual([]);
  });

  it('every caller id gets through exactly where its row names it', async () => {
    const callers = [...Object.values(CALLER_IDS), 'service-stranger', null];
    for (const row of rowsOf(service).filter((candidate) => names().includes(routeName(candidate)))) {
      for (const caller of callers) {
        const reply = await (running[service] as Service).app.inject({
          method: row.method,
          url: row.path.replace(/\{[a-z_]+\}/g, '00000000-0000-4000-8000-000000000000'),
          // A stream would never end; this id makes the service refuse it after the caller was admitted.
          headers: { 'last-event-id': 'none', ...(caller !== null && { 'x-test-caller': caller }) },
          ...(row.method === 'POST' && { payload: {} }),
        });
        // A service may refuse a listed caller for its own reasons, in its own words.
        const stopped = reply.body.includes('"capability_not_granted"')
          ? 'capability_denied'
          : reply.body.includes('"caller_spiffe_missing"')
            ? 'caller_spiffe_missing'
            : 'no';
        const open = row.callers === 'public' || row.callers.some((listed) => listed === caller);
        const expected = open ? 'no' : caller === null ? 'caller_spiffe_missing' : 'capability_denied';
        expect([routeName(row), caller, stopped]).toEqual([routeName(row), caller, expected]);
      }
    }
  });
});
