import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Json } from '../../contracts/json.js';
import { mask } from './mask.js';

const key = ['-----BEGIN EC PRIVATE', 'KEY-----\nMHcCAQ\n-----END EC PRIVATE', 'KEY-----'].join(' ');

describe('masking of what people read', () => {
  it.each([
    ['a social security number', 'ssn is 078-05-1120.', 'ssn is [SSN].'],
    ['a card number', 'pay with 4111 1111 1111 1111 now', 'pay with [CC] now'],
    ['no other long number', 'order 4111111111111112', 'order 4111111111111112'],
    ['an address for mail', 'to ann.b+c@mail.example.org,', 'to [EMAIL],'],
    ['an address of a host', 'from 10.0.200.255:80', 'from [IPV4]:80'],
    ['no version number', 'v1.2.3 and 1.2.3.456', 'v1.2.3 and 1.2.3.456'],
    ['a private key', `x ${key} y`, 'x [PEM_PRIVATE_KEY] y'],
    ['a private key cut off', `x ${key.slice(0, 40)}`, 'x [PEM_PRIVATE_KEY]'],
    ['an access key', 'id AKIAIOSFODNN7EXAMPLE!', 'id [AWS_ACCESS_KEY_ID]!'],
    ['a web token', 'got eyJhbGciOi.eyJzdWIi.c2ln', 'got [JWT]'],
    ['a bearer token', 'Authorization: Bearer abcdef123456', 'Authorization: Bearer [TOKEN]'],
    ['a secret that is assigned', 'DB_PASSWORD=hunter22&x=1', 'DB_PASSWORD=[SECRET]&x=1'],
  ])('finds %s', (_, text, masked) => {
    expect(mask({ note: [text] })).toEqual({ note: [masked] });
  });

  it('replaces whole values behind sensitive names, and no others', () => {
    expect(
      mask({ api_key: { a: 1 }, 'X-Session-Id': 5, token: null, keyboard: 'qwerty', pinned: true, user_password: 'x' }),
    ).toEqual({
      api_key: '[MASKED]',
      'X-Session-Id': '[MASKED]',
      token: null,
      keyboard: 'qwerty',
      pinned: true,
      user_password: '[MASKED]',
    });
  });

  it('masks names as it masks values', () => {
    expect(mask({ 'ann@mail.example.org': 1 })).toEqual({ '[EMAIL]': 1 });
  });

  it('leaves everything else as it is, and what is masked stays as it is', () => {
    const value = { a: [1, null, true, 'plain words'], b: {} };
    expect(mask(value)).toEqual(value);
    const parts = [
      'Bearer ',
      'password=',
      'a@b.cc',
      '078-05-1120',
      '4111111111111111',
      '10.0.0.1',
      'eyJabcd.efgh.i',
      ' ',
    ];
    const text = fc.array(fc.oneof(fc.constantFrom(...parts), fc.string())).map((list) => list.join(''));
    fc.assert(
      fc.property(fc.jsonValue(), text, (json, note) => {
        const once = mask({ json: json as Json, note });
        expect(mask(once)).toEqual(once);
      }),
      { numRuns: 300, seed: 5 },
    );
  });

  it('takes long hostile text in time', () => {
    for (const text of [
      'a@'.repeat(50_000),
      '1 '.repeat(50_000),
      '-----BEGIN '.repeat(10_000),
      'secret_'.repeat(10_000),
    ])
      expect(typeof mask(text)).toBe('string');
  }, 30_000);
});
