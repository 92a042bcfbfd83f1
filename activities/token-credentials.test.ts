import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../test/support/waiting.js';
import { startTokenIssuer, type TokenIssuer } from '../test/support/token-issuer.js';
import { type Credentials, CredentialsMissing } from './upstream-credentials.js';
import { tokenCredentials, type TokenCredentialsOptions } from './token-credentials.js';

const SECRET = 'secret-of-gate';
let issuer: TokenIssuer;
let nowMs: number;
const opened: Credentials[] = [];
beforeEach(async () => {
  issuer = await startTokenIssuer({ id: 'gate', secret: SECRET });
  nowMs = 0;
});
afterEach(async () => {
  for (const credentials of opened.splice(0)) await credentials.close();
  await issuer.close();
});

function credentials(more: Partial<TokenCredentialsOptions> = {}): Credentials {
  const made = tokenCredentials({
    issuer: issuer.issuer,
    clientId: 'gate',
    clientSecret: () => SECRET,
    clientAuth: 'basic',
    now: () => nowMs,
    ...more,
  });
  opened.push(made);
  return made;
}
const lastAsked = () => Object.fromEntries(issuer.asked.at(-1) ?? []);

describe('a token by client credentials', () => {
  it('is asked for where the issuer’s own metadata says, with scope, audience and resource', async () => {
    const made = credentials({ scope: 'tools:call', audience: 'bank', resource: 'https://bank.example.net/' });
    expect(await made.headers()).toEqual({ authorization: 'Bearer token-1-for-bank' });
    expect(lastAsked()).toEqual({
      grant_type: 'client_credentials',
      scope: 'tools:call',
      audience: 'bank',
      resource: 'https://bank.example.net/',
    });
  });

  it('is asked for once, however many calls need it, and again shortly before it ends', async () => {
    const made = credentials();
    const tokens = await Promise.all([made.headers(), made.headers(), made.headers()]);
    expect(new Set(tokens.map(({ authorization }) => authorization)).size).toBe(1);
    nowMs = 569_999;
    await made.headers();
    expect(issuer.asked).toHaveLength(1);
    nowMs = 570_000;
    // Nobody waits for the next one while the first still holds.
    expect(await made.headers()).toEqual({ authorization: 'Bearer token-1-for-anybody' });
    await eventually('the next one is used', async () => {
      const { authorization } = await made.headers();
      return authorization === 'Bearer token-2-for-anybody';
    });
    expect(issuer.asked).toHaveLength(2);
  });

  it('is waited for by nobody while the one before holds, also where the issuer hangs', async () => {
    const made = credentials({ tokenEndpoint: `${issuer.issuer}/token` });
    await made.headers();
    issuer.fault = 'hangs';
    nowMs = 570_000;
    expect(await made.headers()).toEqual({ authorization: 'Bearer token-1-for-anybody' });
    await eventually('the issuer is asked for the next one', () => issuer.asked.length === 2);
    nowMs = 599_999;
    expect(await made.headers()).toEqual({ authorization: 'Bearer token-1-for-anybody' });
    expect(issuer.asked).toHaveLength(2);
  });

  it('is used until its end where the issuer does not give the next one, and not after it', async () => {
    const made = credentials({ tokenEndpoint: `${issuer.issuer}/token` });
    const first = { authorization: 'Bearer token-1-for-anybody' };
    await made.headers();
    issuer.fault = 'answers 401';
    nowMs = 570_000;
    for (let call = 0; call < 3; call += 1) expect(await made.headers()).toEqual(first);
    await eventually('the issuer is asked', () => issuer.asked.length === 2);
    // It is not asked by every call.
    expect(await made.headers()).toEqual(first);
    expect(issuer.asked).toHaveLength(2);
    nowMs = 599_999;
    expect(await made.headers()).toEqual(first);
    nowMs = 600_000;
    await expect(made.headers()).rejects.toThrow('HTTP 401');
    issuer.fault = null;
    nowMs = 630_000;
    await eventually('the next one is used', async () => {
      const { authorization } = await made.headers().catch(() => ({ authorization: '' }));
      return authorization === 'Bearer token-2-for-anybody';
    });
  });

  it('is not used where the upstream refused it, also while the issuer is away', async () => {
    const made = credentials({ tokenEndpoint: `${issuer.issuer}/token` });
    made.refused(await made.headers());
    issuer.fault = 'answers 401';
    await expect(made.headers()).rejects.toThrow('HTTP 401');
  });

  it('that the upstream refused is not used again', async () => {
    const made = credentials();
    made.refused(await made.headers());
    // The answer that refused it may repeat it.
    expect(made.secrets()).toEqual(['token-1-for-anybody']);
    expect(await made.headers()).toEqual({ authorization: 'Bearer token-2-for-anybody' });
    expect(made.secrets()).toEqual(['token-2-for-anybody', 'token-1-for-anybody']);
  });

  it('is not thrown away by what was answered to an earlier one, or to a request without any', async () => {
    const made = credentials();
    const first = await made.headers();
    made.refused(first);
    const second = await made.headers();
    nowMs = 40_000;
    made.refused(first);
    made.refused({});
    expect(await made.headers()).toEqual(second);
    expect(issuer.asked).toHaveLength(2);
  });

  it('is asked for, and thrown away, by no clock that was set back later', async () => {
    nowMs = 7_200_000;
    const made = credentials({ tokenEndpoint: `${issuer.issuer}/token` });
    issuer.fault = 'answers 401';
    await expect(made.headers()).rejects.toThrow('HTTP 401');
    issuer.fault = null;
    await expect(made.headers()).rejects.toThrow('HTTP 401');
    nowMs -= 3_600_000;
    made.refused(await made.headers());
    await made.headers();
    nowMs -= 1_800_000;
    const before = issuer.asked.length;
    made.refused(await made.headers());
    await made.headers();
    expect(issuer.asked).toHaveLength(before + 1);
  });

  it('is thrown away at most once in 30 s, and more rarely the more of the refused ones still hold', async () => {
    issuer.seconds = 86_400;
    const made = credentials();
    const thrownAwayMs: number[] = [];
    // A tool that is called each second, and refuses whatever it is told.
    for (nowMs = 0; nowMs < 1_000_000; nowMs += 1_000) {
      const before = issuer.asked.length;
      made.refused(await made.headers());
      await made.headers();
      if (issuer.asked.length > Math.max(before, 1)) thrownAwayMs.push(nowMs);
    }
    expect(thrownAwayMs).toEqual([0, 30_000, 90_000, 210_000, 450_000, 930_000]);
  });

  it('is hidden as long as it holds, and while an answer to a request with it may come, however many came after it', async () => {
    issuer.seconds = 86_400;
    const made = credentials();
    for (nowMs = 0; nowMs < 86_400_000; nowMs += 600_000) made.refused(await made.headers());
    expect(issuer.asked.length).toBeGreaterThan(9);
    expect(issuer.asked.length).toBeLessThan(64);
    expect(made.secrets()).toHaveLength(issuer.asked.length);
    expect(made.secrets()).toContain('token-1-for-anybody');
    nowMs = 86_699_999;
    expect(made.secrets()).toContain('token-1-for-anybody');
    nowMs = 86_700_000;
    expect(made.secrets()).not.toContain('token-1-for-anybody');
  });

  it('goes to an endpoint that was written down, without metadata', async () => {
    const made = credentials({ tokenEndpoint: `${issuer.issuer}/token` });
    expect(await made.headers()).toEqual({ authorization: 'Bearer token-1-for-anybody' });
  });

  it('reads a secret that was rotated', async () => {
    let secret = 'another one';
    const made = credentials({ clientSecret: () => secret });
    await expect(made.headers()).rejects.toThrow(CredentialsMissing);
    secret = SECRET;
    nowMs = 1_000;
    expect(await made.headers()).toEqual({ authorization: 'Bearer token-1-for-anybody' });
  });
});

