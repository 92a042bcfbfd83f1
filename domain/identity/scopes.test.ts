import { describe, expect, it } from '@jest/globals';
import { GateError } from '../errors.js';
import { assertNarrower, assertWider, assertWithin, notGranted, scopeSet } from './scopes.js';

const refused = (work: () => unknown) => {
  try {
    work();
  } catch (error) {
    if (error instanceof GateError) return { code: error.code, ...error.fields };
    throw error;
  }
  throw new Error('it was not refused');
};
const envelope = (scope: readonly string[], yellow: readonly string[] = []) => ({ scope, yellow });

describe('a scope', () => {
  it('is a name in lower case, of which a list is a set: sorted, each once', () => {
    expect(scopeSet('scope', ['tool:b', 'refund:<=50usd', 'tool:a', 'tool:b', 'straße', 'é'])).toEqual([
      'refund:<=50usd',
      'straße',
      'tool:a',
      'tool:b',
      'é',
    ]);
    expect(scopeSet('scope', [])).toEqual([]);
    expect(scopeSet('scope', ['x'.repeat(128)])).toHaveLength(1);
  });

  it.each([
    ['nothing', ''],
    ['everything', '*'],
    ['upper case', 'Tool:a'],
    ['a space', 'tool: a'],
    ['another space', 'tool:\u00a0a'],
    ['a control character', 'tool:\u0000a'],
    ['a character that is not seen', 'tool:\u200ba'],
    ['a mark beside its letter', 'e\u0301'],
    ['half a character', '\ud800'],
    ['129 bytes', 'x'.repeat(129)],
    ['129 bytes of 65 characters', 'é'.repeat(65)],
  ])('is not %s, and the place says so', (_what, text) => {
    expect(refused(() => scopeSet('yellow_scope', ['tool:a', text]))).toEqual({
      code: 'scope_not_normalized',
      field: 'yellow_scope[1]',
    });
  });
});

describe('an envelope', () => {
  const was = envelope(['a', 'b'], ['y']);

  it('is narrowed by taking away, and by nothing else', () => {
    assertNarrower(was, envelope(['a'], ['y']));
    assertNarrower(was, envelope(['a', 'b']));
    assertNarrower(was, envelope([]));
    expect(refused(() => assertNarrower(was, was))).toEqual({ code: 'envelope_not_narrower', offenders: [] });
    expect(refused(() => assertNarrower(was, envelope(['a', 'c'], ['y', 'b'])))).toEqual({
      code: 'envelope_not_narrower',
      offenders: ['c', 'b'],
    });
  });

  it('is widened by adding, and by nothing else', () => {
    assertWider(was, envelope(['a', 'b', 'c'], ['y']));
    assertWider(envelope([]), was);
    expect(refused(() => assertWider(was, was))).toEqual({ code: 'envelope_not_wider', offenders: [] });
    expect(refused(() => assertWider(was, envelope(['a', 'c', 'd'])))).toEqual({
      code: 'envelope_not_wider',
      offenders: ['b', 'y'],
    });
  });

  it('holds what is asked word for word, whole or not at all', () => {
    assertWithin(envelope(['a'], ['y']), was);
    expect(refused(() => assertWithin(envelope(['a', 'c', 'ab']), was))).toEqual({
      code: 'scope_outside_envelope',
      offenders: ['c', 'ab'],
    });
    expect(refused(() => assertWithin(envelope(['a'], ['a']), was))).toEqual({
      code: 'yellow_scope_outside_envelope',
      offenders: ['a'],
    });
    expect(refused(() => assertWithin(envelope(['a']), envelope([])))).toMatchObject({ offenders: ['a'] });
  });
});

describe('a grant covers', () => {
  const grant = { scope: ['tool:list_files', 'read_file'], yellow_scope: ['yellow:wire_transfer'] };

  it('the tools that it names, each of a batch', () => {
    expect(notGranted(grant, ['list_files', 'wire_transfer', 'List_Files'])).toEqual([]);
    expect(notGranted(grant, ['list_files', 'read_file', 'delete_file', 'delete_file'])).toEqual([
      'tool:read_file',
      'tool:delete_file',
    ]);
    expect(notGranted({ scope: [], yellow_scope: [] }, ['list_files'])).toEqual(['tool:list_files']);
  });
});
