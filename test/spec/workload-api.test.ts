import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { randomUUID, X509Certificate } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { createMtlsFetch } from '../../activities/clients/mtls-fetch.js';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { startAgentWorkload } from '../../stack/certificates/agent-workload.js';
import { DEVELOPMENT_TENANT, ensureDevelopmentSecrets, issueBootstraps } from '../../stack/certificates/dev-pki.js';
import { madeEnvironment } from '../../stack/certificates/made-secrets.js';
import { type ApartProcess, startApart } from '../../stack/separate.js';
import { goProgram, hasGo } from '../support/go-program.js';
import { needs } from '../support/needs.js';
import { ensureTestPki, type TestPki } from '../support/service-certificates.js';
import { eventually } from '../support/waiting.js';

const TRUST_DOMAIN = 'gate.local';
const IDENTITY = `spiffe://${TRUST_DOMAIN}/service/identity`;
const able = await hasGo();

let folder: string;
let pki: TestPki;
let identity: ApartProcess;
let token: string;
let url: string;
const closing: (() => Promise<void> | void)[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'wl-'));
  pki = await ensureTestPki({ stateDir: folder, trustDomain: TRUST_DOMAIN });
  const secrets = await ensureDevelopmentSecrets({ stateDir: folder });
  token = secrets.identityAdminToken;
  const { identity: first } = await issueBootstraps(pki, [{ name: 'identity', service: 'identity' }]);
  const [cert, key] = [join(folder, 'identity.crt'), join(folder, 'identity.key')];
  writeFileSync(cert, first.cert);
  writeFileSync(key, first.key);
  identity = await startApart('identity', {
    ...madeEnvironment({ ...secrets, ...pki }),
    GATE_STATE_DIR: folder,
    GATE_DEPLOYMENT_TENANT: DEVELOPMENT_TENANT,
    GATE_LOG_LEVEL: 'silent',
    GATE_IDENTITY_PORT: '0',
    GATE_IDENTITY_HEALTH_PORT: '0',
    GATE_TLS_CA_FILE: pki.caFile,
    GATE_TLS_CERT_FILE: cert,
    GATE_TLS_KEY_FILE: key,
    GATE_IDENTITY_KEY_ANNOUNCE_SECS: '5',
  });
  url = `https://localhost:${identity.ports.port}`;
}, 120_000);
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
  await identity.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** As the console, with the administrator's token. */
async function asked(path: string, body: object): Promise<Record<string, unknown>> {
  const { cert, key } = pki.services.console;
  const fetch = createMtlsFetch({ ca: pki.ca, cert, key, expectedServerSpiffe: IDENTITY, timeoutMs: 30_000 });
  closing.push(() => fetch.close());
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
  const reply = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  return JSON.parse(await reply.text()) as Record<string, unknown>;
}
const tokenFor = async (agent: string): Promise<string> =>
  String((await asked('/enrollments', { tenant: DEVELOPMENT_TENANT, agent_name: agent }))['token']);

/** A workload beside its agent, which renews every three seconds. */
const workload = (agent: string, once: string | null, renewSecs = 3) =>
  startAgentWorkload({
    tenant: DEVELOPMENT_TENANT,
    agent,
    trustDomain: TRUST_DOMAIN,
    ca: pki.ca,
    identityUrl: url,
    folder: join(folder, agent),
    socket: join(folder, `${agent}.sock`),
    token: () => once,
    ttlSeconds: 3_600,
    logger: pino({ level: 'silent' }),
    trustEveryMs: 200,
    renewAfterMs: () => renewSecs * 1_000,
  });

