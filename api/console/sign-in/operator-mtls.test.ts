import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { fingerprintOf } from '../../../domain/identity/spiffe.js';
import { readVouching } from '../../../domain/review/vouching.js';
import { createAuthority, type Credential, issueLeaf } from '../../../adapters/identity/certificate-authority.js';
import { fieldIn } from '../../../test/support/html.js';
import { openLoneConsole } from '../../../test/support/lone-console.js';
import { eventually } from '../../../test/support/waiting.js';
import { openOperatorMtlsMode } from './operator-mtls.js';

const DECIDE = 'decide-token-0123456789abcdefghijklm';
const HOUR = 3_600_000;
const ADA = 'spiffe://gate.local/operator/ada';
const END = new Date(Date.now() + HOUR).toISOString();
const VALID = { notBefore: new Date(Date.now() - HOUR), notAfter: new Date(Date.now() + 24 * HOUR) };

let authority: Credential;
let server: Credential;
let serverCa: Credential;
const certificates = new Map<string, Credential>();
let folder: string;
let file: string;
let port: number;
let healthPort: number;
let aheadMs: number;
let logged: string;
let console: Awaited<ReturnType<typeof openLoneConsole>>;
const agents: Agent[] = [];

const client = (by: Credential, over: Partial<Parameters<typeof issueLeaf>[1]> = {}): Promise<Credential> =>
  issueLeaf(by, { ...VALID, commonName: 'operator', spiffe: ADA, hosts: [], usages: ['client'], ...over });
const certificate = (name: string): Credential => certificates.get(name) ?? { cert: '', key: '' };
const digestOf = (name: string): string => fingerprintOf(new X509Certificate(certificate(name).cert));

beforeAll(async () => {
  const foreign = await createAuthority('gate.local', VALID);
  [authority, serverCa] = await Promise.all([
    createAuthority('gate.local', VALID),
    createAuthority('gate.local', VALID),
  ]);
  server = await issueLeaf(serverCa, {
    ...VALID,
    commonName: 'console',
    spiffe: 'spiffe://gate.local/service/console',
    hosts: ['localhost'],
    usages: ['server'],
  });
  const made: [string, Promise<Credential>][] = [
    ['ada', client(authority)],
    ["another of ada's", client(authority)],
    ['bob', client(authority, { spiffe: 'spiffe://gate.local/operator/bob' })],
    ['a service', client(authority, { usages: ['server'] })],
    ['over', client(authority, { notAfter: new Date(Date.now() - 60_000) })],
    ['foreign', client(foreign)],
  ];
  for (const [name, of] of made) certificates.set(name, await of);
});

const entry = (name: string, over: Readonly<Record<string, unknown>> = {}) => ({
  fingerprint_sha256: digestOf(name),
  spiffe: ADA,
  role: 'approver',
  tenant: 'acme',
  expires_at: END,
  active: true,
  ...over,
});
const register = (...entries: readonly unknown[]): void => writeFileSync(file, JSON.stringify(entries));
const mode = (trusted: (isReady: boolean) => void = () => undefined) =>
  openOperatorMtlsMode({
    file,
    decideToken: DECIDE,
    trusted,
    logger: pino({ base: null }, { write: (line: string) => void (logged += line) }),
    clock: () => Date.now() + aheadMs,
  });

let trust: boolean[];
beforeEach(async () => {
  aheadMs = 0;
  logged = '';
  trust = [];
  folder = mkdtempSync(join(tmpdir(), 'gate-operators-'));
  file = join(folder, 'operators.json');
  register(entry('ada'), entry('bob', { spiffe: 'spiffe://gate.local/operator/bob', role: 'admin' }));
  console = await openLoneConsole({
    signIn: (metrics) => mode((isReady) => (trust.push(isReady), metrics.operatorTrust(isReady))),
    decideToken: DECIDE,
    clock: () => Date.now() + aheadMs,
    url: 'https://localhost',
    streams: true,
    tls: { cert: server.cert, key: server.key, operatorCa: authority.cert },
  });
  const listening = { host: '127.0.0.1', port: 0, healthHost: '127.0.0.1', healthPort: 0 };
  ({ port, healthPort } = await console.service.listen(listening));
});
afterEach(async () => {
  for (const agent of agents.splice(0)) agent.destroy();
  console.service.app.server.closeAllConnections();
  await console.close();
  rmSync(folder, { recursive: true });
});

