import 'reflect-metadata';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes, X509Certificate } from 'node:crypto';
import { Registry } from 'prom-client';
import { createAuthority, type Credential } from '../../adapters/identity/certificate-authority.js';
import { type IdentityStore, openIdentityStore } from '../../adapters/identity/identity-store.js';
import { svidSigner } from '../../adapters/identity/svid-signer.js';
import { openStore } from '../../adapters/store/database.js';
import { type PinnedWorkload, type WorkloadSvid, workloadSvid } from '../../contracts/identity.js';
import type { NewLedgerRow } from '../../contracts/ledger.js';
import { isOfIdentity } from '../../domain/identity/identity-rows.js';
import type { CertificateRequest, SvidSigner } from '../../domain/identity/signed-once.js';
import { fingerprintOf, hostsOf, spiffeOfCertificate } from '../../domain/identity/spiffe.js';
import { uuidV7 } from '../../domain/identity/uuid-v7.js';
import { prepareRow } from '../../domain/ledger/entry.js';
import { identityMigrations } from '../../migrations/identity.js';
import { certificateRequest } from '../../test/support/certificate-request.js';
import { identityOver, serviceAsker, serviceCaller, TRUST_DOMAIN } from '../../test/support/identity-service.js';
import { ledgerPlace, NOT_MIGRATED, STORES, type TestLedgerPlace } from '../../test/support/ledger.js';
import { takingLedger } from '../../test/support/taking-ledger.js';
import { eventually } from '../../test/support/waiting.js';
import type { Caller } from '../plugins/app.js';
import type { Service } from '../plugins/service.js';
import { administrators } from './administrator.js';

const ADMIN = randomBytes(24).toString('base64url');
const DAY_MS = 86_400_000;
const START_MS = Math.floor(Date.now() / 1_000) * 1_000;
const PINNED: readonly PinnedWorkload[] = [
  { name: 'ledger', service: 'ledger', bootstrap_sha256: 'a'.repeat(64) },
  { name: 'proxy', service: 'proxy', bootstrap_sha256: 'b'.repeat(64) },
  { name: 'worker', service: 'proxy', bootstrap_sha256: 'c'.repeat(64) },
];
const TABLES = ['outbox', 'workloads', 'workload_svids'];

let ca: Credential;
beforeAll(async () => {
  ca = await createAuthority(TRUST_DOMAIN, {
    notBefore: new Date(START_MS - DAY_MS),
    notAfter: new Date(START_MS + 30 * DAY_MS),
  });
});

const service = (name: string, fingerprint: string, more: Partial<Caller> = {}): Caller =>
  serviceCaller(name, { fingerprint, hosts: ['localhost', '127.0.0.1', name], ...more });
const bootstrap = (name: string, fingerprint: string): Caller => service(name, fingerprint, { bootstrap: true });
const ledgerAtFirst = bootstrap('ledger', 'a'.repeat(64));
const digestOf = ({ cert_pem: pem }: Pick<WorkloadSvid, 'cert_pem'>): string => fingerprintOf(new X509Certificate(pem));

