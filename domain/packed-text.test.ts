import { describe, expect, it } from '@jest/globals';
import { assert, json, property } from 'fast-check';
import { unpacked } from './packed-text.js';

const documentsOf = (text: string) => unpacked(text)?.documents;

describe('a text that is JSON', () => {
  it('is what any reader makes of it', () => {
    assert(
      property(json(), (text) => {
        if (!/^[[{"]/.test(text)) return;
        expect(unpacked(text)).toEqual({ documents: [JSON.parse(text)], isJson: true });
      }),
    );
  });

  it.each<[string, unknown]>([
    ['{"a": 1, "a": 2}', [{ a: 2 }, { a: 1 }]],
    ['{"a": 1, "a": 2, "a": 3}', [{ a: 3 }, { a: 1 }, { a: 2 }]],
    [
      '{"a": 1, "\\u0061": 2, "b": 3}',
      [
        { a: 2, b: 3 },
        { a: 1, b: 3 },
      ],
    ],
    ['[{"to": {"a": 1, "a": 2}, "b": [0]}]', [[{ to: { a: 2 }, b: [0] }], [{ to: { a: 1 }, b: [0] }]]],
    ['{"a": {"x": 1}, "a": {"y": 2}}', [{ a: { y: 2 } }, { a: { x: 1 } }, { a: { x: 1 } }, { a: { y: 2 } }]],
    ['{"to": {"a": 1, "a": 2, "a": 3}}', [{ to: { a: 3 } }, { to: { a: 1 } }, { to: { a: 2 } }]],
  ])('%s, in which a name stands twice, says all of its values', (text, documents) => {
    expect(unpacked(text)).toEqual({ documents, isJson: true });
  });

  it('keeps members of names that objects have of their own', () => {
    const [last, first] = documentsOf('{"__proto__": 1, "a": 1, "__proto__": 2}') as object[];
    expect([Object.entries(last as object), Object.entries(first as object)]).toEqual([
      [
        ['__proto__', 2],
        ['a', 1],
      ],
      [
        ['__proto__', 1],
        ['a', 1],
      ],
    ]);
  });
});

describe('a text that some reader takes for JSON', () => {
  it.each<[string, unknown]>([
    ['{"a": 1,}', [{ a: 1 }]],
    ['{"a": 1}{}', [{ a: 1 }, {}]],
    ['{"a": 1} x', [{ a: 1 }]],
    ['{"a": 1', [{ a: 1 }]],
    ['{"a": "1', [{ a: '1' }]],
    ['{"a": [1 2 "b" "c"]}', [{ a: ['1 2 "b" "c"'] }]],
    ['{a: rm -rf /srv, b: [x, -f]}', [{ a: 'rm -rf /srv', b: ['x', '-f'] }]],
    ["{'a': True, 'b': None, 'c': 'it\\'s'}", [{ a: true, b: null, c: "it's" }]],
    ['/* said */ {/* so */ a: .5, b: 0x10, c: +1, d: 1_0} // {', [{ a: 0.5, b: 16, c: 1, d: '1_0' }]],
    ['{"a": "x\ty \\x41\\u{41}\\q"}', [{ a: 'x\ty AAq' }]],
    ['{"a": 1, "a": 2,}', [{ a: 2 }, { a: 1 }]],
    ['"{\\"a\\": 1}" x', ['{"a": 1}']],
    ['{"a": 1]', [{ a: 1 }]],
    ['{a(b): 1, action: delete}', [{ a: 1, action: 'delete' }]],
    ['{a(b: 1), action: delete}', [{ action: 'delete' }]],
  ])('%j', (text, documents) => {
    expect(unpacked(text)).toEqual({ documents, isJson: false });
  });

  it('is read on behind a comment of YAML', () => {
    expect(documentsOf('{"a": 1, #c\n"b": 2}')?.[0]).toEqual({ a: 1, b: 2 });
  });

  it('is also each of its lines, also after one that is not', () => {
    expect(documentsOf('{"a": 1}\n{"a": 2}')).toEqual([{ a: 1 }, { a: 2 }, { a: 1 }, { a: 2 }]);
    expect(documentsOf('{"a": "\n{"b": 2}')).toContainEqual({ b: 2 });
  });

  it.each([
    '',
    'words',
    '1',
    'a: 1',
    '{{name}}',
    '"Ada" said it',
    "'{}'",
    '{"y" 1}',
    '[[{}], [[]',
    '// a path',
    '[[ -f x ]] && y',
  ])('is not %j, or holds nothing but lists of words', (text) => {
    expect(JSON.stringify(documentsOf(text) ?? [])).not.toMatch(/Ada|name"|y/);
  });

  it('is read in time that grows with its length, however deep it is and however often its names stand there', () => {
    let packed = '{"a":1,"a":2}';
    for (let level = 0; level < 10; level += 1) packed = `{"a":1,"a":2,"b":${JSON.stringify(packed)}}`;
    const texts = [
      `${'['.repeat(100_000)}1`,
      '{"a":'.repeat(50_000),
      `{${'"a":[{"a":1,"a":2}],'.repeat(20_000)}"a":1}`,
      `{${'"a":{'.repeat(50_000)}`,
      '{"a":1,"a":2,"b":'.repeat(50_000),
      `${'{"a" '.repeat(100)}\n`.repeat(1_000),
      packed,
    ];
    const began = performance.now();
    for (const text of texts) unpacked(text);
    expect(performance.now() - began).toBeLessThan(10_000);
  });
});
