import { afterAll, afterEach, beforeAll, beforeEach, expect } from '@jest/globals';
import { generateKeyPairSync } from 'node:crypto';
import { createAuthority, type Credential } from '../../adapters/identity/certificate-authority.js';
import {
  type IdentityStore,
  type IdentityStoreOptions,
  openIdentityStore,
} from '../../adapters/identity/identity-store.js';
import { type K8sCluster, k8sVerifier } from '../../adapters/identity/k8s-tokens.js';
import { revocationVerifier } from '../../adapters/identity/revocation-signature.js';
import { certificatesOf } from '../../adapters/identity/svid-signer.js';
import { administrators } from '../../api/identity/administrator.js';
import type { Caller } from '../../api/plugins/app.js';
import type { Service } from '../../api/plugins/service.js';
import { issuedSvid, type RevocationContent, revocationList } from '../../contracts/identity.js';
import type { NewLedgerRow } from '../../contracts/ledger.js';
import { GateError } from '../../domain/errors.js';
import { type ActorTokenStore, NO_PEERS } from '../../domain/identity/actor-tokens.js';
import type { VerifyDelegator } from '../../domain/identity/granting.js';
import { createSigner, type Signer } from '../../domain/identity/signer.js';
import { type Tpm2Anchor, tpm2Verifier } from '../../domain/identity/tpm2-quote.js';
import { bundleKeys } from '../../domain/identity/trust-bundle.js';
import { type Vouched, vouchingText } from '../../domain/review/vouching.js';
import { identityMigrations } from '../../migrations/identity.js';
import { certificateRequest } from './certificate-request.js';
import { type Asked, identityOver, serviceAsker, serviceCaller, TRUST_DOMAIN } from './identity-service.js';
import { ledgerPlace, type STORES, type TestLedgerPlace } from './ledger.js';
import { takingLedger } from './taking-ledger.js';
import { eventually } from './waiting.js';

export const HOUR_MS = 3_600_000;
const token = (letter: string) => `${letter}0123456789abcdefghijklmnopqrstuvw`;
/** Bearer tokens: of the administrator and two operators of `acme`, of an operator of `other`, and of the console that vouches for people. */
export const [ADMIN, DEV, SECOND, OTHERS, VOUCHES] = ['x', 'd', 's', 'o', 'v'].map(token) as [
  string,
  string,
  string,
  string,
  string,
];
const TABLES = [
  'outbox',
  'listings',
  'agents',
  'registry',
  'enrollments',
  'intents',
  'svids',
  'standings',
  'stops',
  'stop_reports',
  'budgets',
  'decoys',
  'decoy_hits',
  'upstreams',
  'tenants',
  'tenant_operations',
  'envelopes',
  'grants',
  'revoked_grants',
  'actor_tokens',
  'actor_uses',
  'peer_bundles',
  'challenges',
  'attestations',
  'measurements',
  'attestation_kinds',
  'tool_pins',
];