interface Line {
  readonly event: string;
  readonly id?: string;
  readonly serial?: string;
  readonly authorities?: number;
  readonly status?: number;
  readonly error?: string;
}
/** The program with go-spiffe, and what it said. */
async function goClient(agent: string) {
  const program = await goProgram('workload-api', join(PROJECT_ROOT, 'test', 'spiffe', 'workload-api'));
  const socket = `unix://${join(folder, `${agent}.sock`)}`;
  const child: ChildProcessWithoutNullStreams = spawn(program, {
    env: { ...process.env, SPIFFE_ENDPOINT_SOCKET: socket },
  });
  const said: Line[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => said.push(JSON.parse(line) as Line));
  child.stderr.resume();
  const ended = new Promise((resolve) => child.once('close', resolve));
  closing.push(async () => {
    child.kill();
    await ended;
  });
  return {
    said,
    async answer(question: object): Promise<Line> {
      const before = said.length;
      child.stdin.write(`${JSON.stringify(question)}\n`);
      return eventually('it answers', () => said.slice(before).find(({ event }) => event === 'got' || event === 'jwt'));
    },
  };
}
const svids = (said: readonly Line[]) => said.filter(({ event }) => event === 'svid');
/** Over mTLS with what go-spiffe has now. Who shows no certificate is 401; an agent is told what its body lacks. */
const overMtls = { ask: 'get', url: '', server_id: IDENTITY };

describe('the SPIFFE Workload API', () => {
  (able ? it : it.skip)(
    `gives go-spiffe a certificate, the next one, and another CA, live, and go-spiffe connects with each${needs('go', able)}`,
    async () => {
      const running = await workload('go-bot', await tokenFor('go-bot'));
      closing.push(() => running.stop());
      const { said, answer } = await goClient('go-bot');
      const connects = async () =>
        expect(await answer({ ...overMtls, url: `${url}/attestation/challenges` })).toMatchObject({ status: 400 });
      const first = await eventually('a certificate is given', () => svids(said)[0]);
      expect(first).toMatchObject({ authorities: 1 });
      expect(first.id).toMatch(/^spiffe:\/\/gate\.local\/tenant\/acme\/agent\/go-bot\/instance\/[0-9a-f-]{36}$/);
      await connects();
      const next = await eventually('the next one is given', () => svids(said).find(({ id }) => id !== first.id));
      expect(next.serial).not.toBe(first.serial);
      await connects();

      const rotation = { request_id: randomUUID(), use: 'certificates', old_until: new Date().toISOString() };
      const comes = new X509Certificate(String((await asked('/keys/rotations', rotation))['public_pem']));
      await eventually('both CAs are told of', () => svids(said).find(({ authorities }) => authorities === 2));
      await eventually('the other CA signs', () => {
        const kept = JSON.parse(readFileSync(join(folder, 'go-bot', 'current.json'), 'utf8')) as { cert: string };
        const certificate = new X509Certificate(kept.cert);
        const serial = certificate.serialNumber.toLowerCase().replace(/^0+/, '');
        return certificate.verify(comes.publicKey) && svids(said).at(-1)?.serial === serial;
      });
      await connects();
      expect(said.filter(({ event }) => event === 'failed')).toEqual([]);
      expect(await answer({ ask: 'jwt' })).toEqual({
        event: 'jwt',
        keys: 1,
        fetched: 'Unimplemented',
        validated: 'Unimplemented',
      });
    },
    600_000,
  );

  it('keeps the certificate over its end, without a token, and takes its socket away', async () => {
    const socket = join(folder, 'kept-bot.sock');
    const first = await workload('kept-bot', await tokenFor('kept-bot'), 3_000);
    expect(existsSync(socket)).toBe(true);
    await first.stop();
    expect(existsSync(socket)).toBe(false);
    const second = await workload('kept-bot', null, 3_000);
    await second.stop();
  }, 60_000);

  it('is none for an agent that has neither a certificate nor a token that counts', async () => {
    await expect(workload('no-bot', 'a token that nobody made')).rejects.toThrow(
      'The token is missing, unknown, or counts no more.',
    );
    expect(existsSync(join(folder, 'no-bot.sock'))).toBe(false);
  }, 60_000);
});
