import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import Fastify from 'fastify';
import type { ServiceApp } from '../../plugins/app.js';
import { manualUrl, registerManual } from './manual.js';

describe('the page a refused client is sent to', () => {
  it('is served to everybody, as it stands in the manual', async () => {
    const app = Fastify();
    registerManual(app as unknown as ServiceApp);
    const reply = await app.inject('/docs/select-a-contract');
    expect([reply.statusCode, reply.headers['content-type']]).toEqual([200, 'text/markdown; charset=utf-8']);
    expect(reply.body).toBe(readFileSync('docs/how-to/select-a-contract.md', 'utf8'));
  });

  it.each([
    ['a name', 'gate.example:8443', 'https://gate.example:8443/docs/select-a-contract'],
    ['an IPv6 address', '[::1]:8443', 'https://[::1]:8443/docs/select-a-contract'],
    ['no host', undefined, '/docs/select-a-contract'],
    ['a path in the host', 'evil.example/x', '/docs/select-a-contract'],
    ['a user in the host', 'gate@evil.example', '/docs/select-a-contract'],
    ['a script in the host', '"><script>', '/docs/select-a-contract'],
  ])('has an address that can be opened: %s', (_name, host, url) => {
    expect(manualUrl({ protocol: 'https', headers: { host } } as never)).toBe(url);
  });

  it('lies below the public address where one is configured, whatever the caller calls it', () => {
    const request = { protocol: 'https', headers: { host: 'elsewhere.example' } } as never;
    for (const publicUrl of ['https://gate.example', 'https://gate.example/'])
      expect(manualUrl(request, publicUrl)).toBe('https://gate.example/docs/select-a-contract');
  });
});
