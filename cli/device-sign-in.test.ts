import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { revokeToken, signInByDevice } from './device-sign-in.js';

const TOKEN = `gate_cli_${'t'.repeat(43)}`;
const OFFERED = {
  device_code: 'device-code',
  user_code: 'WDJB-MJHT',
  expires_in: 600,
  interval: 5,
};
type Told = { readonly status?: number; readonly body?: unknown; readonly text?: string; readonly location?: string };

describe('signing in by a device grant', () => {
  let server: Server;
  let origin: string;
  let asked: string[];
  let pauses: number[];
  let now: number;
  /** What is answered at each path; of several answers each once, and the last one from then on. */
  let answers: Record<string, Told | Told[]>;

  beforeEach(async () => {
    asked = [];
    pauses = [];
    now = 0;
    const told = async (request: IncomingMessage): Promise<Told> => {
      const path = request.url ?? '';
      asked.push(`${request.method} ${path} ${await text(request)}`.trim());
      const answer = answers[path] ?? { status: 404, body: { error: 'not_found', reason: 'no' } };
      if (!Array.isArray(answer)) return answer;
      return (answer.length > 1 ? answer.shift() : answer[0]) ?? {};
    };
    server = createServer((request, response) => {
      void told(request).then(({ status = 200, body = {}, text: raw, location }) =>
        response.writeHead(status, { ...(location && { location }) }).end(raw ?? JSON.stringify(body)),
      );
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    answers = {
      '/.well-known/oauth-authorization-server': { body: metadata() },
      '/begin': { body: offered() },
      '/token': [pending(), { body: { access_token: TOKEN, token_type: 'Bearer', scope: 'gate.operator' } }],
      '/revoke': {},
    };
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  const metadata = (over = {}) => ({
    issuer: origin,
    device_authorization_endpoint: `${origin}/begin`,
    token_endpoint: `${origin}/token`,
    revocation_endpoint: `${origin}/revoke`,
    ...over,
  });
  const offered = (over = {}) => ({
    ...OFFERED,
    verification_uri: `${origin}/device`,
    verification_uri_complete: `${origin}/device?user_code=WDJB-MJHT`,
    ...over,
  });
  const refusal = (error: string, status = 400): Told => ({ status, body: { error, reason: 'words' } });
  const pending = () => refusal('authorization_pending');
  const notes: string[] = [];
  const signIn = () =>
    signInByDevice(origin, {
      show: () => undefined,
      pause: (ms) => {
        pauses.push(ms / 1_000);
        now += ms;
        return Promise.resolve();
      },
      note: (words) => void notes.push(words),
      now: () => now,
    });

  it('asks until somebody agreed, as often as it was told', async () => {
    expect(await signIn()).toBe(TOKEN);
    expect(asked).toEqual([
      'GET /.well-known/oauth-authorization-server',
      'POST /begin client_id=gate-operator-cli&scope=gate.operator',
      ...[1, 2].map(
        () =>
          'POST /token client_id=gate-operator-cli&grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code=device-code',
      ),
    ]);
    expect(pauses).toEqual([5, 5]);
  });

  it('asks more slowly once it is told so', async () => {
    answers['/token'] = [refusal('slow_down'), refusal('slow_down'), pending(), refusal('access_denied')];
    await expect(signIn()).rejects.toThrow('access_denied');
    expect(pauses).toEqual([5, 10, 15, 15]);
  });

  it('goes on where the console is away for a moment', async () => {
    answers['/token'] = [
      refusal('store_unavailable', 503),
      refusal('rate_limited', 429),
      { body: { access_token: TOKEN, token_type: 'bearer', scope: 'gate.operator' } },
    ];
    expect(await signIn()).toBe(TOKEN);
    expect(notes.splice(0)).toEqual([
      expect.stringContaining('store_unavailable'),
      expect.stringContaining('rate_limited'),
    ]);
  });

  it.each([
    ['access_denied', 'access_denied: refused at the console', 3],
    ['expired_token', 'expired_token: nobody agreed in time', 3],
    ['invalid_grant', 'invalid_grant: the code was used by somebody else', 3],
    ['server_on_fire', 'unknown_oauth_error', 5],
    ['constructor', 'unknown_oauth_error', 5],
  ])('ends at %s', async (error, words, exitCode) => {
    answers['/token'] = refusal(error);
    await expect(signIn()).rejects.toMatchObject({ message: expect.stringContaining(words), exitCode });
  });

  it('ends when the time of the code is over, whatever the console says', async () => {
    answers['/begin'] = { body: offered({ expires_in: 11 }) };
    answers['/token'] = pending();
    await expect(signIn()).rejects.toThrow('expired_token');
    expect(pauses).toEqual([5, 5, 5]);
  });

  it('asks 180 times at most', async () => {
    answers['/begin'] = { body: offered({ expires_in: 900, interval: 1 }) };
    answers['/token'] = pending();
    await expect(signIn()).rejects.toMatchObject({ message: expect.stringContaining('poll_limit'), exitCode: 3 });
    expect(pauses).toHaveLength(180);
  });

  it.each(['device_authorization_endpoint', 'token_endpoint', 'revocation_endpoint'])(
    'sends nothing to a %s elsewhere',
    async (endpoint) => {
      for (const elsewhere of [
        'https://evil.example/x',
        `http://localhost:${new URL(origin).port}/begin`,
        'no address',
      ]) {
        answers['/.well-known/oauth-authorization-server'] = { body: metadata({ [endpoint]: elsewhere }) };
        await expect(signIn()).rejects.toThrow('issuer_mismatch');
      }
      expect(asked.filter((one) => one.startsWith('POST'))).toEqual([]);
    },
  );

  it('shows no page elsewhere', async () => {
    for (const page of ['verification_uri', 'verification_uri_complete']) {
      answers['/begin'] = { body: offered({ [page]: 'https://evil.example/device' }) };
      await expect(signIn()).rejects.toThrow('issuer_mismatch');
    }
  });

  it('of a console that calls itself otherwise says where to sign in', async () => {
    answers['/.well-known/oauth-authorization-server'] = { body: metadata({ issuer: 'https://gate.example' }) };
    await expect(signIn()).rejects.toThrow(/^issuer_mismatch: .* login --console https:\/\/gate\.example$/);
  });

  it('takes no token for more than was asked, and ends it', async () => {
    answers['/token'] = { body: { access_token: TOKEN, token_type: 'Bearer', scope: 'gate.operator gate.agent' } };
    await expect(signIn()).rejects.toThrow('scope_mismatch');
    expect(asked.at(-1)).toBe(`POST /revoke client_id=gate-operator-cli&token=${TOKEN}`);
  });

  it.each([
    ['the metadata', '/.well-known/oauth-authorization-server', { issuer: 1 }],
    ['no code', '/begin', { interval: 5 }],
    ['an interval of an hour', '/begin', { ...OFFERED, interval: 3_600 }],
    ['a lifetime of a day', '/begin', { ...OFFERED, expires_in: 86_400 }],
    ['a code that writes on the screen', '/begin', { ...OFFERED, user_code: 'A\u001b[2JB' }],
    ['a token of another type', '/token', { access_token: TOKEN, token_type: 'MAC', scope: 'gate.operator' }],
    ['no token', '/token', {}],
  ])('is malformed_response with %s wrong', async (_, path, body) => {
    answers[path] = {
      body: { ...(path === '/begin' && { verification_uri: origin, verification_uri_complete: origin }), ...body },
    };
    await expect(signIn()).rejects.toMatchObject({
      message: expect.stringContaining('malformed_response'),
      exitCode: 5,
    });
  });

  it('is malformed_response with what is no JSON', async () => {
    answers['/begin'] = { text: '<html>' };
    await expect(signIn()).rejects.toThrow('malformed_response');
  });

  it.each([
    ['/.well-known/oauth-authorization-server', 65_537],
    ['/begin', 32_769],
    ['/token', 32_769],
  ])('reads no more of %s than %d bytes', async (path, size) => {
    answers[path] = { text: `"${'x'.repeat(size)}"` };
    await expect(signIn()).rejects.toMatchObject({
      message: expect.stringContaining('oversized_response'),
      exitCode: 5,
    });
  });

  it.each(['/.well-known/oauth-authorization-server', '/begin', '/token'])('%s leads nowhere else', async (path) => {
    answers[path] = { status: 302, location: `${origin}/revoke` };
    await expect(signIn()).rejects.toThrow('leads elsewhere');
    expect(asked.filter((one) => one.includes('/revoke'))).toEqual([]);
  });

  it('of a console that is not there, or is none of Gate, says so', async () => {
    answers['/.well-known/oauth-authorization-server'] = { status: 404, text: '<html>' };
    await expect(signIn()).rejects.toMatchObject({
      message: expect.stringContaining('no console of Gate'),
      exitCode: 5,
    });
    server.close();
    server.closeAllConnections();
    await expect(signIn()).rejects.toMatchObject({
      message: expect.stringContaining('no console answers'),
      exitCode: 5,
    });
    await expect(revokeToken(origin, TOKEN)).rejects.toThrow('no console answers');
  });
});
