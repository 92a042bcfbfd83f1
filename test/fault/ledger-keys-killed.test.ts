import { type ChildProcess, spawn } from 'node:child_process';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createMtlsFetch } from '../../activities/clients/mtls-fetch.js';
import { PRIVATE_FILE, replaceFile } from '../../adapters/store/durable-file.js';
import { type KeyList, withComingKey, withoutKey, writtenKeyList } from '../../domain/identity/key-list.js';
import { publicJwkOf } from '../../domain/identity/signer.js';
import { formatVkey, noteKey, parseNote, parseVkey, verifiedSignatures } from '../../domain/ledger/tlog/note.js';
import {
  DEVELOPMENT_TENANT,
  type DevelopmentSecrets,
  ensureDevelopmentSecrets,
} from '../../stack/certificates/dev-pki.js';
import { madeEnvironment } from '../../stack/certificates/made-secrets.js';
import { ensureTestPki, type TestPki } from '../support/service-certificates.js';
import { freePort } from '../../stack/programs/free-port.js';
import { endsWithThisProcess } from '../support/ends-with-this-process.js';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { eventually } from '../support/waiting.js';

const TRUST_DOMAIN = 'gate.local';
const ORIGIN = `${TRUST_DOMAIN}/ledger`;
let folder: string;
let pki: TestPki;
let secrets: DevelopmentSecrets;
let port: number;
let child: ChildProcess;

async function start(): Promise<void> {
  child = spawn(process.execPath, [join(PROJECT_ROOT, 'bin', 'gate.mjs'), 'serve', 'ledger'], {
    stdio: 'ignore',
    env: {
      ...process.env,
      ...madeEnvironment({ ...secrets, ...pki }),
      GATE_STATE_DIR: folder,
      GATE_DEPLOYMENT_TENANT: DEVELOPMENT_TENANT,
      GATE_LEDGER_PORT: String(port),
      GATE_LEDGER_HEALTH_PORT: '0',
      GATE_TLS_CA_FILE: pki.caFile,
      GATE_TLS_CERT_FILE: pki.services.ledger.certFile,
      GATE_TLS_KEY_FILE: pki.services.ledger.keyFile,
    },
  });
  if (child.pid !== undefined) endsWithThisProcess(child.pid, once(child, 'exit'));
  await eventually('the ledger listens', async () => {
    if (child.exitCode !== null) throw new Error(`the ledger ended with ${child.exitCode}`);
    return (await ask('/checkpoint').catch(() => '')).includes(ORIGIN);
  });
}
async function killed(): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
async function ask(path: string): Promise<string> {
  const fetch = createMtlsFetch({
    ca: pki.ca,
    cert: pki.services.console.cert,
    key: pki.services.console.key,
    expectedServerSpiffe: `spiffe://${TRUST_DOMAIN}/service/ledger`,
    timeoutMs: 30_000,
    connectTimeoutMs: 30_000,
  });
  try {
    return await (await fetch(`https://localhost:${port}${path}`, { method: 'GET' })).text();
  } finally {
    await fetch.close();
  }
}
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gate-ledger-keys-killed-'));
  pki = await ensureTestPki({ stateDir: folder, trustDomain: TRUST_DOMAIN });
  secrets = await ensureDevelopmentSecrets({ stateDir: folder });
  port = await freePort();
  await start();
}, 120_000);
afterAll(async () => {
  await killed();
  rmSync(folder, { recursive: true, force: true });
});
const stageRows = async () =>
  (
    JSON.parse(await ask('/audit/agent/rows?agent_id=gate-ledger')) as {
      event_kind: string;
      policy_decision: { public_key_pem: string };
    }[]
  ).filter(({ event_kind: kind }) => kind.startsWith('signing_key.'));
const signedBy = async (pem: string) =>
  verifiedSignatures(parseNote(await ask('/checkpoint')), [
    parseVkey(formatVkey(noteKey(ORIGIN, createPublicKey(pem)))),
  ]).length;

function newKey(requestId: string) {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    id: publicJwkOf(publicKey).kid,
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    private: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    requestId,
    by: 'ops',
  };
}

it('a ledger that is killed at each stage of its key goes on from there, and each stage is one row', async () => {
  const file = secrets.checkpointKey.keyFile;
  const next = newKey('70000000-0000-4000-8000-000000000007');
  const old = createPublicKey(readFileSync(file, 'utf8'));
  const oldPem = old.export({ type: 'spki', format: 'pem' }).toString();
  const first: KeyList = {
    format: 'gate.key-list/1',
    use: 'checkpoints',
    keys: [
      {
        id: publicJwkOf(old).kid,
        public_key_pem: oldPem,
        private: readFileSync(file, 'utf8'),
        request_id: null,
        announced_at: null,
        signs_from: null,
        withdrawn_at: null,
        by: null,
      },
    ],
  };
  const ANNOUNCE_MS = 15_000;
  const list = withComingKey(first, { ...next, announceMs: ANNOUNCE_MS }, Date.now());
  replaceFile(file, writtenKeyList(list), PRIVATE_FILE);
  // Announced: before anybody looked, and after the row.
  await killed();
  await start();
  await eventually('it is a row', async () => (await stageRows()).length === 1);
  expect([await signedBy(oldPem), await signedBy(next.publicPem)]).toEqual([1, 0]);
  await killed();
  await start();
  // Signing: as soon as it does, and after the row.
  await eventually('the next one signs', async () => (await signedBy(next.publicPem)) === 1);
  await killed();
  await start();
  expect(await signedBy(next.publicPem)).toBe(1);
  await eventually('both are rows', async () => (await stageRows()).length === 2);
  await killed();
  await start();
  expect(await signedBy(next.publicPem)).toBe(1);
  const told = async () => (await stageRows()).map(({ event_kind: kind }) => kind).toSorted();
  expect(await told()).toEqual(['signing_key.announced', 'signing_key.signs']);
  // Withdrawn: another one that was announced is called off, before anybody looked, and after the row.
  const third = newKey('90000000-0000-4000-8000-000000000009');
  const longer = withComingKey(list, { ...third, announceMs: 3_600_000 }, Date.now());
  replaceFile(file, writtenKeyList(longer), PRIVATE_FILE);
  await eventually('the third one is a row', async () => (await stageRows()).length === 3);
  replaceFile(file, writtenKeyList(withoutKey(longer, third.id, Date.now())), PRIVATE_FILE);
  await killed();
  await start();
  await eventually('that it counts no more is a row', async () => (await told()).includes('signing_key.withdrawn'));
  await killed();
  await start();
  expect([await signedBy(next.publicPem), await signedBy(third.publicPem)]).toEqual([1, 0]);
  expect(await told()).toEqual([
    'signing_key.announced',
    'signing_key.announced',
    'signing_key.signs',
    'signing_key.withdrawn',
  ]);
}, 150_000);
