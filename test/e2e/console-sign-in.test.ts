import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Agent, request } from 'undici';
import { freePort } from '../../stack/programs/free-port.js';
import { createAuthority, issueLeaf } from '../../adapters/identity/certificate-authority.js';
import { fingerprintOf } from '../../domain/identity/spiffe.js';
import { newSigningKey, type SamlProvider, startSamlProvider } from '../support/saml-provider.js';
import { STACK_START_LIMIT_MS, startStack, type TestStack } from '../support/stack.js';
import { fieldIn } from '../support/html.js';

const ADA = 'spiffe://gate.local/operator/ada';
const HOUR = 3_600_000;

let gate: TestStack | null = null;
let provider: SamlProvider;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gate-sign-in-'));
  provider = await startSamlProvider(await newSigningKey());
});
afterEach(async () => {
  await gate?.stop();
  gate = null;
}, 120_000);
afterAll(async () => {
  await provider.close();
  rmSync(folder, { recursive: true });
});

/** Somebody at the console, who keeps its cookies. */
function browserAt(console: string, dispatcher = new Agent()) {
  const cookies = new Map<string, string>();
  async function go(method: 'GET' | 'POST', path: string, form?: Readonly<Record<string, string>>, origin = console) {
    const answer = await request(new URL(path, console), {
      dispatcher,
      method,
      headers: {
        accept: 'text/html',
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(form && { origin, 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(form && { body: new URLSearchParams(form).toString() }),
    });
    for (const set of [answer.headers['set-cookie'] ?? []].flat()) {
      const [pair = ''] = set.split(';');
      cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
    }
    return { status: answer.statusCode, location: String(answer.headers['location']), text: await answer.body.text() };
  }
  return {
    get: (path: string) => go('GET', path),
    post: (path: string, form: Readonly<Record<string, string>>, origin?: string) => go('POST', path, form, origin),
    close: () => dispatcher.close(),
  };
}
type Browser = ReturnType<typeof browserAt>;

/** Parks a call, approves it on its page, and says who the row and the ledger name. */
async function approvedBy(stack: TestStack, browser: Browser): Promise<unknown> {
  const call = await (await stack.agent()).call('wire_transfer', { from: 'operating', to: 'vendor', amount: 25 });
  expect(call.status).toBe(202);
  const { id } = await stack.operator.rowOf(call.correlationId);
  const { text } = await browser.get(`/hil/${id}`);
  const form = { csrf: fieldIn(text, 'csrf'), digest: fieldIn(text, 'digest'), request: fieldIn(text, 'request') };
  expect(await browser.post(`/hil/${id}/approve`, form)).toMatchObject({ status: 303 });
  await stack.kinds(call.correlationId, 'hil.approved');
  const { decided_by } = await stack.operator.rowOf(call.correlationId);
  return decided_by;
}

describe('a decision in the whole of Gate', () => {
  it(
    'is that of the person who signed in by SAML',
    async () => {
      const port = await freePort();
      const at = `http://localhost:${port}`;
      provider.person = { nameId: 'ada@acme.example', attributes: { org: ['7'], groups: ['staff'], how: ['otp'] } };
      gate = await startStack({
        env: {
          GATE_CONSOLE_AUTH: 'saml',
          GATE_CONSOLE_PORT: String(port),
          GATE_CONSOLE_URL: at,
          GATE_CONSOLE_SAML_ENTITY_ID: `${at}/saml`,
          GATE_CONSOLE_SAML_ACS_URL: `${at}/auth/saml/acs`,
          GATE_CONSOLE_SAML_IDP_METADATA_URL: provider.metadataUrl,
          GATE_CONSOLE_SAML_GROUP_ATTRIBUTES: 'groups',
          GATE_CONSOLE_SAML_TENANT_ATTRIBUTE: 'org',
          GATE_CONSOLE_SAML_MFA_ATTRIBUTE: 'how',
          GATE_CONSOLE_FEDERATED_TENANT_MAP: '7=acme',
          GATE_CONSOLE_FEDERATED_APPROVER_GROUPS: 'staff',
        },
      });
      const browser = browserAt(at);
      const { location } = await browser.get('/auth/saml/login');
      const form = provider.answer(location);
      expect(await browser.post('/auth/saml/acs', form, new URL(provider.signOnUrl).origin)).toMatchObject({
        status: 303,
      });
      expect(await approvedBy(gate, browser)).toBe('saml:ada@acme.example');
      await browser.close();
    },
    STACK_START_LIMIT_MS,
  );

  it(
    'is that of the person whose certificate the registry knows',
    async () => {
      const validity = { notBefore: new Date(Date.now() - HOUR), notAfter: new Date(Date.now() + 24 * HOUR) };
      const [own, operators] = await Promise.all([
        createAuthority('gate.local', validity),
        createAuthority('gate.local', validity),
      ]);
      const shown = await issueLeaf(own, {
        ...validity,
        commonName: 'console',
        spiffe: 'spiffe://gate.local/service/console',
        hosts: ['localhost'],
        usages: ['server'],
      });
      const ada = await issueLeaf(operators, {
        ...validity,
        commonName: 'ada',
        spiffe: ADA,
        hosts: [],
        usages: ['client'],
      });
      const file = (name: string, text: string): string => {
        writeFileSync(join(folder, name), text, { mode: 0o600 });
        return join(folder, name);
      };
      const entry = {
        fingerprint_sha256: fingerprintOf(new X509Certificate(ada.cert)),
        spiffe: ADA,
        role: 'approver',
        tenant: 'acme',
        expires_at: validity.notAfter.toISOString(),
        active: true,
      };
      const port = await freePort();
      const at = `https://localhost:${port}`;
      const certificates = {
        GATE_CONSOLE_CERT_FILE: file('console.pem', shown.cert),
        GATE_CONSOLE_KEY_FILE: file('console.key', shown.key),
      };
      const env = {
        GATE_CONSOLE_AUTH: 'operator-mtls',
        GATE_CONSOLE_PORT: String(port),
        GATE_CONSOLE_URL: at,
        GATE_CONSOLE_OPERATOR_CA_FILE: file('operators.pem', operators.cert),
        GATE_CONSOLE_OPERATORS_FILE: file('operators.json', JSON.stringify([entry])),
      };
      await expect(startStack({ env })).rejects.toThrow(/operator-mtls needs GATE_CONSOLE_CERT_FILE/);
      gate = await startStack({ env: { ...env, ...certificates } });
      const browser = browserAt(at, new Agent({ connect: { ca: own.cert, cert: ada.cert, key: ada.key } }));
      expect(await browser.post('/auth/certificate', {})).toMatchObject({ status: 303 });
      expect(await approvedBy(gate, browser)).toBe(`mtls:${ADA}`);
      file('operators.json', JSON.stringify([{ ...entry, active: false }]));
      expect((await browser.get('/hil')).status).toBe(303);
      await browser.close();
    },
    STACK_START_LIMIT_MS,
  );
});