interface Answer {
  readonly status: number;
  readonly location: string | undefined;
  readonly text: string;
  readonly isResumed: boolean;
}

/** A browser that shows a certificate, or none. It keeps its cookie. */
function browserOf(name: string | null, cookies = new Map<string, string>()) {
  const agent = new Agent({ ca: serverCa.cert, ...(name !== null && certificate(name)) });
  agents.push(agent);
  async function go(method: string, path: string, form?: Record<string, string>, headers = {}): Promise<Answer> {
    const body = form === undefined ? '' : new URLSearchParams(form).toString();
    const asking = httpsRequest({
      agent,
      method,
      path,
      host: '127.0.0.1',
      servername: 'localhost',
      port,
      headers: {
        host: `localhost:${port}`,
        accept: 'text/html',
        cookie: [...cookies].map(([key, value]) => `${key}=${value}`).join('; '),
        ...(form && {
          origin: `https://localhost:${port}`,
          'content-type': 'application/x-www-form-urlencoded',
          'content-length': Buffer.byteLength(body),
        }),
        ...headers,
      },
    });
    const answered = new Promise<Answer>((resolve, reject) => {
      asking.on('error', reject).on('response', (response) => {
        const isResumed = (response.socket as TLSSocket).isSessionReused();
        for (const set of response.headers['set-cookie'] ?? []) {
          const [pair = ''] = set.split(';');
          cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
        }
        const { statusCode: status = 0, headers: came } = response;
        text(response).then((words) => resolve({ status, location: came.location, text: words, isResumed }), reject);
      });
    });
    asking.end(body);
    return answered;
  }
  return {
    cookies,
    get: (path: string, headers = {}) => go('GET', path, undefined, headers),
    post: (path: string, form: Record<string, string>) => go('POST', path, form),
    signIn: (headers = {}, wanted = '/audit') => go('POST', '/auth/certificate', { return_to: wanted }, headers),
    async me(): Promise<Record<string, unknown> | null> {
      const answer = await go('GET', '/auth/me');
      return answer.status === 200 ? (JSON.parse(answer.text) as Record<string, unknown>) : null;
    },
  };
}
type Browser = ReturnType<typeof browserOf>;
async function signedIn(name = 'ada'): Promise<Browser> {
  const browser = browserOf(name);
  expect(await browser.signIn()).toMatchObject({ status: 303, location: '/audit' });
  return browser;
}
async function refused(name: string | null): Promise<void> {
  const browser = browserOf(name);
  expect(await browser.signIn()).toMatchObject({ status: 401 });
  expect(await browser.me()).toBeNull();
  expect(browser.cookies.size).toBe(0);
}
/** What HIL was told of people, the last of it. */
const told = () => {
  const header = console.asked.hil.filter(({ path }) => path === '/people/standing').at(-1)?.headers;
  return readVouching(header?.['x-gate-decision-principal'] ?? '');
};
const health = async (path: string) => {
  const answer = await fetch(`http://127.0.0.1:${healthPort}${path}`);
  return { status: answer.status, text: await answer.text() };
};