describe.each(STORES)('certificates of services on %s', (kind) => {
  let place: TestLedgerPlace;
  let store: IdentityStore;
  let identity: Service;
  let registry: Registry;
  let caller: Caller | null;
  let now: number;
  let told: NewLedgerRow[];
  let pinned: readonly PinnedWorkload[] | null;

  const serve = (over: { readonly signer?: SvidSigner; readonly store?: Partial<IdentityStore> } = {}): void => {
    registry = new Registry();
    identity = identityOver(ca, {
      store: { ...store, ...over.store },
      ...(over.signer && { signer: over.signer }),
      ledger: takingLedger((rows) => told.push(...rows)),
      administratorOf: administrators({ token: ADMIN, tenant: 'acme' }),
      registry,
      resolveCaller: () => caller,
      clock: () => now,
      pinned: () => (pinned === null ? Promise.reject(new Error('no such file')) : Promise.resolve(pinned)),
    });
  };
  beforeAll(async () => {
    place = await ledgerPlace(kind, { migrated: identityMigrations });
    store = await openIdentityStore(place.target, place.keys);
  });
  afterAll(async () => {
    await store.close();
    await place.remove();
  });
  beforeEach(async () => {
    now = START_MS;
    [told, pinned] = [[], PINNED];
    for (const table of TABLES) await place.sql(`delete from identity_${table}`);
    serve();
  });
  afterEach(() => identity.close());

  const asks = serviceAsker(() => identity);
  const post = async (url: string, body: object, as?: string) => {
    const reply = await asks('POST', url, { body, as });
    return { status: reply.statusCode, body: reply.json<Record<string, unknown>>() };
  };
  const newRequest = async () => ({ request_id: uuidV7(), csr_pem: (await certificateRequest()).pem });
  const ask = async (as: Caller, body: object) => {
    caller = as;
    return post('/workload-svid', body);
  };
  const issued = async (as: Caller, body?: object): Promise<WorkloadSvid> => {
    const reply = await ask(as, body ?? (await newRequest()));
    expect([reply.status, reply.body['error']]).toEqual([200, undefined]);
    return workloadSvid.parse(reply.body);
  };
  const refusal = async (as: Caller, body?: object) => {
    const reply = await ask(as, body ?? (await newRequest()));
    return [reply.status, reply.body['error']];
  };
  const recover = async (name: string, token = ADMIN) => {
    caller = service('console', 'f'.repeat(64));
    return post(`/workloads/${name}/svid-recovery`, { reason: 'its disk was lost' }, token);
  };
  const withFirst = async () => {
    const svid = await issued(ledgerAtFirst);
    return { svid, as: service('ledger', digestOf(svid)) };
  };

  describe('a bootstrap certificate', () => {
    it('brings one certificate of the same service and names, for half an hour', async () => {
      const svid = await issued(ledgerAtFirst);
      const certificate = new X509Certificate(svid.cert_pem);
      expect(spiffeOfCertificate(certificate)).toBe('spiffe://gate.local/service/ledger');
      expect(svid).toMatchObject({ generation: 1, spiffe_id: 'spiffe://gate.local/service/ledger' });
      expect(hostsOf(certificate)).toEqual(['localhost', '127.0.0.1', 'ledger']);
      expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
      expect(Date.parse(svid.not_after) - now).toBe(1_800_000);
      expect(await refusal(ledgerAtFirst)).toEqual([409, 'issuance_conflict']);
    });

    it('counts for the workload that is pinned with it, and for no other service', async () => {
      expect(await refusal(bootstrap('proxy', 'a'.repeat(64)))).toEqual([403, 'caller_not_allowed']);
      expect(await refusal(bootstrap('ledger', 'd'.repeat(64)))).toEqual([403, 'caller_not_allowed']);
    });

    it('brings nothing while the file of workloads cannot be read, and uses nothing up', async () => {
      pinned = null;
      expect(await refusal(ledgerAtFirst)).toEqual([503, 'store_unavailable']);
      pinned = PINNED;
      await issued(ledgerAtFirst);
    });

    it('of two processes of one service brings each a certificate of its own', async () => {
      const proxy = await issued(bootstrap('proxy', 'b'.repeat(64)));
      await issued(bootstrap('proxy', 'c'.repeat(64)));
      await issued(service('proxy', digestOf(proxy)));
    });

    it('opens nothing else at identity', async () => {
      caller = bootstrap('proxy', 'b'.repeat(64));
      const reply = await identity.app.inject({ method: 'GET', url: '/revocation/list' });
      expect([reply.statusCode, reply.json()]).toEqual([403, expect.objectContaining({ error: 'caller_not_allowed' })]);
    });

    it('that is another one, and pinned, brings a certificate once more', async () => {
      const { as } = await withFirst();
      pinned = PINNED.map((one) => (one.name === 'ledger' ? { ...one, bootstrap_sha256: 'e'.repeat(64) } : one));
      expect((await issued(bootstrap('ledger', 'e'.repeat(64)))).generation).toBe(2);
      expect(await refusal(bootstrap('ledger', 'e'.repeat(64)))).toEqual([409, 'issuance_conflict']);
      expect(await refusal(ledgerAtFirst)).toEqual([403, 'caller_not_allowed']);
      expect(await refusal(as)).toEqual([409, 'issuance_conflict']);
    });

    it('that was used brings nothing more where it is pinned again, also under another name', async () => {
      const pin = (name: string, digest: string) =>
        (pinned = [{ name, service: 'ledger', bootstrap_sha256: digest.repeat(64) }]);
      for (const digest of ['a', 'e']) {
        pin('ledger', digest);
        await issued(bootstrap('ledger', digest.repeat(64)));
      }
      for (const [name, digest] of [
        ['ledger', 'a'],
        ['ledger', 'e'],
        ['second', 'a'],
      ] as const) {
        pin(name, digest);
        expect(await refusal(bootstrap('ledger', digest.repeat(64)))).toEqual([409, 'issuance_conflict']);
      }
      expect(await place.sql("select id from identity_workload_svids where state = 'issued'")).toHaveLength(2);
    });
  });

  describe('a bootstrap certificate that was used, in a store that somebody edited', () => {
    const pinTo = (digest: string) => (pinned = [{ name: 'ledger', service: 'ledger', bootstrap_sha256: digest }]);
    it.each([
      ['is said to have brought none', "update identity_workload_svids set state = 'failed'"],
      ['is said to have been none', "update identity_workload_svids set authority_kind = 'workload'"],
      ['is told of nowhere', 'delete from identity_workload_svids'],
    ])('brings nothing more where it %s', async (_what, edit) => {
      const { as } = await withFirst();
      // What is current is another row.
      await issued(as);
      await place.sql(`${edit} where caller_fingerprint = ?`, [ledgerAtFirst.fingerprint]);
      const [status, error] = await refusal(ledgerAtFirst);
      expect(status).toBe(409);
      expect(['issuance_conflict', 'identity_tampered']).toContain(error);
      expect(await place.sql('select id from identity_workload_svids where svid_generation = 3')).toEqual([]);
    });

    it('is found out where another one was used since', async () => {
      await withFirst();
      pinTo('e'.repeat(64));
      await issued(bootstrap('ledger', 'e'.repeat(64)));
      await place.sql("update identity_workload_svids set state = 'failed' where caller_fingerprint = ?", [
        'a'.repeat(64),
      ]);
      pinTo('a'.repeat(64));
      expect(await refusal(ledgerAtFirst)).toEqual([409, 'identity_tampered']);
    });
  });

  describe('the certificate of a service', () => {
    it('brings the next one, and nothing from then on', async () => {
      const { svid, as } = await withFirst();
      const next = await issued(as);
      expect(next.generation).toBe(2);
      expect(next.id).not.toBe(svid.id);
      expect(await refusal(as)).toEqual([409, 'issuance_conflict']);
    });

    it('that identity did not give brings nothing', async () => {
      expect(await refusal(service('ledger', '9'.repeat(64)))).toEqual([403, 'caller_not_allowed']);
      const { as } = await withFirst();
      expect(await refusal(service('hil', as.fingerprint))).toEqual([403, 'caller_not_allowed']);
    });

    it('is no agent’s', async () => {
      const agent: Caller = { ...ledgerAtFirst, kind: 'agent', callerId: 'agent-workload', bootstrap: false };
      expect(await refusal(agent)).toEqual([403, 'capability_denied']);
    });
  });

  describe('one request', () => {
    it('brings the same certificate again, until a newer one takes its place', async () => {
      const body = await newRequest();
      const first = await issued(ledgerAtFirst, body);
      expect(await issued(ledgerAtFirst, body)).toEqual(first);
      const as = service('ledger', digestOf(first));
      const again = await newRequest();
      const second = await issued(as, again);
      now += 600_000;
      expect(await issued(as, again)).toEqual(second);
      expect(await refusal(ledgerAtFirst, body)).toEqual([409, 'issuance_conflict']);
    });

    it('brings no certificate that has ended by then', async () => {
      const body = await newRequest();
      await issued(ledgerAtFirst, body);
      now += 1_799_000;
      await issued(ledgerAtFirst, body);
      now += 1_000;
      expect(await refusal(ledgerAtFirst, body)).toEqual([409, 'issuance_conflict']);
    });

    it('is one of 4,000 in an hour; a workload that asks more often waits, and no other one', async () => {
      const { as } = await withFirst();
      const columns = 'workload, service, authority_kind, caller_fingerprint, state, requested_ms, mac';
      await place.sql(
        `with recursive many(number) as (select 1 union all select number + 1 from many where number < 3998)
          insert into identity_workload_svids (id, csr_sha256, public_key_sha256, ${columns})
          select 'many' || number, 'csr' || number, 'key' || number, ${columns} from many, identity_workload_svids`,
      );
      const next = service('ledger', digestOf(await issued(as)));
      const reply = await ask(next, await newRequest());
      expect([reply.status, reply.body]).toEqual([
        429,
        expect.objectContaining({ error: 'rate_limited', retry_after_secs: 60 }),
      ]);
      await issued(bootstrap('proxy', 'b'.repeat(64)));
      now += 3_600_000;
      await issued(next);
    });

    it('has an id of its own, and a key of its own', async () => {
      const body = await newRequest();
      const { as } = { as: service('ledger', digestOf(await issued(ledgerAtFirst, body))) };
      expect(await refusal(as, { ...(await newRequest()), request_id: body.request_id })).toEqual([
        409,
        'issuance_conflict',
      ]);
      expect(await refusal(as, { ...body, request_id: uuidV7() })).toEqual([409, 'issuance_replay']);
      // Another workload is told nothing of it.
      expect(await refusal(bootstrap('proxy', 'b'.repeat(64)), body)).toEqual([409, 'issuance_conflict']);
    });

    it.each([
      ['what is no request', { csr_pem: 'x' }, [400, 'invalid_csr']],
      ['more than half an hour', { ttl_seconds: 1_801 }, [400, 'ttl_seconds_too_large']],
      ['less than a minute', { ttl_seconds: 59 }, [400, 'invalid_request']],
      ['an invalid id', { request_id: 'x' }, [400, 'invalid_request']],
    ])('is refused for %s, and uses nothing up', async (_what, wrong, expected) => {
      expect(await refusal(ledgerAtFirst, { ...(await newRequest()), ...wrong })).toEqual(expected);
      await issued(ledgerAtFirst);
    });

    it('that was left open by a process that ended brings nothing, and its authority another one', async () => {
      await identity.close();
      let end: () => void = () => undefined;
      const ended = new Promise<void>((resolve) => (end = resolve));
      const releaseWorkload = () => ended.then(() => Promise.reject(new Error('it ended')));
      serve({ store: { releaseWorkload, failWorkload: () => Promise.resolve() } });
      const body = await newRequest();
      caller = ledgerAtFirst;
      const left = post('/workload-svid', body);
      await eventually('it is stored', async () => {
        const rows = await place.sql('select id from identity_workload_svids');
        return rows.length === 1;
      });
      const other = await openIdentityStore(place.target, place.keys);
      await other.close();
      end();
      await left;
      await identity.close();
      serve();
      expect(await refusal(ledgerAtFirst, body)).toEqual([409, 'issuance_conflict']);
      await issued(ledgerAtFirst);
      const counting = await place.sql("select id from identity_workload_svids where state = 'issued'");
      expect(counting).toHaveLength(1);
    });

    it('that fails uses nothing up', async () => {
      await identity.close();
      const working = svidSigner(ca.cert, ca.key);
      serve({ signer: { ...working, sign: () => Promise.reject(new Error('no key')) } });
      expect((await ask(ledgerAtFirst, await newRequest())).status).toBe(500);
      await identity.close();
      serve();
      await issued(ledgerAtFirst);
    });

    it('of many at once with one certificate brings one', async () => {
      const { as } = await withFirst();
      const bodies = await Promise.all(Array.from({ length: 8 }, newRequest));
      const answers = await Promise.all(bodies.map((body) => ask(as, body)));
      const [given, refused] = [200, 409].map((status) => answers.filter((answer) => answer.status === status));
      expect([given?.length, refused?.length]).toEqual([1, 7]);
      expect(await place.sql("select id from identity_workload_svids where state = 'issued'")).toHaveLength(2);
    });

    it('is told of in the ledger with its certificate', async () => {
      const { as } = await withFirst();
      await issued(as);
      await eventually('both are told', () => Promise.resolve(told.length === 2));
      expect(told).toMatchObject([
        {
          event_kind: 'svid.workload_refreshed',
          agent_spiffe: 'spiffe://gate.local/service/ledger',
          credential_fingerprint: as.fingerprint,
          policy_decision: { workload: 'ledger', caller_kind: 'bootstrap', generation: 1, ttl_seconds: 1_800 },
        },
        { policy_decision: { caller_kind: 'workload', generation: 2 } },
      ]);
      expect(told.every(isOfIdentity)).toBe(true);
      for (const row of told) expect(() => prepareRow(row)).not.toThrow();
      expect(await registry.metrics()).toContain(
        'gate_identity_workload_refreshes_total{caller_kind="bootstrap",service="ledger"} 1',
      );
    });

    it('of a row that somebody edited is refused', async () => {
      const { as } = await withFirst();
      await place.sql("update identity_workloads set bootstrap_state = 'recovery'");
      expect(await refusal(as)).toEqual([409, 'identity_tampered']);
    });
  });

  describe('a recovery', () => {
    it('takes the certificate back, and lets the bootstrap certificate count once more', async () => {
      const { svid, as } = await withFirst();
      expect(await recover('ledger')).toEqual({
        status: 200,
        body: { service: 'ledger', recovery_generation: 1, revoked_svid_id: svid.id },
      });
      expect(await refusal(as)).toEqual([409, 'issuance_conflict']);
      expect((await recover('ledger')).body).toMatchObject({ error: 'recovery_pending' });
      expect((await issued(ledgerAtFirst)).generation).toBe(2);
      expect(await refusal(ledgerAtFirst)).toEqual([409, 'issuance_conflict']);
      expect(told.map(({ event_kind: of }) => of)).toContain('workload.svid_recovery_opened');
    });

    it('is an administrator’s, of a workload that there is', async () => {
      await withFirst();
      expect((await recover('ledger', 'x'.repeat(40))).body).toMatchObject({ error: 'invalid_token' });
      expect((await recover('hil')).body).toMatchObject({ error: 'not_found' });
    });
  });
});

