import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { askAsWritten } from '../../test/support/as-written.js';
import { type ConsoleFixture, openConsole } from '../../test/support/console-over-hil.js';
import { addressAt } from './address-at.js';

const AT = 'https://ledger.test:8083';

describe('the address of a path at a neighbour', () => {
  it.each(['a', 'a b/c', '...', '..a', '%2e%2e', '%', '?x#y', "!'()*~", '\\', '^`{|}', 'ä\u202e\0', ':@'])(
    'holds a name in its own part: %j',
    (name) => {
      const path = `/audit/${encodeURIComponent(name)}`;
      expect(addressAt(AT, `${path}?tenant=a%27b'`)).toBe(`${AT}${path}?tenant=a%27b%27`);
    },
  );

  it.each([
    '/audit/.',
    '/audit/..',
    '/audit/..?tenant=acme',
    '/pending/../approval-challenge',
    '/pending/./approval-challenge',
    '/audit/%2e%2e',
    '/audit/.%2E/x',
    '/audit/a#b',
    '/audit/a\\..\\b',
    '//elsewhere.test/audit',
    'https://elsewhere.test/audit',
    'audit',
  ])('is none where a URL leads elsewhere: %s', (path) => {
    expect(() => addressAt(AT, path)).toThrow(expect.objectContaining({ code: 'not_found' }));
  });
});

describe.each(['.', '..', '%2e', '%2e%2e', '.%2E'])('by the name %s a service is asked for nothing else', (name) => {
  let fixture: ConsoleFixture;
  beforeEach(async () => {
    fixture = await openConsole();
    await fixture.service.app.listen({ host: '127.0.0.1', port: 0 });
  });
  afterEach(() => fixture.close());
  const ask = (path: string, headers: Record<string, string>, body?: string) => {
    const { port } = fixture.service.app.server.address() as AddressInfo;
    const host = `localhost:${port}`;
    const method = body === undefined ? 'GET' : 'POST';
    return askAsWritten({ port, host }, path, {
      method,
      headers: { accept: 'application/json', origin: `http://${host}`, ...headers },
      ...(body !== undefined && { body }),
    });
  };
  const nothing = ({ status, text }: { status: number; text: string }) => {
    expect([status, text]).toEqual([404, expect.stringContaining('not_found')]);
    expect(fixture.reached).toEqual([]);
  };

  it('by a passkey’s ceremony', async () => {
    const browser = await fixture.browser();
    const headers = {
      'content-type': 'application/json',
      'x-csrf-token': await browser.csrf(),
      cookie: `gate_console_session=${browser.cookie}`,
    };
    nothing(await ask(`/hil/${name}/approval-challenge`, headers, '{"decision":"approve"}'));
  });

  it('by the command line', async () => {
    const headers = { authorization: `Bearer ${await fixture.token()}` };
    nothing(await ask(`/command-line/hil/pending/${name}`, headers));
  });

  it('by a page', async () => {
    const { cookie } = await fixture.browser();
    const headers = { accept: 'text/html', cookie: `gate_console_session=${cookie}` };
    nothing(await ask(`/audit/agents/${name}/narrative`, headers));
  });
});