/** Identity over an empty store of this kind before each test, with people who stop and let go. */
export function identityWithPeople(kind: (typeof STORES)[number], options: IdentityStoreOptions = {}) {
  const startMs = Math.floor(Date.now() / 1_000) * 1_000;
  let ca: Credential;
  let place: TestLedgerPlace;
  let store: IdentityStore;
  /** With the options of one test. */
  let opened: IdentityStore | null = null;
  let service: Service;
  let told: NewLedgerRow[];
  const at = {
    now: startMs,
    /** The service that asks. */
    caller: null as Caller | null,
    /** Who delegates by a token; nobody does by default. */
    verifyDelegator: ((): Promise<never> => {
      throw new GateError('delegation_not_configured');
    }) as VerifyDelegator,
    /** Other Gates; there is none by default. */
    peers: NO_PEERS,
    /** Where it keeps actor tokens, where that is not its store. */
    actorTokens: {} as Partial<ActorTokenStore>,
    /** The keys of TPMs that are pinned. */
    anchors: new Map<string, Tpm2Anchor>(),
    /** The clusters whose tokens of pods are evidence. */
    clusters: new Map<string, K8sCluster>(),
  };

  let tokenSigner: Signer;
  const serve = (operators = 2, signIn?: string, adminTenant = 'acme'): void => {
    tokenSigner = createSigner(generateKeyPairSync('ed25519').privateKey);
    service = identityOver(ca, {
      store: new Proxy(opened ?? store, {
        get: (kept, name, self) => Reflect.get(at.actorTokens, name) ?? Reflect.get(kept, name, self),
      }),
      peers: {
        isPeer: (of) => at.peers.isPeer(of),
        keysOf: (of) => at.peers.keysOf(of),
        comesAs: (of, by) => at.peers.comesAs(of, by),
      },
      ledger: takingLedger((rows) => told.push(...rows)),
      published: () => ({
        bundle: {
          keys: bundleKeys(certificatesOf(ca.cert), [tokenSigner.publicJwk]),
          spiffe_sequence: 7,
          spiffe_refresh_hint: 300,
        },
        tokenKeys: [tokenSigner.publicJwk],
      }),
      tokenSigner,
      verifiers: [tpm2Verifier(at.anchors), k8sVerifier(at.clusters)],
      verifyDelegator: (...asked) => at.verifyDelegator(...asked),
      administratorOf: administrators({ token: ADMIN, tenant: 'acme' }),
      deploymentTenant: 'acme',
      people: {
        operators: [
          { name: 'dev', tenant: 'acme', token: DEV },
          { name: 'second', tenant: 'acme', token: SECOND },
          { name: 'dev', tenant: 'other', token: OTHERS },
        ].filter((_one, index) => index >= 2 || index < operators),
        decideToken: VOUCHES,
        signIn,
        adminTenant,
      },
      resolveCaller: () => at.caller,
      clock: () => at.now,
    });
  };
  beforeAll(async () => {
    ca = await createAuthority(TRUST_DOMAIN, {
      notBefore: new Date(startMs - 24 * HOUR_MS),
      notAfter: new Date(startMs + 720 * HOUR_MS),
    });
    place = await ledgerPlace(kind, { migrated: identityMigrations });
    store = await openIdentityStore(place.target, place.keys, { mostListed: 3, ...options });
  });
  afterAll(async () => {
    await store.close();
    await place.remove();
  });
  beforeEach(async () => {
    at.now = startMs;
    at.peers = NO_PEERS;
    at.actorTokens = {};
    told = [];
    at.anchors.clear();
    at.clusters.clear();
    at.caller = serviceCaller('console');
    for (const table of TABLES) await place.sql(`delete from identity_${table}`);
    await place.sql(
      "update identity_state set revocation_generation = 0, bundle_sequence = 0, bundle_sha256 = '', mac = ''",
    );
    await store.bundleSequence('first');
    serve();
  });
  afterEach(async () => {
    await service.close();
    await opened?.close();
    opened = null;
  });

  const asks = serviceAsker(() => service);
  const ask = (method: 'DELETE' | 'GET' | 'POST', url: string, { as = DEV, ...more }: Asked = {}) =>
    asks(method, url, { as, ...more });
  /** A token for an agent of `acme`. */
  const enrolled = (agent: string) => {
    at.caller = serviceCaller('console');
    return ask('POST', '/enrollments', { as: ADMIN, body: { tenant: 'acme', agent_name: agent } });
  };

  return {
    at,
    /** What identity says of itself. */
    readyz: () => service.health.inject('/readyz'),
    /** The rows that the ledger was given. */
    told: (): readonly NewLedgerRow[] => told,
    sql: (...query: Parameters<TestLedgerPlace['sql']>) => place.sql(...query),
    /** As an operator of `acme`, where nothing else is said. */
    ask,
    enrolled,
    /** An agent of `acme` with a first certificate, and its id. */
    async certified(agent: string) {
      const { token: once, agent_id: id } = (await enrolled(agent)).json<{ token: string; agent_id: string }>();
      at.caller = null;
      const { pem } = await certificateRequest();
      const reply = await ask('POST', '/enrollments/svid', { as: once, body: { csr_pem: pem } });
      at.caller = serviceCaller('console');
      return { id, pem: issuedSvid.parse(reply.json()).cert_pem };
    },
    /** What signs grants and tokens. */
    signer: () => tokenSigner,
    /** The store itself. */
    store: () => store,
    /** The same identity with other options, for the test that asks. */
    async opensWith(others: IdentityStoreOptions): Promise<void> {
      await service.close();
      opened = await openIdentityStore(place.target, place.keys, { mostListed: 3, ...options, ...others });
      serve();
    },
    /** The same store as another process opens it. */
    opensAgain: () => openIdentityStore(place.target, place.keys),
    /** Somebody whom the console vouches for. */
    asVouched: (vouched: Partial<Vouched>): Asked => ({
      as: VOUCHES,
      headers: {
        'x-gate-tenant-scope': vouched.tenant ?? 'acme',
        'x-gate-decision-principal': vouchingText({
          subject: 'oidc:ada',
          tenant: 'acme',
          method: 'oidc',
          role: 'approver',
          since_ms: at.now,
          until_ms: null,
          ...vouched,
        }),
      },
    }),
    /** The certificate of the CA. */
    ca: () => ca.cert,
    /** The same identity, with so many operators of `acme`. */
    async servesAnew(...people: Parameters<typeof serve>): Promise<void> {
      await service.close();
      serve(...people);
    },
    isRefused: (reply: Awaited<ReturnType<typeof ask>>, status: number, code: string) =>
      expect([reply.statusCode, reply.json<{ error: string }>().error]).toEqual([status, code]),
    /** What the ledger has, once it has all. */
    async kinds() {
      await eventually(
        'the ledger has every row',
        async () => (await place.sql('select id from identity_outbox')).length === 0,
      );
      return told.map(({ event_kind }) => event_kind);
    },
    /** The list of revocations, as a proxy is given it. */
    async listAfter(after: number): Promise<RevocationContent> {
      const before = at.caller;
      at.caller = serviceCaller('proxy');
      const reply = await ask('GET', `/revocation/list?after=${after}`, { as: null });
      at.caller = before;
      expect(reply.statusCode).toBe(200);
      return revocationVerifier(() => ca.cert)(revocationList.parse(reply.json()));
    },
  };
}
