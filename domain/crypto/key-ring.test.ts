import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { keyRing, parseKeyRing } from './key-ring.js';

const hex = () => randomBytes(32).toString('hex');

describe('encryption at rest', () => {
  it('opens what it sealed, whatever it was', () => {
    const ring = parseKeyRing(`k1:${hex()}`);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 1_000 }), fc.string(), (bytes, context) => {
        const sealed = ring.seal(bytes, context);
        expect(ring.open(sealed, context)).toEqual(Buffer.from(bytes));
      }),
    );
    expect(ring.open(ring.seal('text – ü', 'c'), 'c').toString('utf8')).toBe('text – ü');
  });

  it('never gives the same bytes twice, nor a trace of the text', () => {
    const ring = parseKeyRing(`k1:${hex()}`);
    const sealed = Array.from({ length: 50 }, () => ring.seal('account 4711', 'c').toString('latin1'));
    expect(new Set(sealed).size).toBe(50);
    expect(sealed.join('')).not.toContain('4711');
  });

  it('refuses a value in another row, under another key, and with any bit changed', () => {
    const ring = parseKeyRing(`k1:${hex()}`);
    const sealed = ring.seal('secret', 'row/1');
    expect(() => ring.open(sealed, 'row/2')).toThrow();
    expect(() => parseKeyRing(`k1:${hex()}`).open(sealed, 'row/1')).toThrow();
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const changed = Buffer.from(sealed);
      changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(() => ring.open(changed, 'row/1')).toThrow();
    }
  });

  it('refuses what was never sealed, and what was cut', () => {
    const ring = parseKeyRing(`k1:${hex()}`);
    const sealed = ring.seal('secret', 'c');
    for (const bytes of [Buffer.alloc(0), Buffer.from([1]), Buffer.from('plain text, and long enough to be something')])
      expect(() => ring.open(bytes, 'c')).toThrow(/not a sealed value/);
    for (let length = 0; length < sealed.length; length += 1)
      expect(() => ring.open(sealed.subarray(0, length), 'c')).toThrow();
  });

  it('reads a value out of the middle of other memory', () => {
    const ring = parseKeyRing(`k1:${hex()}`);
    const sealed = ring.seal('secret', 'c');
    const within = new Uint8Array(sealed.length + 20).fill(7);
    within.set(sealed, 10);
    expect(ring.open(within.subarray(10, 10 + sealed.length), 'c').toString()).toBe('secret');
  });
});

describe('rotation of keys', () => {
  it('a new key in front seals, the old ones still open', () => {
    const [first, second] = [hex(), hex()];
    const before = parseKeyRing(`2026-01:${first}`);
    const after = parseKeyRing(`2026-02:${second},2026-01:${first}`);
    const old = before.seal('old', 'c');
    expect(after.open(old, 'c').toString()).toBe('old');
    expect(after.activeKeyId).toBe('2026-02');
    const fresh = after.seal('new', 'c');
    expect(after.open(fresh, 'c').toString()).toBe('new');
    expect(() => before.open(fresh, 'c')).toThrow('no key 2026-02 in this ring');
  });

  it('a key that was taken out opens nothing any more', () => {
    const [first, second] = [hex(), hex()];
    const old = parseKeyRing(`a:${first}`).seal('old', 'c');
    expect(() => parseKeyRing(`b:${second}`).open(old, 'c')).toThrow('no key a in this ring');
  });
});

describe('the text of a key ring', () => {
  it.each([
    ['nothing', '', /id:64 hex digits/],
    ['a key without an id', hex(), /id:64 hex digits/],
    ['a short key', 'k1:abcd', /id:64 hex digits/],
    ['a key that is no hex', `k1:${'z'.repeat(64)}`, /id:64 hex digits/],
    ['an id with a blank', `k 1:${hex()}`, /id:64 hex digits/],
    ['an id of 33 characters', `${'k'.repeat(33)}:${hex()}`, /id:64 hex digits/],
    ['an empty entry', `k1:${hex()},`, /id:64 hex digits/],
    ['one byte repeated', `k1:${'00'.repeat(32)}`, /key k1 is a placeholder/],
    ['one id twice', `k1:${hex()},k1:${hex()}`, /key id k1 appears twice/],
  ])('is refused with %s', (_what, text, why) => {
    expect(() => parseKeyRing(text)).toThrow(why);
  });

  it('is refused without repeating a key', () => {
    const secret = hex();
    for (const text of [`k 1:${secret}`, `k1:${secret},k1:${secret}`, `k1:${secret}x`]) {
      expect(() => parseKeyRing(text)).toThrow();
      expect(() => parseKeyRing(text)).not.toThrow(new RegExp(secret));
    }
  });

  it('may hold blanks around its entries and capitals in its digits', () => {
    const secret = hex();
    const sealed = parseKeyRing(`k1:${secret}`).seal('x', 'c');
    expect(parseKeyRing(`  k2:${hex()} , k1:${secret.toUpperCase()} `).open(sealed, 'c').toString()).toBe('x');
  });

  it('needs a key at least', () => {
    expect(() => keyRing(new Map())).toThrow(/at least one key/);
  });
});
