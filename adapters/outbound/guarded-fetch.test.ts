import 'reflect-metadata';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect as connectSocket, type AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { buildConnector } from 'undici';
import { createAuthority, type Credential, issueLeaf } from '../identity/certificate-authority.js';
import { createGuardedFetch, type GuardedFetch, type GuardedFetchOptions } from './guarded-fetch.js';

const PUBLIC = '93.184.215.14';
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

type Handler = (request: IncomingMessage, response: ServerResponse) => void;
async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}
const serve = (handler: Handler): Promise<number> => listening(createServer(handler));

const guarded = (options: GuardedFetchOptions): GuardedFetch => {
  const fetch = createGuardedFetch(options);
  cleanups.push(() => fetch.close());
  return fetch;
};
/** A name that resolves to this machine and is allowed to. */
const local = (port: number, options: GuardedFetchOptions = {}): { fetch: GuardedFetch; url: string } => ({
  fetch: guarded({ allowPrivate: [`hooks.test.example:${port}`], resolve: async () => ['127.0.0.1'], ...options }),
  url: `http://hooks.test.example:${port}/hil`,
});
const post = { method: 'POST', body: '{"a":1}', headers: { 'content-type': 'application/json' } } as const;
const fault = (name: string, final: boolean) => expect.objectContaining({ name: 'OutboundError', fault: name, final });

/** Records which address a connection was opened to, and connects to a local port instead. */
const recording =
  (port: number, opened: string[]): buildConnector.connector =>
  (target, callback) => {
    opened.push(`${target.hostname}:${target.port}`);
    const socket = connectSocket(port, '127.0.0.1', () => callback(null, socket));
    socket.on('error', (error) => callback(error, null));
  };

describe('a request that may go out', () => {
  it('arrives with its body, and with the name as Host although the connection goes to the address', async () => {
    const seen: unknown[] = [];
    const port = await serve((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        seen.push([request.method, request.url, request.headers.host, request.headers['content-type'], body]);
        response.setHeader('x-answer', 'yes').end('thanks');
      });
    });
    const { fetch, url } = local(port);
    const response = await fetch(`${url}?x=1`, post);
    expect([response.status, response.headers['x-answer'], response.body.toString()]).toEqual([200, 'yes', 'thanks']);
    expect(seen).toEqual([['POST', '/hil?x=1', `hooks.test.example:${port}`, 'application/json', '{"a":1}']]);
  });

  it('opens a new connection, resolved anew, for every request', async () => {
    const seen: unknown[] = [];
    const port = await serve((request, response) => {
      seen.push(request.headers.connection);
      response.end();
    });
    let resolved = 0;
    const { fetch, url } = local(port, {
      resolve: async () => {
        resolved += 1;
        return ['127.0.0.1'];
      },
    });
    await fetch(url, post);
    await fetch(url, post);
    expect([resolved, seen]).toEqual([2, ['close', 'close']]);
  });

  it('pays no attention to proxy variables', async () => {
    const before = { ...process.env };
    Object.assign(process.env, {
      http_proxy: 'http://127.0.0.1:9',
      HTTP_PROXY: 'http://127.0.0.1:9',
      ALL_PROXY: 'http://127.0.0.1:9',
    });
    cleanups.push(() => {
      for (const name of ['http_proxy', 'HTTP_PROXY', 'ALL_PROXY'])
        if (before[name] === undefined) delete process.env[name];
        else process.env[name] = before[name];
    });
    const { fetch, url } = local(await serve((_request, response) => void response.end('direct')));
    expect((await fetch(url, post)).body.toString()).toBe('direct');
  });
});

