import { randomUUID } from 'node:crypto';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createMtlsFetch } from '../../activities/clients/mtls-fetch.js';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { type OpenedChallenge, openedChallenge } from '../../contracts/attestation.js';
import { issuedSvid } from '../../contracts/identity.js';
import type { AttestationRequest } from '../../contracts/verified-attestation.js';
import {
  DEVELOPMENT_TENANT,
  type DevelopmentSecrets,
  ensureDevelopmentSecrets,
  issueBootstraps,
} from '../../stack/certificates/dev-pki.js';
import { ensureTestPki, type TestPki } from '../support/service-certificates.js';
import { TPM2_VERIFIER_POLICY } from '../../domain/identity/tpm2-quote.js';
import { withdrawDueMs } from '../../domain/identity/key-rotation.js';
import { uuidV7 } from '../../domain/identity/uuid-v7.js';
import { madeEnvironment } from '../../stack/certificates/made-secrets.js';
import { freePort } from '../../stack/programs/free-port.js';
import { certificateRequest } from '../support/certificate-request.js';
import { endsWithThisProcess } from '../support/ends-with-this-process.js';
import { seededRandom } from '../support/random.js';
import { attestationAnswer, HAS_TPM, measuredBy, startTpm, type TestAk, type TestTpm } from '../support/tpm.js';
import { needs } from '../support/needs.js';
import { startTokenProvider, type TokenProvider } from '../support/token-provider.js';
import { eventually } from '../support/waiting.js';

const ROUNDS = 4;
const AGENTS = 8;
const GRANTS = 12;
/** Enough that taking their certificates back takes a while. */
const STOPPED_AGENTS = 60;
const START_LIMIT_MS = 120_000;

let folder: string;
let pki: TestPki;
let secrets: DevelopmentSecrets;
let issuer: TokenProvider;
let tpm: TestTpm | undefined;
let ak: TestAk;
let port: number;
let child: ChildProcess;
let fetch: ReturnType<typeof createMtlsFetch>;

type Answer = { readonly status: number; readonly body: Record<string, unknown> };
const ask = (method: 'GET' | 'POST', path: string, body?: object, token?: string): Promise<Answer> =>
  asked(fetch, method, path, body, token);