describe('signing in with a certificate', () => {
  it('leads from the page that was wanted to the sign-in and back, as the registry says', async () => {
    const browser = browserOf('ada');
    expect(await browser.get('/audit')).toMatchObject({ status: 303, location: '/login?return_to=%2Faudit' });
    expect((await browser.get('/login?return_to=%2Faudit')).text).toContain('value="/audit"');
    expect(await browser.signIn()).toMatchObject({ status: 303, location: '/audit' });
    expect(await browser.me()).toMatchObject({
      name: `mtls:${ADA}`,
      tenant: 'acme',
      role: 'approver',
      mode: 'operator-mtls',
    });
    expect(told()).toEqual({
      subject: `mtls:${ADA}`,
      tenant: 'acme',
      method: 'operator-mtls',
      role: 'approver',
      since_ms: expect.any(Number),
      // When the entry is over, whether or not anybody looks then.
      until_ms: Date.parse(END),
    });
  });

  it('goes on over connections that resume an earlier one', async () => {
    const browser = await signedIn();
    let resumed = 0;
    for (let tried = 0; tried < 3; tried += 1) {
      const { status, isResumed } = await browser.get('/auth/me');
      expect(status).toBe(200);
      resumed += Number(isResumed);
    }
    expect(resumed).toBeGreaterThan(0);
  });

  it.each([
    ['no certificate', null],
    ['one of another CA under the same name', 'foreign'],
    ['one that the registry does not know, of the same CA and SPIFFE id', "another of ada's"],
    ['one that is over', 'over'],
    ['one that is for servers', 'a service'],
  ])('signs nobody in with %s', async (_what, name) => {
    register(...['ada', 'foreign', 'over', 'a service'].map((known) => entry(known)));
    await refused(name);
    await signedIn();
  });

  it.each<[string, Record<string, unknown>]>([
    ['has another SPIFFE id', { spiffe: 'spiffe://gate.local/operator/bob' }],
    ['is not active', { active: false }],
    ['has expired', { expires_at: new Date(Date.now() - 1_000).toISOString() }],
  ])('signs nobody in whose entry %s', async (_what, over) => {
    register(entry('ada', over));
    await refused('ada');
  });

  it.each([
    'x-forwarded-client-cert',
    'X-Forwarded-Tls-Client-Cert',
    'x-client-cert',
    'X-SSL-Client-Cert',
    'ssl-client-verify',
    'x-ssl-client-s-dn',
    'client-cert',
    'client-cert-chain',
    'x-amzn-mtls-clientcert-leaf',
    'x-arr-clientcert',
    'x_client_cert',
  ])('takes nobody by a certificate that a header forwards, with one of his own or without: %s', async (header) => {
    const forwarded = { [header]: encodeURIComponent(certificate('bob').cert), accept: 'application/json' };
    for (const name of ['ada', null]) {
      const answer = await browserOf(name).signIn(forwarded);
      expect(answer.status).toBe(400);
      expect(answer.text).toContain('forwarded_certificate');
    }
    const browser = await signedIn();
    expect((await browser.get('/auth/me', forwarded)).status).toBe(400);
  });

  it('takes a form of the console alone', async () => {
    const answer = await browserOf('ada').signIn({ origin: 'https://evil.example' });
    expect(answer.status).toBe(403);
  });

  it('is closed after ten failures of one address, for a minute, to who shows no certificate there', async () => {
    for (let tried = 0; tried < 10; tried += 1) await browserOf(null).signIn();
    expect(await browserOf(null).signIn()).toMatchObject({ status: 429 });
    await signedIn();
    aheadMs = 61_000;
    expect(await browserOf(null).signIn()).toMatchObject({ status: 401 });
  });

  it('is closed after ten failures of one certificate, to it alone', async () => {
    register(entry('bob', { spiffe: 'spiffe://gate.local/operator/bob', role: 'admin' }));
    for (let tried = 0; tried < 10; tried += 1) expect(await browserOf('ada').signIn()).toMatchObject({ status: 401 });
    const closed = await browserOf('ada').signIn({ accept: 'application/json' });
    expect(closed).toMatchObject({ status: 429, text: expect.stringContaining('with this certificate') });
    await signedIn('bob');
    expect(await browserOf("another of ada's").signIn()).toMatchObject({ status: 401 });
    aheadMs = 61_000;
    register(entry('ada'));
    await signedIn();
  });

  it('counts certificates of another authority, which anybody makes as many of as he likes, by their address', async () => {
    for (let tried = 0; tried < 10; tried += 1) await browserOf('foreign').signIn();
    expect(await browserOf(null).signIn()).toMatchObject({ status: 429 });
  });
});