describe('where a connection may go', () => {
  it.each([
    'http://127.0.0.1/',
    'http://127.1/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://0177.0.0.1/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://10.0.0.1/',
    'http://169.254.169.254/latest',
    'http://192.168.0.1/',
    'http://[fd00::1]/',
    'http://0.0.0.0/',
    'https://127.0.0.1/',
    'http://[64:ff9b::7f00:1]/',
  ])('refuses the literal %s without opening a connection', async (url) => {
    const opened: string[] = [];
    const fetch = guarded({ resolve: async () => [PUBLIC], open: recording(1, opened) });
    await expect(fetch(url, post)).rejects.toEqual(fault('forbidden_address', true));
    expect(opened).toEqual([]);
  });

  it.each([
    ['a private answer', ['10.0.0.5']],
    ['one private answer among public ones', [PUBLIC, '1.1.1.1', '192.168.1.1']],
    ['a private IPv6 answer', [PUBLIC, 'fd00::1']],
    ['loopback mapped into IPv6', ['::ffff:127.0.0.1']],
    ['an answer in 6to4', ['2002:7f00:1::1']],
    ['more than 32 answers', Array.from({ length: 33 }, (_, index) => `93.184.215.${index + 1}`)],
  ])('refuses a name with %s', async (_name, answers) => {
    const opened: string[] = [];
    const fetch = guarded({ resolve: async () => answers, open: recording(1, opened) });
    await expect(fetch('http://hooks.test.example/', post)).rejects.toEqual(fault('forbidden_address', true));
    expect(opened).toEqual([]);
  });

  it('connects to the lowest of the addresses it judged, IPv4 first', async () => {
    const opened: string[] = [];
    const port = await serve((_request, response) => void response.end());
    const resolve = async () => ['2606:4700::1', '93.184.216.34', PUBLIC, PUBLIC];
    await guarded({ resolve, open: recording(port, opened) })('http://hooks.test.example/', post);
    expect(opened).toEqual([`${PUBLIC}:`]);
  });

  it('DNS rebinding: a name that was public and turns private is refused the second time, and asked once per connection', async () => {
    const opened: string[] = [];
    const port = await serve((_request, response) => void response.end());
    const answers = [[PUBLIC], ['127.0.0.1']];
    let asked = 0;
    const fetch = guarded({ resolve: async () => answers[asked++] ?? ['127.0.0.1'], open: recording(port, opened) });
    expect((await fetch('http://rebind.test.example/', post)).status).toBe(200);
    await expect(fetch('http://rebind.test.example/', post)).rejects.toEqual(fault('forbidden_address', true));
    expect([asked, opened]).toEqual([2, [`${PUBLIC}:`]]);
  });

  it('takes a private address for a listed host and port only', async () => {
    const port = await serve((_request, response) => void response.end());
    const fetch = guarded({ allowPrivate: [`127.0.0.1:${port}`], resolve: async () => ['127.0.0.1'] });
    expect((await fetch(`http://127.0.0.1:${port}/`, post)).status).toBe(200);
    await expect(fetch(`http://other.example:${port}/`, post)).rejects.toEqual(fault('forbidden_address', true));
    await expect(fetch(`http://127.0.0.1:${port + 1}/`, post)).rejects.toEqual(fault('forbidden_address', true));
  });

  it('refuses other schemes', async () => {
    await expect(guarded({})('file:///etc/passwd', post)).rejects.toEqual(fault('forbidden_address', true));
  });
});

describe('names that cannot be resolved may be tried again', () => {
  it.each([
    ['no answer', async () => []],
    ['a failing resolver', () => Promise.reject(new Error('ENOTFOUND'))],
    ['an answer that is no address', async () => ['evil.example']],
  ])('%s', async (_name, resolve) => {
    await expect(guarded({ resolve })('http://hooks.test.example/', post)).rejects.toEqual(fault('dns_failed', false));
  });
  it('a resolver that does not answer in time', async () => {
    const fetch = guarded({ resolve: () => new Promise(() => undefined), limits: { dnsMs: 20 } });
    await expect(fetch('http://hooks.test.example/', post)).rejects.toEqual(fault('dns_failed', false));
  });
});

describe('of all statuses only a 2xx is a success', () => {
  it.each([
    [200, null, false],
    [204, null, false],
    [301, 'redirected', true],
    [302, 'redirected', true],
    [303, 'redirected', true],
    [304, 'redirected', true],
    [307, 'redirected', true],
    [308, 'redirected', true],
    [400, 'refused', true],
    [401, 'refused', true],
    [404, 'refused', true],
    [410, 'refused', true],
    [425, 'refused', true],
    [408, 'unavailable', false],
    [429, 'unavailable', false],
    [500, 'unavailable', false],
    [502, 'unavailable', false],
    [503, 'unavailable', false],
    [504, 'unavailable', false],
  ] as const)('%i: %s, final %s', async (status, name, final) => {
    const paths: (string | undefined)[] = [];
    const port = await serve((request, response) => {
      paths.push(request.url);
      response.writeHead(status, { location: '/elsewhere' }).end();
    });
    const { fetch, url } = local(port);
    const sent = fetch(url, post);
    if (name === null) expect((await sent).status).toBe(status);
    else await expect(sent).rejects.toEqual(expect.objectContaining({ fault: name, final, status }));
    expect(paths).toEqual(['/hil']);
  });
});