const asked = async (
  as: typeof fetch,
  method: 'GET' | 'POST',
  path: string,
  body?: object,
  token?: string,
): Promise<Answer> => {
  const reply = await as(`https://localhost:${port}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: reply.status, body: JSON.parse(await reply.text()) as Record<string, unknown> };
};

async function start(aheadMs = 0): Promise<void> {
  child = spawn(process.execPath, [join(PROJECT_ROOT, 'bin', 'gate.mjs'), 'serve', 'identity'], {
    stdio: 'ignore',
    env: {
      ...process.env,
      ...madeEnvironment({ ...secrets, ...pki }),
      GATE_STATE_DIR: folder,
      ...(aheadMs > 0 && {
        NODE_OPTIONS: `--import=${join(PROJECT_ROOT, 'test', 'support', 'clock-ahead.mjs')}`,
        GATE_TEST_CLOCK_AHEAD_MS: String(aheadMs),
      }),
      GATE_DEPLOYMENT_TENANT: DEVELOPMENT_TENANT,
      GATE_IDENTITY_OIDC_ISSUERS_FILE: join(folder, 'issuers.json'),
      GATE_IDENTITY_KEY_ANNOUNCE_SECS: '2',
      ...(tpm && { GATE_IDENTITY_TPM2_ANCHORS_FILE: join(folder, 'anchors.json') }),
      GATE_IDENTITY_PORT: String(port),
      GATE_IDENTITY_HEALTH_PORT: '0',
      GATE_TLS_CA_FILE: pki.caFile,
      GATE_TLS_CERT_FILE: pki.services.identity.certFile,
      GATE_TLS_KEY_FILE: pki.services.identity.keyFile,
    },
  });
  if (child.pid !== undefined) endsWithThisProcess(child.pid, once(child, 'exit'));
  await eventually('identity listens', async () => {
    if (child.exitCode !== null) throw new Error(`identity ended with ${child.exitCode}`);
    return (await ask('GET', '/jwks.json').catch(() => null))?.status === 200;
  });
}

async function kill(): Promise<void> {
  // It may have ended by itself.
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gate-identity-killed-'));
  pki = await ensureTestPki({ stateDir: folder, trustDomain: 'gate.local' });
  secrets = await ensureDevelopmentSecrets({ stateDir: folder });
  port = await freePort();
  issuer = await startTokenProvider({ resource: 'https://gate.example/mcp', clients: [] });
  const people = { tenant: DEVELOPMENT_TENANT, name: 'corp', issuer: issuer.issuer, audience: 'delegations' };
  writeFileSync(join(folder, 'issuers.json'), JSON.stringify({ issuers: [people] }));
  if (HAS_TPM) {
    tpm = await startTpm();
    ak = await tpm.ak('first');
    writeFileSync(join(folder, 'anchors.json'), JSON.stringify({ anchors: [ak.anchor] }));
  }
  const { cert, key } = pki.services.console;
  fetch = createMtlsFetch({
    ca: pki.ca,
    cert,
    key,
    expectedServerSpiffe: 'spiffe://gate.local/service/identity',
    timeoutMs: 60_000,
  });
  await start();
}, START_LIMIT_MS);
afterAll(async () => {
  await fetch.close();
  await kill();
  await issuer.close();
  await tpm?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('identity, killed while it issues', () => {
  it(
    'gives each token one certificate or none, the same to who asks again, and knows every one that it gave',
    async () => {
      const random = seededRandom('identity is killed');
      for (let round = 0; round < ROUNDS; round += 1) {
        const proofs = await Promise.all(
          Array.from({ length: AGENTS }, async (_, at) => {
            const body = { tenant: DEVELOPMENT_TENANT, agent_name: `bot-${round}-${at}` };
            const enrolled = await ask('POST', '/enrollments', body, secrets.identityAdminToken);
            return { token: String(enrolled.body['token']), pem: (await certificateRequest()).pem };
          }),
        );
        const redeem = ({ token, pem }: (typeof proofs)[number]) =>
          ask('POST', '/enrollments/svid', { csr_pem: pem }, token);
        let answers = 0;
        const counted = (answer: Answer): Answer => {
          answers += 1;
          return answer;
        };
        const first = proofs.map((proof) => redeem(proof).then(counted, () => null));
        // After a few answers, so that a fast and a slow machine end it in the same places.
        const enough = Math.floor(random.next() * (AGENTS - 1));
        await eventually('some are answered', () => answers >= enough);
        await kill();
        const heard = await Promise.all(first);
        await start();
        const again = await Promise.all(proofs.map(redeem));
        for (const [at, answer] of again.entries()) {
          const before = heard[at];
          if (answer.status === 200) {
            if (before) expect(answer.body).toEqual(before.body);
          } else {
            expect([answer.status, answer.body['error'], before ?? null]).toEqual([409, 'issuance_replay', null]);
          }
        }
        const certificates = again.flatMap(({ status, body }) =>
          status === 200 ? [issuedSvid.parse(body).cert_pem] : [],
        );
        const database = new DatabaseSync(join(folder, 'data', 'identity.db'), { readOnly: true });
        const stored = database
          .prepare('select agent_id, cert_pem from identity_svids where agent_name like ? order by agent_name')
          .all(`bot-${round}-%`) as { agent_id: string; cert_pem: string }[];
        // The ledger is away here: of each certificate that there is its row waits, whether or not anybody heard of it, and of no other.
        const rows = database.prepare('select content from identity_outbox').all() as { content: string }[];
        const told = rows
          .map(
            ({ content }) => (JSON.parse(content) as { policy_decision: { svid_id: string } }).policy_decision.svid_id,
          )
          .toSorted();
        const all = database.prepare('select id from identity_svids order by id').all() as { id: string }[];
        expect(told).toEqual(all.map(({ id }) => id));
        database.close();
        expect(new Set(stored.map(({ agent_id: id }) => id)).size).toBe(stored.length);
        expect(stored.map(({ cert_pem: pem }) => pem)).toEqual(certificates);
      }
    },
    ROUNDS * START_LIMIT_MS,
  );

  it(
    'gives a service one certificate for its bootstrap certificate, the same to who asks again, and lets it ask anew where none came',
    async () => {
      const random = seededRandom('identity is killed while services ask');
      for (let round = 0; round < ROUNDS; round += 1) {
        const names = Array.from({ length: AGENTS }, (_, at) => `brain-${round}-${at}`);
        const first = await issueBootstraps(
          pki,
          names.map((name) => ({ name, service: 'brain' })),
        );
        const askers = names.map((name) => {
          const leaf = first[name] as { readonly cert: string; readonly key: string };
          return createMtlsFetch({
            ca: pki.ca,
            cert: leaf.cert,
            key: leaf.key,
            expectedServerSpiffe: 'spiffe://gate.local/service/identity',
            timeoutMs: 60_000,
            connectTimeoutMs: 30_000,
          });
        });
        const newBody = async () => ({ request_id: uuidV7(), csr_pem: (await certificateRequest()).pem });
        const bodies = await Promise.all(names.map(newBody));
        const askAs = (at: number, body: object): Promise<Answer> => {
          const asker = askers[at] as (typeof askers)[number];
          return asked(asker, 'POST', '/workload-svid', body);
        };
        let answers = 0;
        const heardFirst = bodies.map((body, at) =>
          askAs(at, body).then(
            (answer) => {
              answers += 1;
              return answer;
            },
            () => null,
          ),
        );
        const enough = Math.floor(random.next() * (AGENTS - 1));
        await eventually('some are answered', () => answers >= enough);
        await kill();
        const heard = await Promise.all(heardFirst);
        await start();
        const again = await Promise.all(bodies.map((body, at) => askAs(at, body)));
        for (const [at, answer] of again.entries()) {
          const before = heard[at];
          if (answer.status === 200) {
            if (before) expect(answer.body).toEqual(before.body);
            const more = await askAs(at, await newBody());
            expect([more.status, more.body['error']]).toEqual([409, 'issuance_conflict']);
          } else {
            expect([answer.status, answer.body['error'], before ?? null]).toEqual([409, 'issuance_conflict', null]);
            expect((await askAs(at, await newBody())).status).toBe(200);
          }
        }
        await Promise.all(askers.map((asker) => asker.close()));
        const database = new DatabaseSync(join(folder, 'data', 'identity.db'), { readOnly: true });
        const stored = database
          .prepare("select workload, svid_id from identity_workload_svids where state = 'issued' and workload like ?")
          .all(`brain-${round}-%`) as { workload: string; svid_id: string }[];
        const rows = database.prepare('select content from identity_outbox').all() as { content: string }[];
        database.close();
        expect(stored.map(({ workload }) => workload).toSorted()).toEqual(names.toSorted());
        const told = rows.map(
          ({ content }) =>
            (JSON.parse(content) as { policy_decision: { issued_id?: string } }).policy_decision.issued_id,
        );
        for (const { svid_id: id } of stored) expect(told.filter((one) => one === id)).toHaveLength(1);
      }
    },
    ROUNDS * START_LIMIT_MS,
  );

  (HAS_TPM ? describe : describe.skip)(`by quotes${needs('swtpm', HAS_TPM)}`, () => {
    it(
      'gives each quote of a TPM one certificate or none, whether it is killed among challenges, quotes or certificates',
      async () => {
        const random = seededRandom('identity is killed among quotes');
        const tenant = DEVELOPMENT_TENANT;
        const admin = secrets.identityAdminToken;
        const killedAmong = async <Value>(requests: readonly (() => Promise<Value>)[]): Promise<(Value | null)[]> => {
          let answers = 0;
          const asked = requests.map((request) =>
            request().then(
              (answer) => {
                answers += 1;
                return answer;
              },
              () => null,
            ),
          );
          const enough = Math.floor(random.next() * (requests.length - 1));
          await eventually('some are answered', () => answers >= enough);
          await kill();
          const heard = await Promise.all(asked);
          await start();
          return heard;
        };
        for (let round = 0; round < ROUNDS; round += 1) {
          const machines = await Promise.all(
            Array.from({ length: AGENTS }, async (_, at) => {
              const agent = await ask('POST', '/agents', { tenant, agent_name: `measured-${round}-${at}` }, admin);
              return {
                id: String(agent.body['id']),
                name: `measured-${round}-${at}`,
                csr: (await certificateRequest()).pem,
              };
            }),
          );
          const open = ({ id, csr }: (typeof machines)[number]) =>
            ask(
              'POST',
              `/agents/${id}/tpm2-enrollment-challenges?tenant=${tenant}`,
              { csr_pem: csr, ak_key_id: ak.name, measurement_policy_version: 'v1' },
              admin,
            );
          const challenges: Answer[] = [];
          for (const [at, heard] of (await killedAmong(machines.map((machine) => () => open(machine)))).entries()) {
            // One that nobody heard of is asked for anew.
            challenges.push(heard ?? (await open(machines[at] as (typeof machines)[number])));
          }
          interface Proof {
            readonly machine: (typeof machines)[number];
            readonly challenge: OpenedChallenge;
            readonly attestation: AttestationRequest;
          }
          const proofs: Proof[] = [];
          for (const [at, { status, body }] of challenges.entries()) {
            expect(status).toBe(201);
            const machine = machines[at] as (typeof machines)[number];
            const challenge = openedChallenge.parse(body);
            const attestation = await attestationAnswer(tpm as TestTpm, ak, challenge);
            const { platformIssuer, trustAnchorId, workload } = challenge.expected;
            const approved = await ask(
              'POST',
              '/attestation/measurements',
              {
                tenant,
                workload,
                evidence_kind: 'tpm2-quote',
                measurement_sha256: measuredBy(attestation),
                platform_issuer: platformIssuer,
                trust_anchor_id: trustAnchorId,
                measurement_policy_version: 'v1',
                verifier_policy_version: TPM2_VERIFIER_POLICY,
                reason: 'the image of the test',
              },
              admin,
            );
            expect(approved.status).toBe(201);
            proofs.push({ machine, challenge, attestation });
          }
          // Between the quote and its answer.
          await kill();
          await start();
          const redeem = ({ machine: { csr }, challenge, attestation }: Proof) =>
            ask('POST', `/tpm2-enrollment/${challenge.challenge_id}/svid`, { csr_pem: csr, attestation });
          const heard = await killedAmong(proofs.map((proof) => () => redeem(proof)));
          const database = new DatabaseSync(join(folder, 'data', 'identity.db'), { readOnly: true });
          const svids = (name: string) =>
            database.prepare('select id, cert_pem from identity_svids where agent_name = ?').all(name) as {
              id: string;
              cert_pem: string;
            }[];
          for (const [at, proof] of proofs.entries()) {
            const before = heard[at] ?? null;
            const { name, id } = proof.machine;
            const stored = svids(name);
            expect(stored.length).toBeLessThanOrEqual(1);
            // Whoever heard of a certificate has the one that is stored.
            if (before)
              expect([before.status, [before.body['cert_pem']]]).toEqual([200, stored.map((one) => one.cert_pem)]);
            const again = await redeem(proof);
            const known = database
              .prepare('select svid_bootstrap_state as state from identity_agents where id = ?')
              .get(id) as { state: string };
            if (stored.length === 1) {
              expect([again.status, known.state]).toEqual([401, 'retired']);
              expect((await open(proof.machine)).body['error']).toBe('bootstrap_not_available');
            } else if (again.status !== 200) {
              // What it was killed over is signed for nobody: another request has another challenge.
              expect([again.body['error'], known.state]).toEqual([
                expect.stringMatching(/^(?:attestation_challenge_invalid|issuance_replay)$/),
                'available',
              ]);
              const { pem: csr } = await certificateRequest();
              const machine = { ...proof.machine, csr };
              const challenge = openedChallenge.parse((await open(machine)).body);
              const attestation = await attestationAnswer(tpm as TestTpm, ak, challenge);
              expect((await redeem({ machine, challenge, attestation })).status).toBe(200);
            }
            const certificates = svids(name);
            expect(certificates).toHaveLength(1);
            const rows = database.prepare('select content from identity_outbox').all() as { content: string }[];
            const told = rows
              .map(
                ({ content }) => JSON.parse(content) as { event_kind: string; policy_decision: Record<string, string> },
              )
              .filter(
                ({ event_kind: kind, policy_decision: { svid_id: of } }) =>
                  kind === 'identity.svid_issued' && of === certificates[0]?.id,
              );
            // One row, which names the evidence.
            expect(told.map(({ policy_decision: said }) => said['measurement_sha256'])).toEqual([
              measuredBy(proof.attestation),
            ]);
          }
          database.close();
        }
      },
      ROUNDS * START_LIMIT_MS,
    );
  });

  it(
    'gives a grant only with its row, and closes what it was about to sign',
    async () => {
      const random = seededRandom('identity is killed among grants');
      for (let round = 0; round < ROUNDS; round += 1) {
        const agent = { tenant: DEVELOPMENT_TENANT, agent_name: `granted-${round}` };
        const registered = await ask(
          'POST',
          '/agents',
          { ...agent, scope_envelope: ['tool:a'] },
          secrets.identityAdminToken,
        );
        expect(registered.status).toBe(201);
        const seconds = Math.floor(Date.now() / 1_000);
        const claims = { iss: issuer.issuer, aud: 'delegations', sub: 'ada', iat: seconds, exp: seconds + 300 };
        const bodyOf = async () => ({
          tenant: DEVELOPMENT_TENANT,
          agent_spiffe: `spiffe://gate.local/tenant/${DEVELOPMENT_TENANT}/agent/${agent.agent_name}`,
          id_token: await issuer.forged({ ...claims, jti: randomUUID() }, { typ: 'JWT' }),
          scope: ['tool:a'],
        });
        const bodies = await Promise.all(Array.from({ length: GRANTS }, bodyOf));
        let answers = 0;
        const asked = bodies.map((body) =>
          ask('POST', '/grant', body).then(
            (answer) => {
              answers += 1;
              return answer;
            },
            () => null,
          ),
        );
        const enough = Math.floor(random.next() * (GRANTS - 1));
        await eventually('some are answered', () => answers >= enough);
        await kill();
        const heard = await Promise.all(asked);
        await start();
        const database = new DatabaseSync(join(folder, 'data', 'identity.db'), { readOnly: true });
        const stored = database
          .prepare('select id, state from identity_grants where agent_name = ?')
          .all(agent.agent_name) as { id: string; state: string }[];
        const rows = database.prepare('select content from identity_outbox').all() as { content: string }[];
        database.close();
        const issued = stored.flatMap(({ id, state }) => (state === 'issued' ? [id] : []));
        expect(
          stored.map(({ state }) => state).filter((state) => state !== 'issued' && state !== 'interrupted'),
        ).toEqual([]);
        for (const answer of heard)
          if (answer) expect([answer.status, issued.includes(String(answer.body['jti']))]).toEqual([200, true]);
        const told = rows
          .map(
            ({ content }) =>
              JSON.parse(content) as { event_kind: string; policy_decision: { jti?: string; agent?: string } },
          )
          .filter(
            ({ event_kind: kind, policy_decision: { agent: of } }) =>
              kind === 'identity.grant_issued' && of === agent.agent_name,
          )
          .map(({ policy_decision: { jti } }) => String(jti));
        expect(told.toSorted()).toEqual(issued.toSorted());
      }
    },
    ROUNDS * START_LIMIT_MS,
  );

  it(
    'takes back the certificates of a stopped tenant once each, whenever it is killed among them',
    async () => {
      const names = Array.from({ length: STOPPED_AGENTS }, (_, at) => `stopped-${at}`);
      for (const name of names) {
        const body = { tenant: DEVELOPMENT_TENANT, agent_name: name };
        const { token } = (await ask('POST', '/enrollments', body, secrets.identityAdminToken)).body;
        const { pem } = await certificateRequest();
        expect((await ask('POST', '/enrollments/svid', { csr_pem: pem }, String(token))).status).toBe(200);
      }
      const database = new DatabaseSync(join(folder, 'data', 'identity.db'), { readOnly: true });
      const one = <Row>(text: string) => database.prepare(text).get() as Row;
      const counting = () =>
        one<{ left: number }>('select count(*) as left from identity_svids where revoked_ms is null').left;
      const all = one<{ all: number }>('select count(*) as "all" from identity_svids').all;
      const stop = { tenant: DEVELOPMENT_TENANT, reason: 'a breach' };
      const stopped = await ask('POST', '/stops', stop, secrets.identityAdminToken);
      expect(stopped.status).toBe(200);
      // Twice in a row, each time in the middle.
      for (const share of [0.9, 0.6]) {
        await eventually('some are taken back', () => counting() <= all * share);
        await kill();
        await start();
      }
      await eventually('all are taken back', () => counting() === 0);
      const { revoked_count: counted } = await eventually('the report may be made', () => {
        const row = one<{ state: string; revoked_count: number }>(
          "select state, revoked_count from identity_stop_reports where kind = 'tenant'",
        );
        return row.state === 'due' && row;
      });
      const told = database.prepare('select content from identity_outbox').all() as { content: string }[];
      const revoked = told
        .map(({ content }) => JSON.parse(content) as { event_kind: string; policy_decision: { svid_id?: string } })
        .filter(({ event_kind: kind }) => kind === 'svid.revoked')
        .map(({ policy_decision: { svid_id: id } }) => id);
      database.close();
      // None twice, and none without its row; those of the rounds before are among them.
      expect([new Set(revoked).size, revoked.length]).toEqual([all, all]);
      expect(counted).toBe(all);
    },
    2 * START_LIMIT_MS,
  );

  it(
    'keeps a decoy with its row or not at all, and contains whoever touched one once',
    async () => {
      const random = seededRandom('identity is killed among decoys');
      const { cert, key } = pki.services.proxy;
      const proxy = createMtlsFetch({
        ca: pki.ca,
        cert,
        key,
        expectedServerSpiffe: 'spiffe://gate.local/service/identity',
        timeoutMs: 60_000,
      });
      const tenant = DEVELOPMENT_TENANT;
      for (let round = 0; round < ROUNDS; round += 1) {
        const bait = await ask(
          'POST',
          '/decoys',
          { tenant, name: `bait_${round}`, advertised: true },
          secrets.identityAdminToken,
        );
        const agents = Array.from({ length: AGENTS }, (_, at) => `touches-${round}-${at}`);
        for (const name of agents)
          await ask('POST', '/agents', { tenant, agent_name: name }, secrets.identityAdminToken);
        const touch = (name: string) =>
          asked(proxy, 'POST', '/decoys/hits', {
            hits: [
              {
                decoy_id: bait.body['id'],
                tenant,
                agent_name: name,
                hits: 1,
                last_at: '2026-11-02T10:00:00.000Z',
                correlation_id: `call-of-${name}`,
                contain: true,
              },
            ],
          });
        const add = (at: number) =>
          ask('POST', '/decoys', { tenant, name: `trap_${round}_${at}` }, secrets.identityAdminToken);
        let answers = 0;
        const counted = (answer: Answer): Answer => {
          answers += 1;
          return answer;
        };
        const first = agents.flatMap((name, at) => [
          touch(name).then(counted, () => null),
          add(at).then(counted, () => null),
        ]);
        const enough = Math.floor(random.next() * AGENTS);
        await eventually('some are answered', () => answers >= enough);
        await kill();
        const heard = await Promise.all(first);
        await start();
        for (const at of agents.keys()) {
          const again = await add(at);
          // Who heard that there is one finds it.
          expect(heard[2 * at + 1]?.status === 201 ? 409 : again.status).toBe(again.status);
        }
        for (const name of agents) expect((await touch(name)).status).toBe(200);
        const database = new DatabaseSync(join(folder, 'data', 'identity.db'), { readOnly: true });
        const rows = (database.prepare('select content from identity_outbox').all() as { content: string }[]).map(
          ({ content }) => JSON.parse(content) as { event_kind: string; policy_decision: Record<string, string> },
        );
        const decoys = database
          .prepare('select id from identity_decoys where name like ? order by id')
          .all(`trap_${round}_%`) as { id: string }[];
        const hits = database
          .prepare(
            'select agent_name, hit_count, contained from identity_decoy_hits where agent_name like ? order by agent_name',
          )
          .all(`touches-${round}-%`);
        database.close();
        const told = rows.flatMap(({ event_kind: kind, policy_decision: { decoy_id: id, name } }) =>
          kind === 'decoy.registered' && name?.startsWith(`trap_${round}_`) ? [String(id)] : [],
        );
        expect(told.toSorted()).toEqual(decoys.map(({ id }) => id));
        expect(decoys).toHaveLength(AGENTS);
        expect(hits).toEqual(agents.map((name) => ({ agent_name: name, hit_count: 1, contained: 'suspend' })));
        const suspended = rows.flatMap(({ event_kind: kind, policy_decision: { agent } }) =>
          kind === 'agent.suspended' && agent?.startsWith(`touches-${round}-`) ? [agent] : [],
        );
        expect(suspended.toSorted()).toEqual(agents);
      }
      await proxy.close();
    },
    ROUNDS * START_LIMIT_MS,
  );

  it(
    'puts another key of tokens in the place of the one before once, whenever it is killed among its stages',
    async () => {
      type Known = { readonly id: string; readonly state: string };
      const keys = async () =>
        (await ask('GET', '/keys', undefined, secrets.identityAdminToken)).body['keys'] as readonly Known[];
      const published = async () => {
        const { body } = await ask('GET', '/jwks.json');
        return (body['keys'] as readonly { kid: string }[]).map(({ kid }) => kid);
      };
      const [before] = await published();
      const asks = () =>
        ask('POST', '/keys/rotations', { request_id: request, use: 'tokens' }, secrets.identityAdminToken);
      const request = randomUUID();
      // Before, while or after it is stored.
      const first = asks().catch(() => null);
      await kill();
      await first;
      await start();
      const { status, body } = await asks();
      const id = String(body['id']);
      expect([status, body['request_id'], await published()]).toEqual([200, request, [before, id]]);
      // Announced.
      await kill();
      await start();
      expect([(await asks()).body['id'], await published()]).toEqual([id, [before, id]]);
      // As it begins to sign, or just before.
      await eventually('it signs soon', async () => {
        const { signs_from: from } = (await asks()).body;
        return Date.parse(String(from)) - Date.now() < 1_200;
      });
      await kill();
      await start();
      await eventually('it signs', async () => (await keys()).some((key) => key.id === id && key.state === 'signing'));
      await kill();
      await start();
      expect(await keys()).toEqual([
        expect.objectContaining({ id: before, state: 'retiring' }),
        expect.objectContaining({ id, state: 'signing' }),
      ]);
      expect(await published()).toEqual([before, id]);
      // Withdrawn, once nothing counts any more that it signed: before, while or after that is stored.
      const laterMs = withdrawDueMs('tokens', Date.now(), null) - Date.now();
      for (let times = 0; times < 2; times += 1) {
        await kill();
        await start(laterMs);
      }
      await eventually('the one before is withdrawn', async () => (await published()).length === 1);
      await kill();
      await start(laterMs);
      expect([await published(), (await keys()).map(({ id: of, state }) => [of, state])]).toEqual([
        [id],
        [
          [before, 'withdrawn'],
          [id, 'signing'],
        ],
      ]);
      const database = new DatabaseSync(join(folder, 'data', 'identity.db'), { readOnly: true });
      const rows = database.prepare('select content from identity_outbox').all() as { content: string }[];
      database.close();
      const told = rows
        .map(({ content }) => (JSON.parse(content) as { event_kind: string }).event_kind)
        .filter((kind) => kind.startsWith('identity.key_'));
      expect(told).toEqual(['identity.key_announced', 'identity.key_signs', 'identity.key_withdrawn']);
    },
    9 * START_LIMIT_MS,
  );
});