describe.each(STORES)('a store of services on %s that an earlier version wrote', (kind) => {
  const OF_BEFORE = Object.fromEntries(Object.entries(identityMigrations).filter(([name]) => name < '0010'));
  const ROW = ['ledger', 'ledger', 'retired', 'a'.repeat(64), 0, 1, null];
  let place: TestLedgerPlace;
  beforeEach(async () => {
    place = await ledgerPlace(kind, { migrated: NOT_MIGRATED });
    await (await openStore(place.target, OF_BEFORE)).close();
    const mark = place.keys.authenticate(JSON.stringify(['gate.identity_workloads/1', ...ROW]), 'gate.identity-row/1');
    await place.sql(
      `insert into identity_workloads (id, service, bootstrap_state, bootstrap_sha256, recovery_generation, svid_generation, current_id, mac)
        values (?, ?, ?, ?, ?, ?, ?, ?)`,
      [...ROW, mark],
    );
  });
  afterEach(() => place.remove());

  const begun = async (fingerprint: string) => {
    const store = await openIdentityStore(place.target, place.keys);
    const authority = { kind: 'bootstrap', workload: 'ledger', service: 'ledger', fingerprint } as const;
    const request = { csrSha256: 'c'.repeat(64), publicKeySha256: 'd'.repeat(64) } as CertificateRequest;
    try {
      return await store.beginWorkload({ requestId: uuidV7(), request, authority }, START_MS);
    } finally {
      await store.close();
    }
  };
  const indexes = async () =>
    place.sql(
      kind === 'sqlite'
        ? "select name from sqlite_master where name = 'identity_workload_svids_first'"
        : "select indexname from pg_indexes where indexname = 'identity_workload_svids_first'",
    );

  it('keeps its rows, and what was used; a certificate is found by an index', async () => {
    expect(await indexes()).toEqual([]);
    await expect(begun('a'.repeat(64))).rejects.toMatchObject({ code: 'issuance_conflict' });
    expect(await begun('e'.repeat(64))).toMatchObject({ workload: 'ledger' });
    expect(await indexes()).toHaveLength(1);
  });

  it('loses the rows of workloads that had no such column, and comes up', async () => {
    await place.sql('alter table identity_workloads drop column bootstrap_sha256');
    expect(await begun('e'.repeat(64))).toMatchObject({ workload: 'ledger', recoveryGeneration: 0 });
  });
});
