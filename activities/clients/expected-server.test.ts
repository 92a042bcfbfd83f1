import 'reflect-metadata';
import { createHash, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { request } from 'undici';
import { createAuthority, type Credential, issueLeaf } from '../../adapters/identity/certificate-authority.js';
import type { ExpectedServer } from '../../domain/identity/revocation-mirror.js';
import { ExpectingAgent } from './expected-server.js';
import { causeText, surelyNotSent } from './unsent.js';

const HOUR_MS = 3_600_000;
const SPIFFE = 'spiffe://tools.example/crm';
const ANOTHER = 'the upstream does not show the certificate that its registration says';
let ca: Credential;
let server: Server;
let plain: ReturnType<typeof createHttpServer>;
let pin: string;
let asked = 0;

beforeAll(async () => {
  const validity = { notBefore: new Date(Date.now() - HOUR_MS), notAfter: new Date(Date.now() + HOUR_MS) };
  ca = await createAuthority('tools.example', validity);
  const leaf = await issueLeaf(ca, {
    ...validity,
    commonName: 'crm',
    spiffe: SPIFFE,
    hosts: ['localhost'],
    usages: ['server'],
  });
  const { publicKey } = new X509Certificate(leaf.cert);
  pin = `sha256:${createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex')}`;
  const answer = (_request: unknown, reply: { end(text: string): void }) => {
    asked += 1;
    reply.end('{}');
  };
  server = createServer({ cert: leaf.cert, key: leaf.key }, answer);
  plain = createHttpServer(answer);
  for (const one of [server, plain]) {
    one.listen(0, '127.0.0.1');
    await once(one, 'listening');
  }
});
afterAll(() => {
  server.close();
  plain.close();
});

async function over(
  expected: ExpectedServer | null,
  { scheme = 'https', host = 'localhost' }: { scheme?: 'http' | 'https'; host?: string } = {},
): Promise<string> {
  const { port } = (scheme === 'https' ? server : plain).address() as AddressInfo;
  const dispatcher = new ExpectingAgent(() => expected, { connect: { ca: ca.cert, timeout: 2_000 } });
  try {
    const { body } = await request(`${scheme}://${host}:${port}/`, { dispatcher });
    return await body.text();
  } catch (error) {
    expect(surelyNotSent(error)).toBe(true);
    return causeText(error);
  } finally {
    await dispatcher.destroy();
  }
}

describe('the connection to an upstream', () => {
  const none = { tlsPin: null, spiffe: null };

  it('shows a certificate for its host where nothing else is said', async () => {
    expect([await over(null), await over(none)]).toEqual(['{}', '{}']);
    expect(await over(none, { host: '127.0.0.1' })).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
    expect(await over(null, { scheme: 'http' })).toBe('{}');
  });

  it('shows the key and the SPIFFE id that its registration says, or is sent nothing', async () => {
    expect(await over({ tlsPin: pin, spiffe: null })).toBe('{}');
    expect(await over({ tlsPin: pin, spiffe: SPIFFE })).toBe('{}');
    asked = 0;
    expect(await over({ tlsPin: `sha256:${'0'.repeat(64)}`, spiffe: null })).toBe(ANOTHER);
    expect(await over({ tlsPin: null, spiffe: `${SPIFFE}2` })).toBe(ANOTHER);
    expect(await over({ tlsPin: `sha256:${'0'.repeat(64)}`, spiffe: SPIFFE })).toBe(ANOTHER);
    expect(await over({ tlsPin: pin, spiffe: null }, { scheme: 'http' })).toBe(ANOTHER);
    expect(asked).toBe(0);
  });

  it('is made anew where something else is expected, and what is under way ends on the one of before', async () => {
    const { port } = server.address() as AddressInfo;
    let expected: ExpectedServer | null = null;
    const dispatcher = new ExpectingAgent(() => expected, { connect: { ca: ca.cert, timeout: 2_000 } });
    const asking = () => request(`https://localhost:${port}/`, { dispatcher });
    await (await asking()).body.text();
    const { body } = await asking();
    expected = { tlsPin: `sha256:${'0'.repeat(64)}`, spiffe: null };
    await expect(asking()).rejects.toThrow(ANOTHER);
    expect(await body.text()).toBe('{}');
    expected = { tlsPin: pin, spiffe: SPIFFE };
    expect(await (await asking()).body.text()).toBe('{}');
    await dispatcher.close();
  });

  it('is known by its SPIFFE id instead of its host, and by its key beside its host', async () => {
    expect(await over({ tlsPin: null, spiffe: SPIFFE }, { host: '127.0.0.1' })).toBe('{}');
    expect(await over({ tlsPin: pin, spiffe: null }, { host: '127.0.0.1' })).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
  });
});
