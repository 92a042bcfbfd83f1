import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { createMtlsFetch } from '../../activities/clients/mtls-fetch.js';
import { createAuthority, issueLeaf } from '../../adapters/identity/certificate-authority.js';
import { isSignedBy } from '../../adapters/identity/svid-signer.js';
import type { Service } from '../../api/plugins/service.js';
import { surelyNotSent } from '../../activities/clients/unsent.js';
import { errorText, GateError } from '../../domain/errors.js';
import type { LiveTls } from '../../domain/identity/live-tls.js';
import { fingerprintOf } from '../../domain/identity/spiffe.js';
import { bareService } from '../../test/support/bare-service.js';
import { eventually } from '../../test/support/waiting.js';
import { type ApartProcess, startApart } from '../separate.js';
import {
  DEVELOPMENT_TENANT,
  type DevPki,
  ensureDevelopmentPki,
  ensureDevelopmentSecrets,
  issueBootstraps,
} from './dev-pki.js';
import { madeEnvironment } from './made-secrets.js';
import { createWorkload, type Workload } from './workload.js';

const TRUST_DOMAIN = 'gate.local';
const CALLERS = 8;
const RENEWALS = 6;
const spiffeOf = (name: string) => `spiffe://${TRUST_DOMAIN}/service/${name}`;
const logger = pino({ level: 'silent' });

let folder: string;
let pki: DevPki;
let identity: ApartProcess;
let url: string;
const closing: (() => Promise<unknown>)[] = [];

async function startIdentity(port: number, caFile = pki.caFile): Promise<void> {
  const secrets = await ensureDevelopmentSecrets({ stateDir: folder });
  const { identity: first } = await issueBootstraps(pki, [{ name: 'identity', service: 'identity' }]);
  const [cert, key] = ['identity.crt', 'identity.key'].map((name) => join(folder, name)) as [string, string];
  writeFileSync(cert, first.cert);
  writeFileSync(key, first.key);
  identity = await startApart('identity', {
    ...madeEnvironment({ ...secrets, ...pki }),
    GATE_STATE_DIR: folder,
    GATE_LOG_LEVEL: 'silent',
    GATE_DEPLOYMENT_TENANT: DEVELOPMENT_TENANT,
    GATE_IDENTITY_KEY_ANNOUNCE_SECS: '2',
    GATE_IDENTITY_PORT: String(port),
    GATE_IDENTITY_HEALTH_PORT: '0',
    // The ledger is away.
    GATE_LEDGER_URL: 'https://127.0.0.1:1',
    GATE_TLS_CA_FILE: caFile,
    GATE_TLS_CERT_FILE: cert,
    GATE_TLS_KEY_FILE: key,
  });
  url = `https://localhost:${identity.ports.port}`;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gate-workload-'));
  pki = await ensureDevelopmentPki({ stateDir: folder, trustDomain: TRUST_DOMAIN });
  await startIdentity(0);
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
afterAll(async () => {
  await identity.stop();
  await rm(folder, { recursive: true, force: true });
});

async function workloadOf(name: string, more: { readonly renewEveryMs?: number; readonly trustEveryMs?: number } = {}) {
  const { renewEveryMs, trustEveryMs } = more;
  const workload = createWorkload({
    name,
    service: name,
    trustDomain: TRUST_DOMAIN,
    ca: pki.ca,
    bootstrap: async () =>
      (await issueBootstraps(pki, [{ name, service: name }]))[name] as { cert: string; key: string },
    folder: join(folder, 'workloads', name),
    logger,
    startLimitMs: 2_000,
    ...(trustEveryMs !== undefined && { trustEveryMs }),
    ...(renewEveryMs !== undefined && { renewAfterMs: () => renewEveryMs }),
  });
  closing.push(() => workload.close());
  await workload.startAt(url);
  return workload;
}
const liveOf = ({ tls }: Workload): LiveTls => tls.live as LiveTls;

/** A service that tells who called it. */
async function listening(workload: Workload, registry = new Registry()): Promise<{ service: Service; at: string }> {
  const service = bareService({
    name: 'ledger',
    registry,
    trustDomain: TRUST_DOMAIN,
    tls: { ...workload.tls, clientCertificate: 'required' },
  });
  service.app.get('/who', (request) => ({ spiffe: request.caller?.spiffe, by: request.caller?.fingerprint }));
  service.app.get('/refused', (request) => {
    throw request.certificateFault ?? new GateError('not_found');
  });
  const { port } = await service.listen({ host: '127.0.0.1', port: 0, healthHost: '127.0.0.1', healthPort: 0 });
  closing.push(() => service.close());
  return { service, at: `https://localhost:${port}` };
}
/** Asks over one connection that stays open: the status, and whether it was open before. */
function keptConnection(client: Workload, at: string): () => Promise<readonly [number | undefined, boolean]> {
  const { cert, key } = liveOf(client).now();
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: pki.ca, cert, key });
  closing.push(() => Promise.resolve(agent.destroy()));
  return async () => {
    const sent = request(`${at}/who`, { agent }).end();
    const [reply] = (await once(sent, 'response')) as [IncomingMessage];
    for await (const _part of reply);
    return [reply.statusCode, sent.reusedSocket];
  };
}
const fetchOf = (workload: Pick<Workload, 'tls'>) => {
  const fetch = createMtlsFetch({ ...workload.tls, expectedServerSpiffe: spiffeOf('ledger'), timeoutMs: 20_000 });
  closing.push(() => fetch.close());
  return fetch;
};
/** The certificate that a listener shows to a new connection. */
const shownAt = (at: string, { cert, key }: { readonly cert: string; readonly key: string }): Promise<string> =>
  new Promise((resolve, reject) => {
    const { port } = new URL(at);
    const options = { host: 'localhost', port: Number(port), ca: pki.ca, cert, key, servername: 'localhost' };
    const socket = connect(options, () => {
      const certificate = socket.getPeerX509Certificate();
      resolve(certificate ? fingerprintOf(certificate) : '');
      socket.destroy();
    });
    socket.on('error', reject);
  });