describe('a session with a certificate', () => {
  it('is none over a connection without it, or with that of somebody else', async () => {
    const { cookies } = await signedIn();
    expect(await browserOf('ada', new Map(cookies)).me()).not.toBeNull();
    for (const name of [null, 'bob', "another of ada's", 'foreign'])
      expect(await browserOf(name, new Map(cookies)).me()).toBeNull();
  });

  it('ends with its entry, although it is used', async () => {
    register(entry('ada', { expires_at: new Date(Date.now() + 120_000).toISOString() }));
    const browser = await signedIn();
    aheadMs = 119_000;
    expect(await browser.me()).not.toBeNull();
    aheadMs = 121_000;
    expect(await browser.me()).toBeNull();
  });

  it.each<[string, Record<string, unknown>]>([
    ['another role', { role: 'viewer' }],
    ['another tenant', { tenant: 'globex' }],
    ['not active', { active: false }],
    ['another end', { expires_at: new Date(Date.now() + 2 * HOUR).toISOString() }],
  ])('ends at once when its entry is changed: %s', async (_what, over) => {
    const browser = await signedIn();
    register(entry('ada', over));
    expect(await browser.me()).toBeNull();
  });

  it('ends at once when its entry is taken out, and the review service is told', async () => {
    const browser = await signedIn();
    register(entry('bob', { spiffe: 'spiffe://gate.local/operator/bob', role: 'admin' }));
    expect(await browser.me()).toBeNull();
    expect(told()).toMatchObject({ subject: `mtls:${ADA}`, tenant: 'acme', role: 'none' });
    register(entry('ada'));
    expect(await browser.me()).toBeNull();
    await signedIn();
  });

  it('ends with what is open, within two seconds and without another request', async () => {
    const browser = await signedIn();
    const followed = browser.get('/stream/hil', { accept: 'text/event-stream' });
    const other = await signedIn('bob');
    const goesOn = other.get('/stream/hil', { accept: 'text/event-stream' });
    await eventually(
      'both follow',
      () => console.asked.hil.filter(({ path }) => path === '/pending/stream').length === 2,
    );
    register(
      entry('ada', { active: false }),
      entry('bob', { spiffe: 'spiffe://gate.local/operator/bob', role: 'admin' }),
    );
    expect(await followed).toMatchObject({ status: 200, text: expect.stringContaining(': begun') });
    expect(await other.me()).not.toBeNull();
    console.service.app.server.closeAllConnections();
    await expect(goesOn).rejects.toThrow();
  }, 20_000);

  it('of somebody who gets a second certificate goes on', async () => {
    const browser = await signedIn();
    register(entry('ada'), entry("another of ada's"));
    expect(await browser.me()).not.toBeNull();
    await signedIn("another of ada's");
    expect(told()).not.toMatchObject({ role: 'none' });
  });
});

