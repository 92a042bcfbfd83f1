import { describe, expect, it } from '@jest/globals';
import { lasting } from '../in-place.js';
import { plainName, readFields } from './read-fields.js';

const fieldsOf = (given: object) => ({ ...readFields(given as never, () => undefined) });

describe('values of arguments are found by their names', () => {
  it.each([
    [{ target_env: 'prod' }],
    [{ targetEnv: 'prod' }],
    [{ 'TARGET-ENV': 'prod' }],
    [{ target_envs: ['prod'] }],
    [{ options: { 'target.env': 'prod' } }],
    [{ items: [{ x: 1 }, { target_env: [['prod']] }] }],
    [{ body: '{"target_env": "prod"}' }],
    [{ body: ' [{"a": "{\\"target_env\\": \\"prod\\"}"}]' }],
    [{ target_env: { is: { what: { it: 'prod' } } } }],
  ])('in %j', (given) => {
    expect(fieldsOf(given)['targetenv']).toEqual(['prod']);
  });

  it('each once for each of the four nearest, and under no name where there is none', () => {
    expect(fieldsOf({ a: { b: { c: { d: { e: 1 } } } }, n: [2, 2, '2'] })).toEqual({
      b: [1],
      c: [1],
      d: [1],
      e: [1],
      n: ['2', 2],
    });
    expect(fieldsOf(['x', null, true] as never)).toEqual({ '': [true, null, 'x'] });
    expect(fieldsOf(undefined as never)).toEqual({});
  });

  it('also by names that objects have of their own', () => {
    const given = JSON.parse('{"__proto__": {"constructor": 1}, "toString": 2}') as object;
    expect(readFields(given as never, () => undefined)).toEqual(
      Object.assign(Object.create(null), { proto: [1], constructor: [1], tostring: [2] }),
    );
  });

  it('with every value of a name that stands twice in a text, and in a text that only some reader takes for JSON', () => {
    expect(fieldsOf({ body: '{"target_env": "prod", "target_env": "dev"}' })['targetenv']).toEqual(['prod', 'dev']);
    expect(fieldsOf({ body: '{"target_env": "prod",}' })['targetenv']).toEqual(['prod']);
    expect(fieldsOf({ body: '{"id": 1}\n{"target_env": "prod"}' })['targetenv']).toEqual(['prod']);
  });

  it('leaves text that is no JSON, and JSON in more than three texts, as it is', () => {
    const packed = (times: number): string =>
      times === 0 ? '{"deep": 1}' : JSON.stringify({ body: packed(times - 1) });
    expect(fieldsOf({ body: packed(2) })['deep']).toEqual([1]);
    expect(fieldsOf({ body: packed(3) })['deep']).toBeUndefined();
    expect(fieldsOf({ note: '{not json' })).toEqual({ note: ['{not json'] });
  });

  it('in arguments that are nested deeply, in their time, and no longer than they may take', () => {
    let nested: unknown = 1;
    for (let depth = 0; depth < 200_000; depth += 1) nested = { a: [nested] };
    expect(fieldsOf({ nested })['a']).toEqual([1]);
    const brackets = { note: '['.repeat(1_000_000) };
    expect(fieldsOf(brackets)).toEqual({ note: [brackets.note] });
    const many = { items: Array.from({ length: 100_000 }, (_, at) => ({ id: at })) };
    expect(() => readFields(many as never, lasting(-1))).toThrow('not done within');
  });

  it('whose plain names are those of the rules', () => {
    expect(['targetEnv', 'Target-Envs', 'a b:c/d.e', 'address', 'ſ'].map(plainName)).toEqual([
      'targetenv',
      'targetenv',
      'abcde',
      'addres',
      'ſ',
    ]);
  });
});
