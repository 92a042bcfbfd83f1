import { describe, expect, it } from '@jest/globals';
import { decoySetOf } from './decoy-readings.js';
import type { Decoy } from './decoys.js';

const decoy = (name: string, value: string | null = null, isAdvertised = false): Decoy => ({
  id: name,
  tenant: 'acme',
  name,
  kind: value === null ? 'tool' : 'value',
  value,
  isAdvertised,
  action: 'none',
  schemaJson: null,
  description: null,
});

const IBAN = 'DE89 3704 0044 0532 0130 00';
const KEY = 'AKIAIOSFODNN7EXAMPLE';
const ACCOUNT = '4929000011';
const set = decoySetOf([
  decoy('dump_secrets'),
  decoy('b_bait', null, true),
  decoy('a_bait', null, true),
  decoy('iban', IBAN),
  decoy('key', KEY),
  decoy('account', ACCOUNT),
]);
const nested = (text: string) => ({ a: [{ b: { c: [0, { d: text }] } }] });
const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('a decoy tool is found', () => {
  it.each(['dump_secrets', 'DUMP_SECRETS', 'dump%5Fsecrets', 'dump\\u005fsecrets', 'dumр_secrets'])('as %s', (name) => {
    expect(set.touched(['read_file', name], {})?.name).toBe('dump_secrets');
  });
  it('by its whole name alone', () => {
    expect(set.touched(['dump_secrets_of_gardeners', 'dump'], { tool: 'dump_secrets' })).toBeNull();
  });
});

describe('a decoy value is found', () => {
  it.each([
    ['as it is', 'iban', { to: IBAN }],
    ['without its spaces, in the other case', 'iban', { to: 'de89370400440532013000' }],
    ['with other separators', 'iban', { to: 'DE89-3704-0044-0532-0130-00' }],
    ['in a longer text', 'key', { note: `use ${KEY} for it` }],
    ['as a name', 'key', { [KEY]: true }],
    ['as a number', 'account', { to: 4_929_000_011 }],
    ['in a list of digits', 'account', { to: Array.from(ACCOUNT).map(Number) }],
    ['deep inside', 'key', nested(KEY)],
    ['in JSON in a text, twice', 'key', { body: JSON.stringify({ inner: JSON.stringify({ k: KEY }) }) }],
    ['in what only lenient readers take for JSON', 'key', { body: `{k: '${KEY}',}` }],
    ['behind very many numbers', 'key', { data: Array.from({ length: 400_000 }, () => 1), to: KEY }],
    [
      'as a number behind very many',
      'account',
      { data: [...Array.from({ length: 400_000 }, () => 'x'), 4_929_000_011] },
    ],
    ['in parts', 'iban', { to: ['DE89', '3704', '0044', '0532', '0130', '00'] }],
    [
      'in percent-encoding',
      'key',
      {
        url: `https://a.example/?k=${Array.from(KEY)
          .map((c) => `%${c.charCodeAt(0).toString(16)}`)
          .join('')}`,
      },
    ],
    [
      'with escapes',
      'key',
      {
        note: Array.from(KEY)
          .map((c) => `\\u00${c.charCodeAt(0).toString(16)}`)
          .join(''),
      },
    ],
    ['in base64', 'key', { data: base64(KEY) }],
    ['in base64 of more', 'iban', { data: base64(`pay ${IBAN} now`) }],
    ['in base64 of base64', 'key', { data: base64(base64(KEY)) }],
    ['in base64, a short one', 'account', { data: base64(`x${ACCOUNT}`) }],
    ['in hex', 'account', { data: Buffer.from(ACCOUNT).toString('hex') }],
    ['in ROT13', 'key', { note: 'NXVNVBFSBQAA7RKNZCYR is it' }],
    ['backwards', 'key', { note: Array.from(KEY).reverse().join('') }],
    ['with letters of other alphabets', 'key', { note: KEY.replaceAll('A', 'Α').replaceAll('E', 'Е') }],
    ['with invisible characters', 'key', { note: Array.from(KEY).join('\u200b') }],
  ])('%s', (_how, name, params) => {
    expect(set.touched(['pay'], params)?.name).toBe(name);
  });
  it.each([
    ['a part of it', { to: 'DE89 3704 0044 0532 0130' }],
    ['another one', { to: 'DE89 3704 0044 0532 0130 01' }],
    ['nothing', null],
  ])('not in %s', (_what, params) => {
    expect(set.touched(['pay'], params)).toBeNull();
  });
});

it('shows the advertised ones by their names', () => {
  expect(set.advertised.map(({ name }) => name)).toEqual(['a_bait', 'b_bait']);
});
