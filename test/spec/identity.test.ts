import { spawn } from 'node:child_process';
import { hash, randomUUID, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createMtlsFetch } from '../../activities/clients/mtls-fetch.js';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { issuedSvid, revocationList, spiffeBundle } from '../../contracts/identity.js';
import {
  DEVELOPMENT_TENANT,
  type DevelopmentSecrets,
  ensureDevelopmentSecrets,
  issueBootstraps,
} from '../../stack/certificates/dev-pki.js';
import { ensureTestPki, type TestPki } from '../support/service-certificates.js';
import { madeEnvironment } from '../../stack/certificates/made-secrets.js';
import { type ApartProcess, startApart } from '../../stack/separate.js';
import { certificateRequest } from '../support/certificate-request.js';
import { goProgram, hasGo } from '../support/go-program.js';
import { needs } from '../support/needs.js';
import { eventually } from '../support/waiting.js';

const TRUST_DOMAIN = 'gate.local';
const IDENTITY = `spiffe://${TRUST_DOMAIN}/service/identity`;
const able = await hasGo();

let folder: string;
let pki: TestPki;
let secrets: DevelopmentSecrets;
let running: ApartProcess;
let url: string;
const closing: (() => Promise<void>)[] = [];

const env = () => ({
  ...madeEnvironment({ ...secrets, ...pki }),
  GATE_STATE_DIR: folder,
  GATE_DEPLOYMENT_TENANT: DEVELOPMENT_TENANT,
  GATE_LOG_LEVEL: 'silent',
  GATE_IDENTITY_PORT: '0',
  GATE_IDENTITY_HEALTH_PORT: '0',
  GATE_TLS_CA_FILE: pki.caFile,
  GATE_TLS_CERT_FILE: pki.services.identity.certFile,
  GATE_TLS_KEY_FILE: pki.services.identity.keyFile,
});
/** Another identity, whose certificates, its own too, are of its own giving. */
async function givingItself() {
  const stateDir = join(folder, 'giving-itself');
  const own = await ensureTestPki({ stateDir, trustDomain: TRUST_DOMAIN });
  const made = await ensureDevelopmentSecrets({ stateDir });
  const { identity: first } = await issueBootstraps(own, [{ name: 'identity', service: 'identity' }]);
  const [cert, key] = [join(stateDir, 'identity.crt'), join(stateDir, 'identity.key')];
  writeFileSync(cert, first.cert);
  writeFileSync(key, first.key);
  const process = await startApart('identity', {
    ...env(),
    ...madeEnvironment({ ...made, ...own }),
    GATE_STATE_DIR: stateDir,
    GATE_TLS_CA_FILE: own.caFile,
    GATE_TLS_CERT_FILE: cert,
    GATE_TLS_KEY_FILE: key,
    GATE_IDENTITY_KEY_ANNOUNCE_SECS: '1',
  });
  closing.unshift(() => process.stop());
  return { pki: own, token: made.identityAdminToken, at: `https://localhost:${process.ports.port}` };
}
const start = async () => {
  running = await startApart('identity', env());
  url = `https://localhost:${running.ports.port}`;
};
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gate-identity-'));
  pki = await ensureTestPki({ stateDir: folder, trustDomain: TRUST_DOMAIN });
  secrets = await ensureDevelopmentSecrets({ stateDir: folder });
  await start();
}, 120_000);
afterAll(async () => {
  for (const close of closing) await close();
  await running.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Over TLS, as whoever has this certificate; with none, as nobody. */
async function ask(
  who: { readonly cert: string; readonly key: string } | null,
  method: 'GET' | 'POST',
  path: string,
  {
    body,
    token,
    at = url,
    ca = pki.ca,
  }: { readonly body?: object; readonly token?: string; readonly at?: string; readonly ca?: string } = {},
): Promise<{ readonly status: number; readonly body: Record<string, unknown> }> {
  const { cert = '', key = '' } = who ?? {};
  const fetch = createMtlsFetch({
    ca,
    cert,
    key,
    expectedServerSpiffe: IDENTITY,
    timeoutMs: 60_000,
    connectTimeoutMs: 30_000,
  });
  closing.push(() => fetch.close());
  const reply = await fetch(`${at}${path}`, {
    method,
    headers: {
      ...(body && { 'content-type': 'application/json' }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: reply.status, body: JSON.parse(await reply.text()) as Record<string, unknown> };
}

async function enrolled(agent: string) {
  const { status, body } = await ask(pki.services.console, 'POST', '/enrollments', {
    body: { tenant: DEVELOPMENT_TENANT, agent_name: agent },
    token: secrets.identityAdminToken,
  });
  expect(status).toBe(201);
  const { pem, keyPem } = await certificateRequest();
  const reply = await ask(null, 'POST', '/enrollments/svid', { body: { csr_pem: pem }, token: String(body['token']) });
  expect(reply.status).toBe(200);
  const svid = issuedSvid.parse(reply.body);
  return { ...svid, credential: { cert: svid.cert_pem, key: keyPem } };
}
const renewed = async (credential: { readonly cert: string; readonly key: string }, agent: string) => {
  const { pem, keyPem } = await certificateRequest();
  const body = { tenant: DEVELOPMENT_TENANT, agent_name: agent, csr_pem: pem };
  return { ...(await ask(credential, 'POST', '/svid', { body })), keyPem };
};

describe('identity as a process of its own', () => {
  it('gives an agent its first certificate, and over mutual TLS with it the next one, once', async () => {
    const { credential } = await enrolled('first-bot');
    const next = await renewed(credential, 'first-bot');
    expect(next.status).toBe(200);
    const { cert_pem: cert } = issuedSvid.parse(next.body);
    const again = await renewed(credential, 'first-bot');
    expect([again.status, again.body['error']]).toEqual([403, 'issuance_authority_denied']);
    expect((await renewed({ cert, key: next.keyPem }, 'first-bot')).status).toBe(200);
  });

  it('lets nobody in by a certificate that is missing, of a service, or of an agent that it did not certify', async () => {
    const body = { tenant: DEVELOPMENT_TENANT, agent_name: 'build-bot', csr_pem: (await certificateRequest()).pem };
    const { services, agents } = pki;
    const asked = async (who: Parameters<typeof ask>[0]) => (await ask(who, 'POST', '/svid', { body })).body['error'];
    expect(await asked(null)).toBe('caller_spiffe_missing');
    expect(await asked(services.proxy)).toBe('capability_denied');
    expect(await asked(agents['build-bot'])).toBe('unregistered_agent');
  });

  it('keeps what it issued and what was revoked over a restart, and numbers the same bundle alike', async () => {
    const { id, credential } = await enrolled('revoked-bot');
    const bundle = () => ask(null, 'GET', '/.well-known/spiffe-bundle');
    const before = spiffeBundle.parse((await bundle()).body);
    const reply = await ask(pki.services.console, 'POST', '/revoke', {
      body: { kind: 'svid', svid_id: id },
      token: secrets.identityAdminToken,
    });
    expect(reply.status).toBe(200);
    await running.stop();
    await start();
    expect(spiffeBundle.parse((await bundle()).body)).toEqual(before);
    const list = revocationList.parse((await ask(pki.services.proxy, 'GET', '/revocation/list')).body);
    expect(list.svids.map(({ svid_id }) => svid_id)).toContain(id);
    expect((await renewed(credential, 'revoked-bot')).body['error']).toBe('issuance_authority_denied');
  });

  it.each([
    ['GATE_IDENTITY_CA_KEY_FILE', () => secrets.identityTokenKey.file, 'cannot be opened'],
    ['GATE_IDENTITY_SIGNING_KEY_PATH', () => secrets.ledgerKey.keyFile, 'a key in clear text is not read'],
    ['GATE_IDENTITY_KEYS', () => `other:${hash('sha256', 'other')}`, 'cannot be opened'],
  ])('does not start with another %s', async (variable, value, why) => {
    await expect(startApart('identity', { ...env(), [variable]: value() })).rejects.toThrow(why);
  });

  it('does not start with an administrator of no tenant', async () => {
    await expect(startApart('identity', { ...env(), GATE_DEPLOYMENT_TENANT: '' })).rejects.toThrow(
      'GATE_DEPLOYMENT_TENANT',
    );
  });

  it('has no private key in clear text in what it reads', () => {
    for (const { file } of [pki.sealedCaKey, secrets.identityTokenKey])
      expect(readFileSync(file, 'utf8')).toMatch(/^gate\.sealed-key\/1 [A-Za-z0-9+/=]+\n$/);
  });
});

describe('the keys of an identity whose certificate is from elsewhere', () => {
  const rotate = (use: string) => {
    const body = { request_id: randomUUID(), use, old_until: new Date().toISOString() };
    return ask(pki.services.console, 'POST', '/keys/rotations', { body, token: secrets.identityAdminToken });
  };
  it('are replaced where they sign tokens, and refused for certificates, which nobody would take over', async () => {
    expect((await rotate('certificates')).body['error']).toBe('rotation_unavailable');
    const { status, body } = await rotate('tokens');
    expect([status, body['state']]).toEqual([200, 'announced']);
    const { keys } = (await ask(null, 'GET', '/jwks.json')).body as { keys: { kid: string }[] };
    expect(keys.map(({ kid }) => kid)).toEqual([expect.any(String), body['id']]);
    await running.stop();
    await start();
    expect((await ask(null, 'GET', '/jwks.json')).body).toEqual({ keys });
  });
});

describe('SPIFFE as others implement it', () => {
  const question = (svid: string) => ({
    url: `${url}/.well-known/spiffe-bundle`,
    trust_domain: TRUST_DOMAIN,
    endpoint_id: IDENTITY,
    ca_pem: pki.ca,
    svid_pem: svid,
  });
  const goSpiffe = async (
    asked: object,
  ): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> => {
    const child = spawn(await goProgram('go-spiffe', join(PROJECT_ROOT, 'test', 'spiffe', 'go-spiffe')));
    const said = { out: '', err: '' };
    child.stdout.setEncoding('utf8').on('data', (part: string) => (said.out += part));
    child.stderr.setEncoding('utf8').on('data', (part: string) => (said.err += part));
    const code = new Promise<number | null>((resolve) => child.once('close', resolve));
    child.stdin.end(JSON.stringify(asked));
    return { code: await code, ...said };
  };

  (able ? it : it.skip)(
    `go-spiffe fetches the bundle, reads its keys and verifies a certificate that was issued${needs('go', able)}`,
    async () => {
      const { cert_pem: pem, spiffe_id: id } = await enrolled('go-bot');
      const { keys } = (await ask(null, 'GET', '/jwks.json')).body as { keys: { kid: string }[] };
      const found = await goSpiffe(question(pem));
      expect([found.code, found.err]).toEqual([0, '']);
      const heard = JSON.parse(found.out) as { jwt_authorities: string[] };
      // It keeps them by their ids, in no order.
      expect({ ...heard, jwt_authorities: heard.jwt_authorities.toSorted() }).toEqual({
        // A key of tokens came.
        sequence: 2,
        refresh_hint: 300,
        x509_authorities: 1,
        jwt_authorities: keys.map(({ kid }) => kid).toSorted(),
        verified: id,
      });
      // It refuses what another CA signed, so the line above proves something.
      const elsewhere = await ensureTestPki({ stateDir: join(folder, 'elsewhere'), trustDomain: TRUST_DOMAIN });
      const refused = await goSpiffe(question(elsewhere.agents['build-bot'].cert));
      expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('unknown authority')]);
    },
    600_000,
  );

  (able ? it : it.skip)(
    `go-spiffe verifies what either CA issued while one takes the place of the other${needs('go', able)}`,
    async () => {
      const { pki: own, token, at } = await givingItself();
      const of = { at, ca: own.ca, token };
      const certified = async (agent_name: string) => {
        const body = { tenant: DEVELOPMENT_TENANT, agent_name };
        const once = (await ask(own.services.console, 'POST', '/enrollments', { ...of, body })).body['token'];
        const { pem } = await certificateRequest();
        const reply = await ask(null, 'POST', '/enrollments/svid', {
          ...of,
          token: String(once),
          body: { csr_pem: pem },
        });
        return issuedSvid.parse(reply.body);
      };
      const before = await certified('before-bot');
      const body = { request_id: randomUUID(), use: 'certificates', old_until: new Date().toISOString() };
      const reply = await ask(own.services.console, 'POST', '/keys/rotations', { ...of, body });
      expect(reply.status).toBe(200);
      const next = new X509Certificate(String(reply.body['public_pem']));
      const { svid: after } = await eventually('the other CA signs', async () => {
        const svid = await certified(`after-${randomUUID()}`);
        return new X509Certificate(svid.cert_pem).verify(next.publicKey) && { svid };
      });
      for (const { cert_pem: pem, spiffe_id: id } of [before, after]) {
        const found = await goSpiffe({ ...question(pem), url: `${at}/.well-known/spiffe-bundle`, ca_pem: own.ca });
        expect([found.code, found.err]).toEqual([0, '']);
        expect(JSON.parse(found.out)).toMatchObject({ sequence: 2, x509_authorities: 2, verified: id });
      }
      // Who heard of the first one alone does not verify what the second one signed.
      expect(after.ca_cert_pem.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
      expect(new X509Certificate(after.cert_pem).verify(new X509Certificate(own.ca).publicKey)).toBe(false);
    },
    600_000,
  );
});
