import { createPublicKey } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createMtlsFetch } from '../../activities/clients/mtls-fetch.js';
import { PRIVATE_FILE, replaceFile } from '../../adapters/store/durable-file.js';
import { type KeyList, readKeyList, writtenKeyList } from '../../domain/identity/key-list.js';
import { formatVkey, noteKey, parseNote, parseVkey, verifiedSignatures } from '../../domain/ledger/tlog/note.js';
import {
  DEVELOPMENT_TENANT,
  type DevelopmentSecrets,
  ensureDevelopmentSecrets,
} from '../../stack/certificates/dev-pki.js';
import { madeEnvironment } from '../../stack/certificates/made-secrets.js';
import { type ApartProcess, startApart } from '../../stack/separate.js';
import { commandLine } from '../support/command.js';
import { ensureTestPki, type TestPki } from '../support/service-certificates.js';
import { eventually } from '../support/waiting.js';

const TRUST_DOMAIN = 'gate.local';
const ORIGIN = `${TRUST_DOMAIN}/ledger`;
let folder: string;
let pki: TestPki;
let secrets: DevelopmentSecrets;
let ledger: ApartProcess;
const gate = commandLine(() => folder);

const started = (): Promise<ApartProcess> =>
  startApart('ledger', {
    ...madeEnvironment({ ...secrets, ...pki }),
    GATE_STATE_DIR: folder,
    GATE_DEPLOYMENT_TENANT: DEVELOPMENT_TENANT,
    GATE_LOG_LEVEL: 'silent',
    GATE_LEDGER_PORT: '0',
    GATE_LEDGER_HEALTH_PORT: '0',
    GATE_TLS_CA_FILE: pki.caFile,
    GATE_TLS_CERT_FILE: pki.services.ledger.certFile,
    GATE_TLS_KEY_FILE: pki.services.ledger.keyFile,
  });
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
    return await (await fetch(`https://localhost:${ledger.ports.port}${path}`, { method: 'GET' })).text();
  } finally {
    await fetch.close();
  }
}
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gate-rotated-live-'));
  pki = await ensureTestPki({ stateDir: folder, trustDomain: TRUST_DOMAIN });
  secrets = await ensureDevelopmentSecrets({ stateDir: folder });
  ledger = await started();
}, 120_000);
afterAll(async () => {
  await gate.stop();
  await ledger.stop();
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

it('a running ledger signs with the next key of its file when its time has come, and tells of each stage once', async () => {
  const file = secrets.checkpointKey.keyFile;
  const { code, out } = await gate.done(['keys', 'rotate', 'checkpoints', '--file', file]);
  expect([code, out]).toEqual([0, expect.stringContaining('announced')]);
  const list = readKeyList(readFileSync(file, 'utf8'), 'checkpoints');
  const [first, next] = list.keys as [KeyList['keys'][number], KeyList['keys'][number]];
  await eventually('the announcement is a row, with the public key', async () =>
    (await stageRows()).some((row) => row.policy_decision.public_key_pem === next.public_key_pem),
  );
  expect([await signedBy(first.public_key_pem), await signedBy(next.public_key_pem)]).toEqual([1, 0]);
  // Its time comes now, instead of in an hour.
  const soon: KeyList = { ...list, keys: [first, { ...next, signs_from: new Date().toISOString() }] };
  replaceFile(file, writtenKeyList(soon), PRIVATE_FILE);
  await eventually('the next one signs', async () => (await signedBy(next.public_key_pem)) === 1);
  await eventually('it is a row', async () =>
    (await stageRows()).some(({ event_kind: kind }) => kind === 'signing_key.signs'),
  );
  await ledger.stop();
  ledger = await started();
  expect(await signedBy(next.public_key_pem)).toBe(1);
  // The development stack takes the list for the key that it made.
  expect((await ensureDevelopmentSecrets({ stateDir: folder })).checkpointKey.pub).toBe(next.public_key_pem);
  expect((await stageRows()).map(({ event_kind: kind }) => kind).toSorted()).toEqual([
    'signing_key.announced',
    'signing_key.signs',
  ]);
}, 120_000);
