import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MAX_ANSWER_LEVELS, membersOf, objectText, replyIn } from './reply.js';

describe('the members of what an upstream wrote', () => {
  it('are its own text, to the last character', () => {
    const text =
      ' { "a" : 1e400 ,"b":[1.10, {"c":"}\\"]"} ],"\\u0063":-0,\n"d":"\\ud800", "e":{}, "f":null,"g":1.0E+2 } ';
    expect([...(membersOf(text) ?? [])]).toEqual([
      ['a', '1e400'],
      ['b', '[1.10, {"c":"}\\"]"} ]'],
      ['c', '-0'],
      ['d', '"\\ud800"'],
      ['e', '{}'],
      ['f', 'null'],
      ['g', '1.0E+2'],
    ]);
  });

  it.each(['', 'x', '[]', '7', 'null', '"{}"', '{', '{"a":1,}', '{"a":1,"\\u0061":2}', `${'['.repeat(100_000)}`])(
    'are none of %j',
    (text) => expect(membersOf(text)).toBeNull(),
  );

  it('are none of an object nested deeper than readers can follow', () => {
    const nested = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
    expect(membersOf(nested(MAX_ANSWER_LEVELS))).not.toBeNull();
    expect(membersOf(nested(MAX_ANSWER_LEVELS + 1))).toBeNull();
    expect(membersOf(nested(200_000))).toBeNull();
    expect(membersOf(`{"a":"${'['.repeat(1_000)}"}`)).not.toBeNull();
  });

  it('make the object again, however it was written', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(4), (value, space) => {
        const text = JSON.stringify(value, null, space);
        const members = membersOf(text);
        expect([...(members?.keys() ?? [])]).toEqual(Object.keys(JSON.parse(text) as object));
        expect(JSON.parse(objectText(members ?? []))).toEqual(JSON.parse(text));
      }),
    );
  });

  it('are found in time that grows with the text', () => {
    const text = (size: number) => `{"result":${JSON.stringify(Array.from({ length: size }, () => '{"\\'))}}`;
    const took = (size: number) => {
      const made = text(size);
      const begun = process.hrtime.bigint();
      membersOf(made);
      return Number(process.hrtime.bigint() - begun);
    };
    took(50_000);
    const [small, large] = [Math.min(took(50_000), took(50_000)), Math.min(took(400_000), took(400_000))];
    expect(large / small).toBeLessThan(32);
  });
});

describe('an answer to a request', () => {
  const read = (text: string) => replyIn(membersOf(text) ?? new Map(), 'own', 5);

  it.each([
    ['{"jsonrpc":"2.0","id":"own","result":{"a":1.10}}', '{"jsonrpc":"2.0","id":5,"result":{"a":1.10}}', false],
    [
      '{"jsonrpc":"2.0","id":"own","result":{"isError":true}}',
      '{"jsonrpc":"2.0","id":5,"result":{"isError":true}}',
      true,
    ],
    ['{"id":"own","result":{},"error":null,"jsonrpc":"2.0"}', '{"jsonrpc":"2.0","id":5,"result":{}}', false],
    [
      '{"jsonrpc":"2.0","id":"own","result":null,"error":{"code":1,"message":"m"}}',
      '{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"m"}}',
      true,
    ],
    ['{"jsonrpc":"2.0","id":"own","result":{},"more":1}', '{"jsonrpc":"2.0","id":5,"result":{}}', false],
  ])('%s goes on as %s', (text, relayed, failed) => {
    expect(read(text)).toEqual({ text: relayed, failed });
  });

  it.each([
    '{"jsonrpc":"2.0","id":"other","result":{}}',
    '{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}',
    '{"jsonrpc":"2.0","id":"own","error":null}',
    '{"jsonrpc":"2.0","id":"own","result":null}',
    '{"jsonrpc":"2.0","id":"own"}',
    '{"jsonrpc":"2.0","id":"own","method":"ping","result":{}}',
    '{"jsonrpc":"1.0","id":"own","result":{}}',
    '{"id":"own","result":{}}',
    '{"jsonrpc":"2.0","id":"own","result":[]}',
    '{"jsonrpc":"2.0","id":"own","result":{"content":[],"x":1,"x":2,"isError":true}}',
    '{"jsonrpc":"2.0","id":"own","result":{"isError":true,"is\\u0045rror":false}}',
    `{"jsonrpc":"2.0","id":"own","result":{"isError":true,"a":${'['.repeat(600)}${']'.repeat(600)}}}`,
  ])('%s is none', (text) => expect(read(text)).toBeNull());
});