describe('bounds of a request', () => {
  it('sends bodies up to 65,536 bytes, counted as bytes', async () => {
    let received = 0;
    const port = await serve((request, response) => {
      request.on('data', (chunk: Buffer) => (received += chunk.length));
      request.on('end', () => response.end());
    });
    const { fetch, url } = local(port);
    expect((await fetch(url, { method: 'POST', body: 'x'.repeat(65_536) })).status).toBe(200);
    expect(received).toBe(65_536);
    await expect(fetch(url, { method: 'POST', body: 'x'.repeat(65_537) })).rejects.toEqual(
      fault('request_too_large', true),
    );
    await expect(fetch(url, { method: 'POST', body: 'é'.repeat(32_769) })).rejects.toEqual(
      fault('request_too_large', true),
    );
    expect(received).toBe(65_536);
  });

  it('reads answers up to 65,536 bytes, and stops an endless one', async () => {
    const port = await serve((request, response) => {
      if (request.url === '/fits') return void response.end('x'.repeat(65_536));
      const more = (): void => {
        while (response.write('x'.repeat(16_384)));
        response.once('drain', more);
      };
      more();
    });
    const { fetch, url } = local(port);
    expect((await fetch(new URL('/fits', url), post)).body).toHaveLength(65_536);
    await expect(fetch(url, post)).rejects.toEqual(fault('response_too_large', true));
  });

  it('ends after the whole time, silent or dripping, and may be tried again', async () => {
    const port = await serve((request, response) => {
      if (request.url !== '/drip') return;
      const timer = setInterval(() => response.write('.'), 5);
      response.on('close', () => clearInterval(timer));
    });
    const { fetch, url } = local(port, { limits: { totalMs: 100 } });
    await expect(fetch(url, post)).rejects.toEqual(fault('timed_out', false));
    await expect(fetch(new URL('/drip', url), post)).rejects.toEqual(fault('timed_out', false));
  });

  it('reports a refused and a broken connection as retryable', async () => {
    const port = await serve((request) => void request.socket.destroy());
    const { fetch, url } = local(port);
    await expect(fetch(url, post)).rejects.toEqual(fault('connection_failed', false));
    const closed = await serve(() => undefined);
    const gone = local(closed);
    await cleanups.pop()?.();
    await cleanups.pop()?.();
    await expect(gone.fetch(gone.url, post)).rejects.toEqual(fault('connection_failed', false));
  });
});

describe('https keeps the name', () => {
  let authority: Credential;
  let leaf: Credential;
  beforeAll(async () => {
    const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
    authority = await createAuthority('gate.local', validity);
    leaf = await issueLeaf(authority, {
      ...validity,
      commonName: 'hooks',
      spiffe: 'spiffe://gate.local/service/hooks',
      hosts: ['hooks.test.example'],
      usages: ['server'],
    });
  });
  const tlsServer = (names: (string | false | undefined)[]) =>
    listening(
      createTlsServer(leaf, (request, response) => {
        names.push((request.socket as TLSSocket & { servername?: string }).servername);
        response.end('ok');
      }) as unknown as Server,
    );

  it('sends the name as SNI and checks the certificate against it', async () => {
    const names: (string | false | undefined)[] = [];
    const port = await tlsServer(names);
    const { fetch } = local(port, { ca: authority.cert });
    expect((await fetch(`https://hooks.test.example:${port}/`, post)).body.toString()).toBe('ok');
    expect(names).toEqual(['hooks.test.example']);
  });

  it('refuses a certificate of another name, and one nobody vouches for', async () => {
    const names: (string | false | undefined)[] = [];
    const port = await tlsServer(names);
    const allowPrivate = [`other.test.example:${port}`, `hooks.test.example:${port}`];
    const resolve = async () => ['127.0.0.1'];
    await expect(
      guarded({ allowPrivate, resolve, ca: authority.cert })(`https://other.test.example:${port}/`, post),
    ).rejects.toEqual(fault('connection_failed', false));
    await expect(guarded({ allowPrivate, resolve })(`https://hooks.test.example:${port}/`, post)).rejects.toEqual(
      fault('connection_failed', false),
    );
    expect(names).toEqual([]);
  });
});