describe('a token by exchange (RFC 8693)', () => {
  it('is what the subject token is exchanged for, as that stands now', async () => {
    let subject = 'workload-1';
    const made = credentials({
      audience: 'bank',
      subject: { token: () => subject, type: 'urn:ietf:params:oauth:token-type:jwt' },
    });
    expect(await made.headers()).toEqual({ authorization: 'Bearer token-1-for-bank' });
    expect(lastAsked()).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      audience: 'bank',
      subject_token: 'workload-1',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    });
    subject = 'workload-2';
    nowMs = 600_000;
    await made.headers();
    expect(lastAsked()['subject_token']).toBe('workload-2');
  });
});

describe('without a token nothing is sent, and nobody learns a secret', () => {
  it.each([
    ['hangs up', 'no credentials for the upstream: the issuer cannot be asked (connection_failed)'],
    ['answers 503', 'no credentials for the upstream: the issuer answered HTTP 503'],
    ['answers 401', 'no credentials for the upstream: the issuer answered HTTP 401'],
    ['leads away', 'no credentials for the upstream: the issuer answered HTTP 302'],
    ['gives no token', 'no credentials for the upstream: the issuer gave something that is no bearer token'],
  ] as const)('an issuer that %s', async (fault, message) => {
    issuer.fault = fault;
    const refused = await credentials()
      .headers()
      .catch((error: unknown) => error as Error);
    expect(refused).toBeInstanceOf(CredentialsMissing);
    expect((refused as Error).message).toBe(message);
    expect(`${(refused as Error).stack}${JSON.stringify(refused)}`).not.toContain(SECRET);
  });

  it('an issuer that refuses is not asked by every call, and is asked again after a moment', async () => {
    issuer.fault = 'answers 401';
    const made = credentials({ tokenEndpoint: `${issuer.issuer}/token` });
    for (let call = 0; call < 5; call += 1) await expect(made.headers()).rejects.toThrow('HTTP 401');
    expect(issuer.asked).toHaveLength(1);
    issuer.fault = null;
    nowMs = 1_000;
    expect(await made.headers()).toMatchObject({ authorization: expect.stringContaining('token-1') });
  });

  describe('an issuer that takes long until it has none', () => {
    let open: ServerResponse[];
    let slow: { readonly url: string; close(): Promise<void> };
    beforeEach(async () => {
      open = [];
      const server = createServer((request, response) => {
        request.resume();
        open.push(response);
      });
      await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
      slow = {
        url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        async close() {
          server.closeAllConnections();
          await new Promise((closed) => server.close(closed));
        },
      };
    });
    afterEach(() => slow.close());
    const made = () => credentials({ issuer: slow.url, tokenEndpoint: `${slow.url}/token` });
    /** The issuer answers what it is asked now after so long. */
    async function answered(asks: number, tookMs: number, token?: string, status = 503) {
      await eventually('the issuer is asked', () => open.length === asks);
      nowMs += tookMs;
      const response = open[asks - 1] as ServerResponse;
      if (token === undefined) return response.writeHead(status).end();
      const body = JSON.stringify({ access_token: token, token_type: 'Bearer', expires_in: 600 });
      return response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    }

    it('is asked again after pauses that double from 2 s to 30 s; whoever comes meanwhile is refused at once', async () => {
      const slowly = made();
      for (const [at, pauseMs] of [2_000, 4_000, 8_000, 16_000, 30_000, 30_000].entries()) {
        const status = 510 + at;
        void slowly.headers().catch(() => undefined);
        await answered(at + 1, 5_000, undefined, status);
        await eventually('the answer is noted', () =>
          slowly.headers().then(
            () => false,
            ({ message }: Error) => message.endsWith(`HTTP ${status}`),
          ),
        );
        nowMs += pauseMs - 1;
        await expect(slowly.headers()).rejects.toThrow(`HTTP ${status}`);
        expect(open).toHaveLength(at + 1);
        nowMs += 1;
      }
    });

    it('is waited for no longer than half a second the next time', async () => {
      const slowly = made();
      await Promise.all([expect(slowly.headers()).rejects.toThrow('HTTP 503'), answered(1, 5_000)]);
      nowMs += 2_000;
      await expect(slowly.headers()).rejects.toThrow('HTTP 503');
      await eventually('it is asked', () => open.length === 2);
      expect((open[1] as ServerResponse).destroyed).toBe(false);
      // What it then gives is there for the next one.
      await answered(2, 1_000, 'late-token');
      await eventually('the token is used', () =>
        slowly.headers().then(
          ({ authorization }) => authorization,
          () => '',
        ),
      );
      expect(await slowly.headers()).toEqual({ authorization: 'Bearer late-token' });
    });

    it('is no such one where it refuses at once, or gave a token since', async () => {
      const slowly = made();
      await Promise.all([expect(slowly.headers()).rejects.toThrow('HTTP 503'), answered(1, 501)]);
      nowMs += 2_000;
      await Promise.all([slowly.headers().catch(() => undefined), answered(2, 0, 'first-token')]);
      await eventually('the token is used', () =>
        slowly.headers().then(
          () => true,
          () => false,
        ),
      );
      nowMs += 600_000;
      await Promise.all([expect(slowly.headers()).rejects.toThrow('HTTP 503'), answered(3, 500)]);
      nowMs += 1_000;
      await Promise.all([expect(slowly.headers()).rejects.toThrow('HTTP 503'), answered(4, 501)]);
      nowMs += 1_999;
      await expect(slowly.headers()).rejects.toThrow('HTTP 503');
      expect(open).toHaveLength(4);
      nowMs += 1;
      void slowly.headers().catch(() => undefined);
      await eventually('it is asked again', () => open.length === 5);
    });
  });
});
