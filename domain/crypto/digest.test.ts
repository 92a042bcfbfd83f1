import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import canonicalize from 'canonicalize';
import fc from 'fast-check';
import type { Json } from '../../contracts/json.js';
import { canonicalDigest, canonicalJson, keepCanonical, knownText, sha256Hex, uuidFromDigest } from './digest.js';

describe('canonical JSON (RFC 8785)', () => {
  it('is the text of the RFC for its own example', () => {
    // RFC 8785, section 3.2.2: the sample input and the expected bytes.
    const input = JSON.parse(String.raw`{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }`) as Json;
    expect(canonicalJson(input)).toBe(
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    );
  });

  it('sorts keys by UTF-16 code units, as section 3.2.3 of the RFC does', () => {
    const input: Json = { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '😀': 5, '\u0080': 6, '\u00f6': 7 };
    expect(Object.values(JSON.parse(canonicalJson(input)) as object)).toHaveLength(7);
    expect([...canonicalJson(input).matchAll(/:(\d)/g)].map(([, value]) => Number(value))).toEqual([
      2, 4, 6, 7, 1, 5, 3,
    ]);
  });

  it('does not depend on the order of keys, and changes with any change of value', () => {
    const entries = fc.uniqueArray(fc.tuple(fc.string(), fc.jsonValue()), { selector: ([key]) => key, minLength: 1 });
    fc.assert(
      fc.property(entries, (pairs) => {
        const one = Object.fromEntries(pairs) as Json;
        const other = Object.fromEntries(pairs.toReversed()) as Json;
        expect(canonicalDigest(other)).toBe(canonicalDigest(one));
        expect(canonicalDigest([one])).not.toBe(canonicalDigest(one));
      }),
    );
  });

  it('is what the library for RFC 8785 writes, for any JSON and any key', () => {
    const key = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('10', '9', '01', '-1', '__proto__', 'constructor', 'toJSON', 'a', 'B', '\u20ac', '\ufb33', '😀'),
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        fc.string({ unit: 'binary' }),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.constant(-0),
        fc.array(tie('tree')),
        // Built as JSON.parse does it: a key "__proto__" is an ordinary key.
        fc
          .array(fc.tuple(key, tie('tree')))
          .map(
            (pairs) =>
              JSON.parse(
                `{${pairs.map(([name, item]) => `${JSON.stringify(name)}:${JSON.stringify(item)}`).join(',')}}`,
              ) as unknown,
          ),
      ),
    }));
    fc.assert(
      fc.property(tree, (value) => {
        let expected: string | undefined | null = null;
        try {
          expected = canonicalize(value);
        } catch {
          // What the library refuses must be refused here too.
        }
        if (expected === null) expect(() => canonicalJson(value as Json)).toThrow();
        else expect(canonicalJson(value as Json)).toBe(expected);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is the same text when parts of it were written before', () => {
    const args = { b: [1, 'ü'], a: '"' };
    const body = { params: { name: 'x', arguments: args }, id: 1 };
    const before = canonicalJson({ body, tool: 'x' });
    for (const part of [args, body.params, body]) keepCanonical(part);
    expect(canonicalJson({ tool: 'x', body })).toBe(before);
    expect(canonicalJson([args])).toBe(canonicalJson([{ a: '"', b: [1, 'ü'] }]));
  });

  it('is known of plain JSON alone, with what was kept of its parts', () => {
    const part = { b: 1, a: '\u{1f511}' };
    keepCanonical(part);
    expect(knownText({ z: part, a: [part, undefined as unknown as Json] as Json[] })).toBeNull();
    expect(knownText({ z: part, a: [part] })).toBe(canonicalJson({ z: part, a: [part] }));
    for (const other of [{ a: '\ud800' }, { a: Number.NaN }, new Date(0)]) {
      keepCanonical(other);
      expect(knownText(other)).toBeNull();
    }
  });

  it('throws on what JSON cannot hold', () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, '\ud800', undefined as unknown as Json])
      expect(() => canonicalJson(value)).toThrow();
  });

  it('gives a digest that names its algorithm', () => {
    expect(canonicalDigest({ b: 1, a: 2 })).toBe(
      `sha256:${createHash('sha256').update('{"a":2,"b":1}').digest('hex')}`,
    );
    expect(sha256Hex('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    expect(sha256Hex(Buffer.from('abc'))).toBe(sha256Hex('abc'));
  });
});

describe('ids that are a function of their parts', () => {
  it('have the form of a UUID v4 (RFC 9562)', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (parts) => {
        expect(uuidFromDigest(...parts)).toMatch(
          /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
        );
      }),
    );
  });

  it('are the same for the same parts, in every release', () => {
    // Pinned values, computed with another program. A change here would give every replayed call another id.
    expect(uuidFromDigest('gate.call', 'acme', 'agent', 'id')).toBe('105a0af5-3c2b-4a2a-845c-245ba366b02f');
  });

  it('differ where the parts differ, also in where one part ends', () => {
    const ids = [
      uuidFromDigest('a', 'b'),
      uuidFromDigest('ab'),
      uuidFromDigest('ab', ''),
      uuidFromDigest('', 'ab'),
      uuidFromDigest('b', 'a'),
      uuidFromDigest(),
    ];
    expect(new Set(ids).size).toBe(ids.length);
  });
});
