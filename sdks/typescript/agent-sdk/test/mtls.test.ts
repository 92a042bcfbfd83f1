import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { connect, createServer as createPlainServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ensureTestPki, type TestPki } from '../../../../test/support/service-certificates.js';
import { GateConfigError, GateTransportError, inspectToolUse } from '../src/index.js';
import { openTransport, type TransportProfile } from '../src/mtls.js';

let folder: string;
let pki: TestPki;
let server: Server;
let port: number;
/** The names in the certificates that were shown, a line for each request; and the connections. */
const shown: string[] = [];
const connections = new Set<unknown>();
/** What holds an answer back; a test sets it. */
let held: Promise<void> = Promise.resolve();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gate-sdk-mtls-'));
  pki = await ensureTestPki({ stateDir: join(folder, 'state'), trustDomain: 'gate.local' });
  const { proxy } = pki.services;
  server = createServer({ cert: proxy.cert, key: proxy.key, ca: pki.ca, requestCert: true }, (request, response) => {
    const socket = request.socket as TLSSocket;
    shown.push(String(socket.getPeerCertificate().subjectaltname));
    connections.add(socket);
    request.resume();
    void held.then(() =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end('{"decision":"allow","correlation_id":"c-1"}'),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true, force: true });
});

let profile: TransportProfile;
beforeEach(async () => {
  shown.length = 0;
  connections.clear();
  held = Promise.resolve();
  profile = {
    caBundlePath: join(folder, 'ca.crt'),
    clientCertificatePath: join(folder, 'agent.crt'),
    privateKeyPath: join(folder, 'agent.key'),
  };
  await use('support-bot');
});

async function use(agent: 'support-bot' | 'build-bot'): Promise<void> {
  const leaf = pki.agents[agent];
  await copyFile(pki.caFile, profile.caBundlePath);
  await copyFile(leaf.certFile, profile.clientCertificatePath);
  await copyFile(leaf.keyFile, profile.privateKeyPath);
}
const ask = (fetch: typeof globalThis.fetch, host = '127.0.0.1') =>
  inspectToolUse(
    { id: 'call-1', name: 'list_files', input: {} },
    { endpoint: `https://${host}:${port}`, fetch, retry: { maxAttempts: 1 } },
  );

describe('connections under the certificate of an agent', () => {
  it('show it, and stay open', async () => {
    const transport = await openTransport(profile);
    expect(await ask(transport.fetch)).toEqual({ kind: 'allow', correlationId: 'c-1' });
    await ask(transport.fetch);
    expect(shown).toEqual([
      expect.stringContaining('/agent/support-bot'),
      expect.stringContaining('/agent/support-bot'),
    ]);
    expect(connections.size).toBe(1);
    transport.close();
  });

  it('trust the given CA alone', async () => {
    await copyFile(join(folder, 'state/of-tests/proxy.crt'), profile.caBundlePath);
    const transport = await openTransport(profile);
    await expect(ask(transport.fetch)).rejects.toThrow(GateTransportError);
    expect(shown).toEqual([]);
    transport.close();
  });

  it('go to the name in the certificate alone', async () => {
    const transport = await openTransport(profile);
    await expect(ask(transport.fetch, '127.0.0.2')).rejects.toThrow(/does not match|not reached/);
    expect(shown).toEqual([]);
    transport.close();
  });

  it('go to the service that is named, whatever its host is called', async () => {
    const named = (service: string) =>
      openTransport({ ...profile, serverSpiffe: `spiffe://gate.local/service/${service}` });
    // The same server, under an address that its certificate does not have.
    const elsewhere = createPlainServer((socket) => void socket.pipe(connect(port, '127.0.0.1')).pipe(socket));
    await new Promise<void>((resolve) => elsewhere.listen(port, '127.0.0.2', resolve));
    const transport = await named('proxy');
    expect(await ask(transport.fetch, '127.0.0.2')).toEqual({ kind: 'allow', correlationId: 'c-1' });
    transport.close();
    const byName = await openTransport(profile);
    await expect(ask(byName.fetch, '127.0.0.2')).rejects.toThrow(/does not match/);
    byName.close();
    await new Promise((resolve) => elsewhere.close(resolve));
    for (const other of ['hil', 'prox', 'proxy/1', 'proxy, URI:a']) {
      const wrong = await named(other);
      await expect(ask(wrong.fetch)).rejects.toThrow(/the server is not/);
      wrong.close();
    }
    expect(shown).toHaveLength(1);
  });

  it('are others after a reload, and those under way end as they began', async () => {
    const transport = await openTransport(profile);
    let letGo: () => void = () => {};
    held = new Promise((resolve) => {
      letGo = resolve;
    });
    const underWay = ask(transport.fetch);
    await use('build-bot');
    await transport.reload();
    letGo();
    expect(await underWay).toEqual({ kind: 'allow', correlationId: 'c-1' });
    await ask(transport.fetch);
    expect(shown).toEqual([expect.stringContaining('/agent/support-bot'), expect.stringContaining('/agent/build-bot')]);
    transport.close();
  });

  it('stay as they are where the new files are not good', async () => {
    const transport = await openTransport(profile);
    await writeFile(profile.privateKeyPath, '-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n');
    const error = await transport.reload().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(GateConfigError);
    expect(String(error)).not.toContain('c2VjcmV0');
    expect(await ask(transport.fetch)).toMatchObject({ kind: 'allow' });
    transport.close();
  });

  it('are ended by close', async () => {
    const transport = await openTransport(profile);
    await ask(transport.fetch);
    transport.close();
    await expect(ask(transport.fetch)).rejects.toThrow(GateConfigError);
    await expect(transport.reload()).rejects.toThrow(GateConfigError);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['a file that is not there', () => openTransport({ ...profile, caBundlePath: join(folder, 'nothing') })],
    ['no time', () => openTransport({ ...profile, connectTimeoutMs: 0 })],
  ])('need %s to be otherwise', async (_, open) => {
    await expect(open()).rejects.toThrow(GateConfigError);
  });

  it('are never used in clear', async () => {
    const transport = await openTransport(profile);
    const asked = inspectToolUse(
      { id: 'call-1', name: 'list_files', input: {} },
      { endpoint: `http://127.0.0.1:${port}`, fetch: transport.fetch, retry: { maxAttempts: 1 } },
    );
    await expect(asked).rejects.toThrow(/https alone/);
    transport.close();
  });
});
