import { describe, expect, it } from '@jest/globals';
import type { Json } from '../../contracts/json.js';
import type { SinceLastCall } from '../../contracts/review.js';
import { canonicalDigest, sha256Hex } from '../crypto/digest.js';
import { orderedJson, sizeTold } from '../shown-json.js';
import { argumentsOf, changesBetween, changesTold, sinceLastTold } from './since-last.js';

describe('the differences between the arguments of two calls', () => {
  const differ: readonly [Json, Json, readonly string[]][] = [
    [{ a: 1, b: 2 }, { b: 2, a: 1 }, []],
    [{ a: 1 }, { a: '1' }, ['changed /a 1 "1"']],
    [{ a: 1 }, {}, ['removed /a 1 -']],
    [{}, { a: null }, ['added /a - null']],
    [{ a: { b: [1, 2] } }, { a: { b: [1, 3, 4] } }, ['changed /a/b/1 2 3', 'added /a/b/2 - 4']],
    [{ a: [] }, { a: {} }, ['changed /a [] {}']],
    [{ a: { deep: true } }, { a: 1 }, ['changed /a {"deep":true} 1']],
    [{ 'a/b~c': 1 }, { 'a/b~c': 2 }, ['changed /a~1b~0c 1 2']],
    [{}, { toString: 1 }, ['added /toString - 1']],
    [null, { a: 1 }, ['changed  null {"a":1}']],
  ];
  it.each(differ)('%j and %j', (before, after, expected) => {
    const { changes } = changesBetween(before, after);
    expect(
      changes.map(({ path, kind, before: was, after: is }) => `${kind} ${path} ${was?.json ?? '-'} ${is?.json ?? '-'}`),
    ).toEqual(expected);
  });

  it('are at most sixteen; the others are counted', () => {
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`key${n}`, n]));
    const { changes, changes_omitted } = changesBetween({}, many);
    expect([changes.length, changes_omitted]).toEqual([16, 19_984]);
  });

  it('stay short whatever the size of names and values: a long one has its digest', () => {
    const [was, is] = ['x', 'y'].map((end) => `${'v'.repeat(100_000)}${end}`) as [string, string];
    const name = 'n'.repeat(50_000);
    const told = changesBetween({ [name]: was }, { [name]: is }).changes;
    expect(JSON.stringify(told).length).toBeLessThan(1_500);
    expect(told[0]).toMatchObject({
      before: { characters: 100_001, sha256: `sha256:${sha256Hex(was)}` },
      after: { sha256: `sha256:${sha256Hex(is)}` },
    });
    expect(told[0]?.path).toContain(canonicalDigest(`/${name}`));
  });

  it('of a long text are told with the size and digest that the arguments beside them have', () => {
    const text = `${'é'.repeat(5_000)}`;
    const { changes } = changesBetween({ note: 'x' }, { note: text });
    const [line = ''] = changesTold({ changes, changes_omitted: 0 } as unknown as SinceLastCall);
    expect(orderedJson({ note: text }, 4_000)).toContain(`(${sizeTold(text)})`);
    expect(line).toContain(`(${sizeTold(text)})`);
  });

  it('are told in lines, first of which call', () => {
    const { changes } = changesBetween({ to: 'a' }, { to: 'b' });
    const last = {
      pending_id: '00000000-0000-4000-8000-000000000001',
      correlation_id: '00000000-0000-4000-8000-000000000002',
      created_at: '2026-11-02T10:00:00.000Z',
      status: 'approved' as const,
      decided_at: '2026-11-02T10:01:00.000Z',
      decided_by: 'operator:ana',
      modified: true,
      arguments: 'changed' as const,
      changes,
      changes_omitted: 3,
    };
    expect(sinceLastTold(last)).toEqual([
      '2026-11-02T10:00:00.000Z, approved with changes by operator:ana (00000000-0000-4000-8000-000000000001): asked with other arguments',
      'changed /to: "a" -> "b"',
      'and 3 more differences',
    ]);
    expect(sinceLastTold({ ...last, arguments: 'same', changes: [], changes_omitted: 0 })).toEqual([
      '2026-11-02T10:00:00.000Z, approved with changes by operator:ana (00000000-0000-4000-8000-000000000001): asked with the same arguments',
    ]);
    expect(sinceLastTold(null)).toHaveLength(1);
  });
});

it('the arguments of a request are those of its tool, or its parameters', () => {
  expect(argumentsOf({ params: { name: 't', arguments: { a: 1 } } })).toEqual({ a: 1 });
  expect(argumentsOf({ params: { uri: 'u' } })).toEqual({ uri: 'u' });
  expect(argumentsOf({})).toBeNull();
});
