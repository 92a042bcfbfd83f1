import { describe, expect, it } from '@jest/globals';
import {
  lookOf,
  ownNameOf,
  ownUriOf,
  passesForAnother,
  prefixedName,
  prefixedUri,
  uriPassesForAnother,
} from './prefixed-names.js';

describe('the name of a tool among several upstreams', () => {
  it.each([
    ['bank', 'wire_transfer', 'bank__wire_transfer'],
    ['a-1', '_odd', 'a-1___odd'],
    ['bank', 'a__b', 'bank__a__b'],
  ])('is made of the prefix %s and its own name %s, and taken apart again', (prefix, own, name) => {
    expect(prefixedName(prefix, own)).toBe(name);
    expect(ownNameOf(name)).toEqual({ prefix, own });
  });

  it.each(['wire_transfer', '__x', 'bank__', 'Bank__x', 'b_k__x', 'b--k__x', `${'a'.repeat(33)}__x`, ''])(
    '%j is nobody’s',
    (name) => {
      expect(ownNameOf(name)).toBeNull();
    },
  );
});

describe('the address of a resource among several upstreams', () => {
  it.each([
    ['files', 'file:///a+b.txt', 'files+file:///a+b.txt'],
    ['web', 'git+ssh://host/x', 'web+git+ssh://host/x'],
  ])('is a URI again: %s, %s', (prefix, own, uri) => {
    expect(prefixedUri(prefix, own)).toBe(uri);
    expect(ownUriOf(uri)).toEqual({ prefix, own });
    expect(URL.canParse(uri)).toBe(true);
  });

  it.each(['file:///a', 'file:///a+b', '+file:///a', 'files+'])('%j is nobody’s', (uri) => {
    expect(ownUriOf(uri)).toBeNull();
  });
});

describe('prefixes that look alike', () => {
  it.each([
    ['bank', 'b-ank'],
    ['bill', 'b1ll'],
    ['mail', 'rna1l'],
    ['tool', 't00l'],
    ['web', 'vveb'],
  ])('%s and %s are one look', (one, other) => {
    expect(lookOf(one)).toBe(lookOf(other));
  });
  it('others are not', () => {
    expect(lookOf('bank')).not.toBe(lookOf('bank2'));
    expect(lookOf('github')).not.toBe(lookOf('gitlab'));
  });

  it.each(['bank__wire', 'Bank__wire', 'b4nk.x__y', 'bank.wire', 'bank/wire', 'b-ank:wire'])(
    'an own name such as %s',
    (own) => {
      const passes = passesForAnother(own, new Set([lookOf('bank')]));
      expect(passes).toBe(own !== 'b4nk.x__y');
    },
  );
  it('an own name that merely begins with the same letters passes for nobody', () => {
    expect(passesForAnother('bank_wire', new Set(['bank']))).toBe(false);
    expect(passesForAnother('bank', new Set(['bank']))).toBe(false);
  });
  it('an address whose scheme begins like that', () => {
    expect(uriPassesForAnother('bank+file:///a', new Set([lookOf('bank')]))).toBe(true);
    expect(uriPassesForAnother('bank:///a', new Set([lookOf('bank')]))).toBe(false);
  });
});
