import { once } from 'node:events';
import { Agent, request } from 'node:https';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { createAuthority, type Credential, issueLeaf } from '../../adapters/identity/certificate-authority.js';
import { GateError } from '../../domain/errors.js';
import { agentSpiffe } from '../../domain/identity/spiffe.js';
import { uuidV7 } from '../../domain/identity/uuid-v7.js';
import { createService, type Service } from './service.js';

const HOUR_MS = 3_600_000;
const refused = new Map<string, GateError>();
const listeners: ((fingerprints: readonly string[]) => void)[] = [];

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
  service = createService({
    name: 'test',
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    trustDomain: 'gate.local',
    tls: { ca: ca.cert, ...(await leaf('spiffe://gate.local/service/proxy')), clientCertificate: 'asked' },
    standing: {
      faultOf: (fingerprint) => refused.get(fingerprint) ?? null,
      onRevoked: (tell) => void listeners.push(tell),
    },
  });
  service.app.get('/who', ({ caller, certificateFault }) => ({
    spiffe: caller?.spiffe ?? null,
    fingerprint: caller?.fingerprint,
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
): Promise<{ spiffe: string | null; fingerprint?: string; fault: string | null }> {
  const asked = request({ host: 'localhost', port, path: '/who', ca: ca.cert, ...credential, agent: kept }).end();
  const [reply] = (await once(asked, 'response')) as [AsyncIterable<Buffer>];
  const parts: Buffer[] = [];
  for await (const part of reply) parts.push(part);
  return JSON.parse(Buffer.concat(parts).toString());
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
    const open = async (credential: Credential) => {
      const socket = connect({ host: 'localhost', port, ca: ca.cert, ...credential });
      await once(socket, 'secureConnect');
      socket.write('GET /who HTTP/1.1\r\nHost: localhost\r\n\r\n');
      await once(socket, 'data');
      return socket;
    };
    const [of, beside] = [await open(one), await open(other)];
    const ended = once(of, 'close');
    for (const tell of listeners) tell([fingerprint, 'f'.repeat(64)]);
    await ended;
    beside.write('GET /who HTTP/1.1\r\nHost: localhost\r\n\r\n');
    expect(String((await once(beside, 'data'))[0])).toContain('/agent/other/');
    beside.destroy();
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
