import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request } from 'node:https';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createAuthority, type Credential, issueLeaf } from '../../adapters/identity/certificate-authority.js';
import { GateError } from '../../domain/errors.js';
import type { RevokedNow } from '../../domain/identity/revocation-mirror.js';
import { agentSpiffe } from '../../domain/identity/spiffe.js';
import { uuidV7 } from '../../domain/identity/uuid-v7.js';
import { bareService } from '../../test/support/bare-service.js';
import type { Service } from './service.js';

const HOUR_MS = 3_600_000;
const refused = new Map<string, GateError>();
const listeners: ((revoked: RevokedNow) => void)[] = [];

/** A connection for each certificate, as agents keep theirs. */
const kept = new Agent({ keepAlive: true, maxSockets: 1 });

let ca: Credential;
let service: Service;
let port: number;
const leaf = (spiffe: string, authority = ca): Promise<Credential> =>
  issueLeaf(authority, {
    commonName: 'leaf',
    spiffe,
    hosts: ['localhost'],
    usages: ['client', 'server'],
    notBefore: new Date(Date.now() - HOUR_MS),
    notAfter: new Date(Date.now() + HOUR_MS),
  });
const agent = (name: string) => leaf(agentSpiffe('gate.local', 'acme', name, uuidV7()));
const validity = { notBefore: new Date(Date.now() - HOUR_MS), notAfter: new Date(Date.now() + HOUR_MS) };

beforeAll(async () => {
  ca = await createAuthority('gate.local', validity);
  service = bareService({
    name: 'test',
    tls: { ca: ca.cert, ...(await leaf('spiffe://gate.local/service/proxy')), clientCertificate: 'asked' },
    standing: {
      faultOf: (fingerprint) => refused.get(fingerprint) ?? null,
      onRevoked: (tell) => void listeners.push(tell),
    },
  });
  service.app.get('/who', ({ caller, certificateFault }) => ({
    spiffe: caller?.spiffe ?? null,
    fingerprint: caller?.fingerprint,
    validToMs: caller?.validToMs,
    fault: certificateFault && `${certificateFault.code}: ${certificateFault.message}`,
  }));
  ({ port } = await service.listen({ host: '127.0.0.1', port: 0, healthHost: '127.0.0.1', healthPort: 0 }));
});
afterAll(async () => {
  kept.destroy();
  await service.close();
});

async function who(
  credential: Partial<Credential>,
): Promise<{ spiffe: string | null; fingerprint?: string; validToMs?: number; fault: string | null }> {
  const asked = request({ host: 'localhost', port, path: '/who', ca: ca.cert, ...credential, agent: kept }).end();
  const [reply] = (await once(asked, 'response')) as [AsyncIterable<Buffer>];
  const parts: Buffer[] = [];
  for await (const part of reply) parts.push(part);
  return JSON.parse(Buffer.concat(parts).toString());
}

async function open(credential: Credential): Promise<TLSSocket> {
  const socket = connect({ host: 'localhost', port, ca: ca.cert, ...credential });
  await once(socket, 'secureConnect');
  socket.write('GET /who HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await once(socket, 'data');
  return socket;
}

describe('the certificate of an agent', () => {
  it('names it while it counts; refused on the next request of the same connection, and that of others is not', async () => {
    const [one, other] = [await agent('one'), await agent('other')];
    const { fingerprint = '' } = await who(one);
    refused.set(fingerprint, new GateError('certificate_revoked'));
    expect(await who(one)).toEqual({ spiffe: null, fault: expect.stringContaining('certificate_revoked') });
    expect((await who(other)).spiffe).toContain('/agent/other/');
  });

  it('that was revoked ends the connections on which it was shown, and no other', async () => {
    const [one, other] = [await agent('one'), await agent('other')];
    const { fingerprint = '' } = await who(one);
    const [of, beside] = [await open(one), await open(other)];
    const ended = once(of, 'close');
    for (const tell of listeners) tell({ fingerprints: [fingerprint, 'f'.repeat(64)], agents: [], tenants: [] });
    await ended;
    beside.write('GET /who HTTP/1.1\r\nHost: localhost\r\n\r\n');
    expect(String((await once(beside, 'data'))[0])).toContain('/agent/other/');
    beside.destroy();
  });

  it('that is of a tenant which was stopped whole ends its connections, and those of no other', async () => {
    const [first, second, elsewhere] = [
      await open(await agent('one')),
      await open(await agent('two')),
      await open(await leaf(agentSpiffe('gate.local', 'acme2', 'one', uuidV7()))),
    ];
    const ended = [once(first, 'close'), once(second, 'close')];
    for (const tell of listeners) tell({ fingerprints: [], agents: [], tenants: ['acme'] });
    await Promise.all(ended);
    elsewhere.write('GET /who HTTP/1.1\r\nHost: localhost\r\n\r\n');
    expect(String((await once(elsewhere, 'data'))[0])).toContain('/tenant/acme2/');
    elsewhere.destroy();
  });

  it('that is any of an agent which was revoked whole ends its connections, and those of no other', async () => {
    const [first, second, beside, elsewhere] = [
      await open(await agent('gone')),
      await open(await agent('gone')),
      await open(await agent('gone2')),
      await open(await leaf(agentSpiffe('gate.local', 'other', 'gone', uuidV7()))),
    ];
    const ended = [once(first, 'close'), once(second, 'close')];
    for (const tell of listeners) tell({ fingerprints: [], agents: [{ tenant: 'acme', agent: 'gone' }], tenants: [] });
    await Promise.all(ended);
    for (const socket of [beside, elsewhere]) {
      socket.write('GET /who HTTP/1.1\r\nHost: localhost\r\n\r\n');
      expect(String((await once(socket, 'data'))[0])).toContain('/agent/gone');
      socket.destroy();
    }
  });

  it('says when it ends, so that streams end with it; that of a service does not', async () => {
    const one = await agent('ending');
    expect((await who(one)).validToMs).toBe(Date.parse(new X509Certificate(one.cert).validTo));
    expect((await who(await leaf('spiffe://gate.local/service/console'))).validToMs).toBe(undefined);
  });

  it('is all that is asked about: a service has its certificate from elsewhere', async () => {
    const console_ = await leaf('spiffe://gate.local/service/console');
    const { fingerprint = '' } = await who(console_);
    refused.set(fingerprint, new GateError('certificate_revoked'));
    expect((await who(console_)).spiffe).toBe('spiffe://gate.local/service/console');
  });
});

describe('who is not known by a certificate is told what is missing', () => {
  it.each<[string, () => Promise<Partial<Credential>>, RegExp]>([
    ['no certificate', () => Promise.resolve({}), /shows no client certificate$/],
    [
      'one of another trust domain',
      () => leaf('spiffe://other.local/service/console'),
      /of nobody in the trust domain gate\.local/,
    ],
    ['one without a SPIFFE id', () => leaf('https://example.com'), /carries no SPIFFE id/],
    [
      'one that another CA signed',
      async () => leaf('spiffe://gate.local/service/console', await createAuthority('gate.local', validity)),
      /is not trusted \(\w+\)/,
    ],
  ])('%s', async (_what, credential, says) => {
    const { spiffe, fault } = await who(await credential());
    expect([spiffe, fault]).toEqual([null, expect.stringMatching(says)]);
  });
});
