import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pricesOf, readUpstreams, upstreamsFault, upstreamsShown } from './upstreams.js';
import { readLiteConfig } from './lite.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gate-upstreams-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const written = (content: unknown): string => {
  const file = join(folder, 'upstreams.json');
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
};
const read = (...upstreams: readonly unknown[]) => readUpstreams(written({ upstreams }));
const BANK = { name: 'bank', url: 'https://bank.example.net/mcp' };
const OAUTH = {
  kind: 'client_credentials',
  issuer: 'https://id.example.net',
  client_id: 'gate',
  client_secret: { env: 'BANK_SECRET' },
};

describe('the file of several upstreams', () => {
  it('names an address or a command each; its name is the prefix unless it has another one', () => {
    expect(
      read(
        { ...BANK, timeout_seconds: 5, credentials: { kind: 'header', value: { env: 'BANK_TOKEN' } } },
        { name: 'files', prefix: 'fs', command: ['node', 'server.mjs'], env: { ROOT: { value: '/srv' } } },
      ),
    ).toEqual([
      {
        name: 'bank',
        prefix: 'bank',
        url: BANK.url,
        timeoutMs: 5_000,
        priceMicros: 0,
        toolPrices: {},
        credentials: { kind: 'header', header: 'authorization', value: { env: 'BANK_TOKEN' } },
      },
      {
        name: 'files',
        prefix: 'fs',
        timeoutMs: undefined,
        priceMicros: 0,
        toolPrices: {},
        command: ['node', 'server.mjs'],
        env: { ROOT: { value: '/srv' } },
      },
    ]);
  });

  it('says what proves an upstream by certificates, and that one is another Gate', () => {
    const [one] = read({ ...BANK, tls: { ca_file: 'ca.pem' }, gate: { trust_domain: 'partner.example' } });
    expect(one).toMatchObject({ tls: { ca_file: 'ca.pem' }, gate: { trust_domain: 'partner.example' } });
    const tools = { name: 'files', command: ['node'] };
    for (const [entry, why] of [
      [{ ...BANK, tls: {} }, 'upstreams[0].tls: names no file'],
      [{ ...BANK, tls: { cert_file: 'a.pem' } }, 'upstreams[0].tls: has both'],
      [{ ...BANK, gate: { trust_domain: 'Partner' } }, 'upstreams[0].gate.trust_domain: must be'],
      [{ ...BANK, url: 'http://localhost/mcp', gate: { trust_domain: 'p' } }, 'upstreams[0].url: must be https'],
      [{ ...tools, tls: { ca_file: 'ca.pem' } }, 'upstreams[0].tls: is only for a `url`'],
      [{ ...tools, gate: { trust_domain: 'p' } }, 'upstreams[0].gate: is only for a `url`'],
    ] as const)
      expect(() => read(entry)).toThrow(why);
  });

  it('says what a call of a tool costs, by the upstream’s own names, and all others of it', () => {
    const priceOf = pricesOf(
      read(
        { ...BANK, price_micros: 200, tool_prices_micros: { wire_transfer: 5_000, get_balance: 0 } },
        { name: 'files', prefix: 'fs', command: ['node', 'server.mjs'] },
      ),
    );
    expect(
      ['bank__wire_transfer', 'bank__get_balance', 'bank__anything', 'fs__read', 'wire_transfer', 'other__x'].map(
        priceOf,
      ),
    ).toEqual([5_000, 0, 200, 0, 0, 0]);
  });

  it.each([
    ['a price below nothing', { ...BANK, price_micros: -1 }, /^upstreams\[0\]\.price_micros: /],
    ['a part of a micro-unit', { ...BANK, price_micros: 0.5 }, /^upstreams\[0\]\.price_micros: /],
    ['a price as a text', { ...BANK, tool_prices_micros: { pay: '5' } }, /^upstreams\[0\]\.tool_prices_micros/],
  ])('is refused with the place of the fault: %s', (_what, entry, message) => {
    expect(() => read(entry)).toThrow(message);
  });

  it.each([
    ['no JSON', '{', /the file is not JSON/],
    ['a key twice', '{"upstreams":[],"upstreams":[]}', /duplicate key/],
    ['no list', {}, /^upstreams: /],
    ['nobody', { upstreams: [] }, /^upstreams: /],
    ['an unknown member', { upstreams: [BANK], more: 1 }, /^the file: .*more/],
  ])('is refused with the place of the fault: %s', (_what, content, message) => {
    expect(() => readUpstreams(written(content))).toThrow(message);
  });

  it.each([
    ['no name', { url: BANK.url }, /^upstreams\[1\]\.name: /],
    ['a name in capitals', { ...BANK, name: 'Other' }, /^upstreams\[1\]\.name: must be lower-case/],
    ['a prefix with a separator', { ...BANK, name: 'x', prefix: 'a__b' }, /^upstreams\[1\]\.prefix: /],
    ['neither address nor command', { name: 'x' }, /^upstreams\[1\]: has either `url` or `command`/],
    ['both', { ...BANK, name: 'x', command: ['node'] }, /^upstreams\[1\]: has either/],
    ['another protocol', { name: 'x', url: 'ftp://x/' }, /^upstreams\[1\]\.url: must be an http/],
    ['user info', { name: 'x', url: 'https://a:b@x/' }, /^upstreams\[1\]\.url: must not carry user info/],
    ['an unknown member', { ...BANK, name: 'x', key: 'k' }, /^upstreams\[1\]: .*key/],
    [
      'credentials for a command',
      { name: 'x', command: ['a'], credentials: OAUTH },
      /^upstreams\[1\]\.credentials: is only/,
    ],
    [
      'an environment for an address',
      { ...BANK, name: 'x', env: { A: { value: 'b' } } },
      /^upstreams\[1\]\.env: is only/,
    ],
    ['a time of nothing', { ...BANK, name: 'x', timeout_seconds: 0 }, /^upstreams\[1\]\.timeout_seconds: /],
    [
      'a secret in the file itself',
      { ...BANK, name: 'x', credentials: { kind: 'header', value: 'geheim' } },
      /^upstreams\[1\]\.credentials\.value: (?!.*geheim)/,
    ],
    [
      'a secret in two places',
      { ...BANK, name: 'x', credentials: { kind: 'header', value: { env: 'A', file: '/b' } } },
      /^upstreams\[1\]\.credentials\.value: has either `env` or `file`/,
    ],
    [
      'a secret of Gate’s own',
      { ...BANK, name: 'x', credentials: { kind: 'header', value: { env: 'GATE_LITE_TOKEN' } } },
      /^upstreams\[1\]\.credentials\.value\.env: Gate's own variables/,
    ],
    [
      'a header of the protocol',
      { ...BANK, name: 'x', credentials: { kind: 'header', header: 'Mcp-Session-Id', value: { env: 'A' } } },
      /^upstreams\[1\]\.credentials\.header: /,
    ],
    [
      'a secret that would go to an issuer in clear',
      { ...BANK, name: 'x', credentials: { ...OAUTH, issuer: 'http://id.example.net' } },
      /^upstreams\[1\]\.credentials\.issuer: must be https/,
    ],
    [
      'an exchange of nothing',
      { ...BANK, name: 'x', credentials: { ...OAUTH, kind: 'token_exchange' } },
      /^upstreams\[1\]\.credentials\.subject_token: /,
    ],
    [
      'a kind of credentials that Gate does not have',
      { ...BANK, name: 'x', credentials: { kind: 'basic' } },
      /^upstreams\[1\]\.credentials\.kind: /,
    ],
    [
      'Gate’s variables for a command',
      { name: 'x', command: ['a'], env: { GATE_MODE: { value: 'b' } } },
      /^upstreams\[1\]\.env/,
    ],
  ])('is refused with the place of the fault in an entry: %s', (_what, entry, message) => {
    expect(() => read(BANK, entry)).toThrow(message);
  });

  it.each([
    ['name', { ...BANK, prefix: 'other' }, 'upstreams[1].name: looks like upstreams[0].name'],
    ['name', { ...BANK, name: 'b-ank', prefix: 'other' }, 'upstreams[1].name: looks like upstreams[0].name'],
    ['prefix', { ...BANK, name: 'other', prefix: 'bank' }, 'upstreams[1].prefix: looks like upstreams[0].prefix'],
  ])('refuses a %s that looks like another one', (_of, entry, message) => {
    expect(() => read(BANK, entry)).toThrow(message);
  });

  it('that is not there is a fault that names it', () => {
    expect(() => readUpstreams(join(folder, 'none.json'))).toThrow('the file cannot be read (ENOENT)');
  });

  it('is shown without queries and arguments, which may be secret', () => {
    const shown = upstreamsShown(
      read({ ...BANK, url: `${BANK.url}?key=geheim` }, { name: 'files', command: ['node', '--token=geheim'] }),
    );
    expect(shown).toBe('bank__* https://bank.example.net/mcp, files__* node');
  });

  it('stands instead of the address of one', () => {
    const upstreams = read(BANK);
    expect(upstreamsFault({ upstreams })).toBeNull();
    expect(upstreamsFault({ upstreams, upstreamUrl: 'http://x/' })).toMatch(/^GATE_UPSTREAMS: the address of one/);
    expect(upstreamsFault({ upstreams, upstreamApiKey: 'key-of-one' })).toMatch(/^GATE_UPSTREAMS: the key of one/);
    expect(() =>
      readLiteConfig({ GATE_UPSTREAMS: written({ upstreams: [BANK] }), GATE_LITE_UPSTREAM_URL: 'http://x/' }),
    ).toThrow(/GATE_UPSTREAMS: the address of one/);
  });

  it('is refused at the start of lite with the place of the fault', () => {
    expect(() => readLiteConfig({ GATE_UPSTREAMS: written({ upstreams: [{ ...BANK, name: '' }] }) })).toThrow(
      /GATE_UPSTREAMS: upstreams\[0\]\.name: /,
    );
  });
});