const digestOf = (cert: string): string => fingerprintOf(new X509Certificate(cert));

describe('certificates that identity gives services', () => {
  it('are renewed on both sides under calls, of which none fails', async () => {
    const [server, client] = await Promise.all([
      workloadOf('ledger', { renewEveryMs: 100 }),
      workloadOf('proxy', { renewEveryMs: 100 }),
    ]);
    const { at } = await listening(server);
    const fetch = fetchOf(client);
    const renewed = { server: 0, client: 0 };
    liveOf(server).onRenewed(() => (renewed.server += 1));
    liveOf(client).onRenewed(() => (renewed.client += 1));
    const seen = new Set<string>();
    const failed: unknown[] = [];
    let calls = 0;
    const isOver = () => renewed.server >= RENEWALS && renewed.client >= RENEWALS;
    await Promise.all(
      Array.from({ length: CALLERS }, async () => {
        while (!isOver()) {
          try {
            const reply = await fetch(`${at}/who`, { method: 'GET' });
            const { spiffe, by } = JSON.parse(await reply.text()) as { spiffe: string; by: string };
            if (reply.status !== 200 || spiffe !== spiffeOf('proxy')) failed.push([reply.status, spiffe]);
            seen.add(by);
            calls += 1;
          } catch (error) {
            failed.push(error);
          }
        }
      }),
    );
    expect(failed).toEqual([]);
    expect(calls).toBeGreaterThan(CALLERS * RENEWALS);
    expect(seen.size).toBeGreaterThanOrEqual(RENEWALS / 2);
    await eventually('the listener shows the newest', async () => {
      const shown = await shownAt(at, liveOf(client).now());
      return shown === digestOf(liveOf(server).now().cert);
    });
  }, 120_000);

  it('leave a stream open that was begun before', async () => {
    const [server, client] = await Promise.all([workloadOf('ledger'), workloadOf('proxy', { renewEveryMs: 100 })]);
    const service = bareService({
      name: 'ledger',
      trustDomain: TRUST_DOMAIN,
      tls: { ...server.tls, clientCertificate: 'required' },
    });
    let say: (text: string | null) => void = () => undefined;
    service.app.get('/stream', (_request, reply) => {
      reply.hijack();
      reply.raw.writeHead(200, { 'content-type': 'text/plain' });
      say = (text) => (text === null ? reply.raw.end() : reply.raw.write(text));
      say('one ');
    });
    const { port } = await service.listen({ host: '127.0.0.1', port: 0, healthHost: '127.0.0.1', healthPort: 0 });
    closing.push(() => service.close());
    const { body } = await fetchOf(client).stream(`https://localhost:${port}/stream`, {
      headers: {},
      signal: new AbortController().signal,
    });
    const was = liveOf(client).now().cert;
    await eventually('the client has another certificate', () => liveOf(client).now().cert !== was);
    say('two');
    say(null);
    let heard = '';
    for await (const chunk of body) heard += Buffer.from(chunk).toString();
    expect(heard).toBe('one two');
  });

  it('are kept over a restart, with which nobody is asked', async () => {
    const first = await workloadOf('hil');
    const { cert } = liveOf(first).now();
    await first.close();
    expect(liveOf(await workloadOf('hil')).now().cert).toBe(cert);
  });

  it('are asked for again where what was kept is lost, and damage is named', async () => {
    await (await workloadOf('brain')).close();
    const file = join(folder, 'workloads', 'brain', 'current.json');
    writeFileSync(file, '{"cert":"');
    await expect(workloadOf('brain')).rejects.toThrow(`${file} is damaged`);
    rmSync(file);
    await workloadOf('brain');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ cert: expect.stringContaining('CERTIFICATE') });
  });

  it('go on where identity is away, and are renewed when it is back', async () => {
    const [server, client] = await Promise.all([workloadOf('ledger'), workloadOf('proxy', { renewEveryMs: 50 })]);
    const registry = new Registry();
    client.observe(registry);
    const { at } = await listening(server);
    const fetch = fetchOf(client);
    const port = Number(new URL(url).port);
    await identity.stop();
    try {
      await eventually('asking fails', async () =>
        /gate_workload_certificate_failures_total\{service="proxy"\} [1-9]/.test(await registry.metrics()),
      );
      expect((await fetch(`${at}/who`, { method: 'GET' })).status).toBe(200);
      expect(liveOf(client).ready()).toMatch(/^not renewed: /);
    } finally {
      await startIdentity(port);
    }
    await eventually('it is renewed again', () => liveOf(client).ready() === undefined);
    expect((await fetch(`${at}/who`, { method: 'GET' })).status).toBe(200);
  }, 60_000);

  it('that ended connect with nobody, in either direction, by name', async () => {
    const [server, client] = await Promise.all([workloadOf('ledger'), workloadOf('proxy')]);
    let hasEnded = false;
    const ending = (live: LiveTls): LiveTls => ({
      ...live,
      now() {
        if (hasEnded) throw new GateError('workload_certificate_ended', 'the certificate of the service ended');
        return live.now();
      },
      ready() {
        ending(live).now();
        return undefined;
      },
    });
    const { at, service } = await listening({ ...server, tls: { ...server.tls, live: ending(liveOf(server)) } });
    const fetch = fetchOf({ tls: { ...client.tls, live: ending(liveOf(client)) } });
    expect((await fetch(`${at}/who`, { method: 'GET' })).status).toBe(200);
    hasEnded = true;
    // Also on a connection that is open.
    const ended = await fetch(`${at}/who`, { method: 'GET' }).catch((error: unknown) => error);
    expect(errorText(ended)).toContain('the certificate of the service ended');
    // Whoever asked need not be told that it may have been done.
    expect(surelyNotSent(ended)).toBe(true);
    await expect(shownAt(at, liveOf(client).now())).rejects.toThrow();
    const ready = await service.health.inject('/readyz');
    expect([ready.statusCode, ready.json()]).toEqual([
      503,
      expect.objectContaining({
        checks: expect.objectContaining({ workload_identity: expect.stringContaining('failed') }),
      }),
    ]);
    hasEnded = false;
    expect((await fetch(`${at}/who`, { method: 'GET' })).status).toBe(200);
  });

  it('that ended answer nobody on connections that are open, until identity gave the next one', async () => {
    const [server, client] = await Promise.all([workloadOf('ledger'), workloadOf('proxy')]);
    let [hasEnded, comesSoon] = [false, false];
    const live = liveOf(server);
    const ending: LiveTls = {
      ...live,
      now() {
        if (hasEnded) throw new GateError('workload_certificate_ended');
        return live.now();
      },
      settled: async () => void (hasEnded &&= !comesSoon),
    };
    const { at } = await listening({ ...server, tls: { ...server.tls, live: ending } });
    const { cert, key } = liveOf(client).now();
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: pki.ca, cert, key });
    closing.push(() => Promise.resolve(agent.destroy()));
    const asked = async () => {
      const sent = request(`${at}/who`, { agent }).end();
      const [reply] = (await once(sent, 'response')) as [IncomingMessage];
      let text = '';
      for await (const part of reply) text += String(part);
      const { error } = JSON.parse(text) as { error?: string };
      return [reply.statusCode, error, reply.headers.connection, sent.reusedSocket];
    };
    expect(await asked()).toEqual([200, undefined, 'keep-alive', false]);
    hasEnded = true;
    expect(await asked()).toEqual([503, 'workload_certificate_ended', 'close', true]);
    await expect(asked()).rejects.toThrow();
    hasEnded = false;
    expect(await asked()).toEqual([200, undefined, 'keep-alive', false]);
    [hasEnded, comesSoon] = [true, true];
    expect(await asked()).toEqual([200, undefined, 'keep-alive', true]);
  });

  it('are not the bootstrap certificates: with one nobody serves, and nobody calls', async () => {
    const server = await workloadOf('ledger');
    const { at } = await listening(server);
    const { proxy: first } = await issueBootstraps(pki, [{ name: 'proxy', service: 'proxy' }]);
    const fetch = fetchOf({ tls: { ca: pki.ca, ...first } });
    const reply = await fetch(`${at}/refused`, { method: 'GET' });
    expect([reply.status, JSON.parse(await reply.text())]).toEqual([
      403,
      expect.objectContaining({ error: 'caller_not_allowed' }),
    ]);
    const { ledger } = await issueBootstraps(pki, [{ name: 'ledger', service: 'ledger' }]);
    const serving = bareService({
      name: 'ledger',
      trustDomain: TRUST_DOMAIN,
      tls: { ca: pki.ca, ...ledger, clientCertificate: 'required' },
    });
    closing.push(() => serving.close());
    const { port } = await serving.listen({ host: '127.0.0.1', port: 0, healthHost: '127.0.0.1', healthPort: 0 });
    await expect(fetchOf(server)(`https://localhost:${port}/who`, { method: 'GET' })).rejects.toThrow(
      /unsuitable|purpose|certificate/i,
    );
  });

  it('are verified with the CAs that identity publishes, which are taken without a restart and kept', async () => {
    const other = await createAuthority(TRUST_DOMAIN, {
      notBefore: new Date(Date.now() - 60_000),
      notAfter: new Date(Date.now() + 3_600_000),
    });
    const strange = (name: string) =>
      issueLeaf(other, {
        commonName: name,
        spiffe: spiffeOf(name),
        hosts: ['localhost'],
        usages: ['server', 'client'],
        notBefore: new Date(Date.now() - 60_000),
        notAfter: new Date(Date.now() + 600_000),
      });
    const [server, client] = await Promise.all([
      workloadOf('ledger', { trustEveryMs: 50 }),
      workloadOf('proxy', { trustEveryMs: 50 }),
    ]);
    const { at } = await listening(server);
    const ofOther = fetchOf({ tls: { ca: pki.ca, ...(await strange('proxy')) } });
    await expect(ofOther(`${at}/who`, { method: 'GET' })).rejects.toThrow();
    const fetch = fetchOf(client);
    // Open before, and still open then.
    const kept = keptConnection(client, at);
    expect(await kept()).toEqual([200, false]);
    const both = join(folder, 'both.crt');
    writeFileSync(both, `${pki.ca}${other.cert}`);
    const port = Number(new URL(url).port);
    await identity.stop();
    await startIdentity(port, both);
    try {
      const count = (workload: Workload) => liveOf(workload).trusted().split('BEGIN CERTIFICATE').length - 1;
      await eventually('both trust both', () => count(server) === 2 && count(client) === 2);
      expect((await ofOther(`${at}/who`, { method: 'GET' })).status).toBe(200);
      expect((await fetch(`${at}/who`, { method: 'GET' })).status).toBe(200);
      expect(await kept()).toEqual([200, true]);
      // A process that is started anew need not ask first.
      await client.close();
      expect(count(await workloadOf('proxy'))).toBe(2);
      // As after a withdrawal.
      await identity.stop();
      await startIdentity(port);
      await eventually('the other one counts no more', () => count(server) === 1);
      await expect(
        fetchOf({ tls: { ca: pki.ca, ...(await strange('proxy')) } })(`${at}/who`, { method: 'GET' }),
      ).rejects.toThrow();
      expect(await kept()).toEqual([200, true]);
    } finally {
      await identity.stop();
      await startIdentity(port);
    }
  }, 60_000);

  it('are of another CA that takes the place of theirs under calls, of which none fails', async () => {
    const trustEveryMs = 100;
    const [server, client] = await Promise.all([
      workloadOf('ledger', { renewEveryMs: 200, trustEveryMs }),
      workloadOf('proxy', { renewEveryMs: 200, trustEveryMs }),
    ]);
    const { at } = await listening(server);
    const fetch = fetchOf(client);
    // One connection that is open from the beginning to the end.
    const kept = keptConnection(client, at);
    expect(await kept()).toEqual([200, false]);
    const failed: unknown[] = [];
    let [calls, isOver] = [0, false];
    const calling = Promise.all(
      Array.from({ length: CALLERS }, async () => {
        while (!isOver) {
          try {
            const reply = await fetch(`${at}/who`, { method: 'GET' });
            if (reply.status !== 200) failed.push([reply.status, await reply.text()]);
            calls += 1;
          } catch (error) {
            failed.push(error);
          }
        }
      }),
    );
    const { identityAdminToken } = await ensureDevelopmentSecrets({ stateDir: folder });
    const asConsole = createMtlsFetch({
      ca: pki.ca,
      cert: pki.console.cert,
      key: pki.console.key,
      expectedServerSpiffe: spiffeOf('identity'),
      timeoutMs: 20_000,
    });
    closing.push(() => asConsole.close());
    const reply = await asConsole(`${url}/keys/rotations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${identityAdminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        request_id: randomUUID(),
        use: 'certificates',
        old_until: new Date(Date.now() + 3_600_000).toISOString(),
      }),
    });
    expect(reply.status).toBe(200);
    const { public_pem: next } = JSON.parse(await reply.text()) as { public_pem: string };
    const isOfNext = (workload: Workload) => isSignedBy(new X509Certificate(liveOf(workload).now().cert), next);
    try {
      await eventually('both have certificates of the other CA', () => isOfNext(server) && isOfNext(client));
      const before = calls;
      await eventually('calls go on', () => calls > before + CALLERS);
    } finally {
      isOver = true;
      await calling;
    }
    expect([failed, calls > CALLERS]).toEqual([[], true]);
    expect(await kept()).toEqual([200, true]);
    // Who comes anew knows the CAs of the settings alone, and asks which count before it asks for a certificate of the other one.
    expect(isOfNext(await workloadOf('policy-engine'))).toBe(true);
    // Identity itself, after a restart.
    const port = Number(new URL(url).port);
    await identity.stop();
    await startIdentity(port);
    await eventually('it is renewed by a certificate of the other CA', async () => {
      const was = liveOf(client).now().cert;
      await eventually('renewed', () => liveOf(client).now().cert !== was);
      return isOfNext(client);
    });
  }, 120_000);

  it('are asked for with a bootstrap certificate also where its CA was withdrawn, with which nothing else counts', async () => {
    const workload = await workloadOf('ledger');
    const live = liveOf(workload);
    const other = await createAuthority(TRUST_DOMAIN, {
      notBefore: new Date(Date.now() - 60_000),
      notAfter: new Date(Date.now() + 3_600_000),
    });
    const service = bareService({
      name: 'identity',
      trustDomain: TRUST_DOMAIN,
      bootstrapCas: pki.ca,
      tls: {
        ...workload.tls,
        live: { ...live, trusted: () => other.cert, now: () => ({ ...live.now(), ca: other.cert }) },
        clientCertificate: 'asked',
      },
    });
    service.app.get('/first', { config: { bootstrap: true } }, (request) => ({
      spiffe: request.caller?.spiffe ?? null,
      fault: request.certificateFault?.message ?? null,
    }));
    const { port } = await service.listen({ host: '127.0.0.1', port: 0, healthHost: '127.0.0.1', healthPort: 0 });
    closing.push(() => service.close());
    const seen = async (credential: { readonly cert: string; readonly key: string }) => {
      const fetch = fetchOf({ tls: { ...credential, ca: live.trusted() } });
      return JSON.parse(await (await fetch(`https://localhost:${port}/first`, { method: 'GET' })).text()) as unknown;
    };
    const { proxy: first } = await issueBootstraps(pki, [{ name: 'proxy', service: 'proxy' }]);
    expect(await seen(first)).toEqual({ spiffe: spiffeOf('proxy'), fault: null });
    const ofOther = {
      commonName: 'hil',
      spiffe: spiffeOf('hil'),
      hosts: [],
      usages: ['client' as const],
      notBefore: new Date(Date.now() - 60_000),
      notAfter: new Date(Date.now() + 600_000),
    };
    expect(await seen(await issueLeaf(other, ofOther))).toEqual({ spiffe: spiffeOf('hil'), fault: null });
    expect(await seen(pki.console)).toEqual({ spiffe: null, fault: expect.stringContaining('its CA was withdrawn') });
  });
});