describe('the token of a command line that somebody with a certificate let in', () => {
  const FORM = { host: 'localhost:8085', 'content-type': 'application/x-www-form-urlencoded' };
  const asks = async (url: string, fields: Record<string, string>) => {
    const payload = new URLSearchParams({ client_id: 'gate-operator-cli', ...fields }).toString();
    return (await console.service.app.inject({ method: 'POST', url, headers: FORM, payload })).json<
      Record<string, string>
    >();
  };
  const begun = () => asks('/oauth/device_authorization', { scope: 'gate.operator' });
  const collected = (device_code: string) =>
    asks('/oauth/token', { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code });
  const allowed = async (browser: Browser, user_code: string) => {
    const page = await browser.get(`/device?user_code=${user_code}`);
    const csrf = fieldIn(page.text, 'csrf');
    expect((await browser.post('/device/allow', { csrf, user_code })).status).toBe(200);
  };
  async function tokenOf(browser: Browser): Promise<string> {
    const { user_code = '', device_code = '' } = await begun();
    await allowed(browser, user_code);
    return (await collected(device_code))['access_token'] ?? '';
  }
  const standing = async (token: string) =>
    (
      await console.service.app.inject({
        url: '/command-line/me',
        headers: { host: 'localhost:8085', authorization: `Bearer ${token}` },
      })
    ).statusCode;

  it.each<[string, () => void]>([
    ['is taken out of the registry', () => register(entry('bob', { spiffe: 'spiffe://gate.local/operator/bob' }))],
    ['is no longer active', () => register(entry('ada', { active: false }))],
    ['has another role', () => register(entry('ada', { role: 'viewer' }))],
    ['has another certificate', () => register(entry("another of ada's"))],
    [
      'ends sooner, and has',
      () => (register(entry('ada', { expires_at: new Date(Date.now() + 60_000).toISOString() })), (aheadMs = 120_000)),
    ],
    ['cannot be read any more', () => writeFileSync(file, '[')],
  ])('ends at its next request when his entry %s', async (_how, change) => {
    const token = await tokenOf(await signedIn());
    expect(await standing(token)).toBe(200);
    change();
    expect(await standing(token)).toBe(401);
  });

  it('is not given where his entry went between his word and the token', async () => {
    const { user_code = '', device_code = '' } = await begun();
    await allowed(await signedIn(), user_code);
    register(entry('bob', { spiffe: 'spiffe://gate.local/operator/bob' }));
    expect(await collected(device_code)).toMatchObject({ error: 'access_denied' });
  });
});

describe('a registry that cannot be read', () => {
  it('has nobody until it can be, and the console says so', async () => {
    const browser = await signedIn();
    const before = JSON.stringify([entry('ada')]);
    writeFileSync(file, before.slice(0, -1));
    expect(await browser.me()).toBeNull();
    expect(await browser.signIn()).toMatchObject({ status: 401 });
    const probe = await health('/readyz');
    expect(probe.status).toBe(503);
    expect(probe.text).toContain('"operator trust":"failed"');
    expect(trust).toEqual([true, false]);
    expect((await health('/metrics')).text).toContain('\ngate_console_operator_trust_ready 0\n');
    expect(logged).toContain('cannot be read');
    register(entry('ada'));
    expect(await browser.signIn()).toMatchObject({ status: 303 });
    expect(trust).toEqual([true, false, true]);
    expect((await health('/metrics')).text).toContain('\ngate_console_operator_trust_ready 1\n');
    expect(JSON.parse((await health('/readyz')).text)).toMatchObject({ checks: { 'operator trust': 'ok' } });
  });

  it('has nobody while it is gone', async () => {
    const browser = await signedIn();
    rmSync(file);
    expect(await browser.me()).toBeNull();
  });

  it.each<[string, () => unknown, RegExp]>([
    ['no list', () => ({}), /has to be a list/],
    ['a certificate twice', () => [entry('ada'), entry('ada', { role: 'admin' })], /twice/],
    ['a role that there is not', () => [entry('ada', { role: 'root' })], /0\.role/],
    ['no tenant', () => [entry('ada', { tenant: undefined })], /0\.tenant/],
    ['a fingerprint in capitals', () => [entry('ada', { fingerprint_sha256: 'A'.repeat(64) })], /64 hex digits/],
    ['an id that is no SPIFFE id', () => [entry('ada', { spiffe: 'ada' })], /SPIFFE id/],
    ['a time without a zone', () => [entry('ada', { expires_at: '2027-01-01' })], /0\.expires_at/],
    ['a field that is not known', () => [entry('ada', { admin: true })], /admin/],
  ])('stops the start: %s', async (_what, entries, words) => {
    writeFileSync(file, JSON.stringify(entries()));
    await expect(mode()).rejects.toThrow(words);
  });

  it('stops the start where it is missing', async () => {
    rmSync(file);
    await expect(mode()).rejects.toThrow('ENOENT');
  });
});
