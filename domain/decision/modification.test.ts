import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../contracts/json.js';
import { modificationDiff, type ModificationDiff } from '../../contracts/review.js';
import { batchRequest } from '../../test/support/batch-request.js';
import { canonicalDigest } from '../crypto/digest.js';
import { canonicalDiff, changedBody, modified, ModificationRefused } from './modification.js';

const diffOf = (...replacements: [string[], string | number | boolean | null][]): ModificationDiff => ({
  contract: 'gate.hil.modification-diff/v1',
  replacements: replacements.map(([path, value]) => ({ path, value })),
});
const transfer: JsonObject = {
  id: 7,
  jsonrpc: '2.0',
  method: 'tools/call',
  params: { arguments: { amount: 500, destination: 'old' }, name: 'payments.transfer' },
};
const withArguments = (given: JsonObject): JsonObject => ({ ...transfer, params: { name: 't', arguments: given } });

describe('a modification', () => {
  it('replaces a scalar, and the request itself stays as it is', () => {
    // The digests are the vector of the contract.
    expect(canonicalDigest(transfer)).toBe('sha256:f15696c34c6067dfd40717418d366a3879238765033bbc1e2a1304114e405861');
    const candidate = modified(transfer, diffOf([['amount'], 100]));
    expect(canonicalDigest(candidate)).toBe('sha256:819487b80d4b1986126cbd2e3b623ed008c87bbd79f22b1afd1c55b751f3c0d1');
    expect(transfer).toMatchObject({ params: { arguments: { amount: 500 } } });
  });

  it('reaches nested objects, and may change the type of a scalar', () => {
    const body = withArguments({ to: { account: 'a', open: true }, memo: null });
    expect(modified(body, diffOf([['to', 'account'], 'b'], [['to', 'open'], false], [['memo'], 'paid']))).toEqual(
      withArguments({ to: { account: 'b', open: false }, memo: 'paid' }),
    );
  });

  it.each([
    ['a missing name', { a: 1 }, diffOf([['b'], 2]), 'missing_path'],
    ['a missing name below', { a: { b: 1 } }, diffOf([['a', 'c'], 2]), 'missing_path'],
    ['a way through a scalar', { a: 1 }, diffOf([['a', 'b'], 2]), 'missing_path'],
    ['an object', { a: { b: 1 } }, diffOf([['a'], 2]), 'not_a_scalar'],
    ['a list', { a: [1] }, diffOf([['a'], 2]), 'not_a_scalar'],
    ['a way through a list', { a: [{ b: 1 }] }, diffOf([['a', '0', 'b'], 2]), 'array_on_path'],
    ['the same value', { a: 1 }, diffOf([['a'], 1]), 'no_change'],
    ['one place twice', { a: 1 }, diffOf([['a'], 2], [['a'], 3]), 'duplicate_path'],
    ['a name of the prototype', { a: 1 }, diffOf([['constructor'], 2]), 'missing_path'],
    ['a way through the prototype', { a: 1 }, diffOf([['constructor', 'name'], 'x']), 'missing_path'],
  ])('refuses %s', (_what, given, diff, fault) => {
    expect(() => modified(withArguments(given as JsonObject), diff)).toThrow(ModificationRefused);
    expect(() => modified(withArguments(given as JsonObject), diff)).toThrow(fault);
  });

  it.each(['bare', 'sdk'] as const)(
    'reaches the arguments of the calls of a batch, %s, and nothing else of it',
    (shape) => {
      const calls = (amount: number) => [
        { id: 'a', name: 'pay', arguments: { amount, to: ['x'] } },
        { id: 'b', name: 'tell', arguments: { text: 'paid' } },
      ];
      const body = batchRequest(calls(500), shape);
      const at = (...path: string[]) => diffOf([path, 5]);
      expect(modified(body, at('calls', '0', 'arguments', 'amount'))).toEqual(batchRequest(calls(5), shape));
      for (const [path, fault] of [
        [['amount'], 'missing_path'],
        [['calls', '0', 'id'], 'missing_path'],
        [['calls', '0', 'name'], 'missing_path'],
        [['calls', '0', 'arguments'], 'missing_path'],
        [['calls', '2', 'arguments', 'amount'], 'missing_path'],
        [['calls', '00', 'arguments', 'amount'], 'missing_path'],
        [['calls', '1', 'arguments', 'amount'], 'missing_path'],
        [['contract'], 'missing_path'],
        [['calls', '0', 'arguments', 'to', '0'], 'array_on_path'],
      ] as const)
        expect(() => modified(body, at(...path))).toThrow(fault);
    },
  );

  it('has one form, whatever order it was written in', () => {
    const written = diffOf([['b'], 2], [['a', 'c'], -0], [['a', 'b'], 1], [['a"'], 3]);
    const inOrder = diffOf([['a', 'b'], 1], [['a', 'c'], 0], [['a"'], 3], [['b'], 2]);
    expect(JSON.stringify(canonicalDiff(written))).toBe(JSON.stringify(inOrder));
    for (let round = 0; round < 20; round += 1) {
      const shuffled = { ...written, replacements: written.replacements.toSorted(() => Math.random() - 0.5) };
      expect(canonicalDiff(shuffled)).toStrictEqual(inOrder);
    }
    const body = withArguments({ a: { b: 0, c: 7 }, 'a"': 0, b: 0 });
    expect(canonicalDigest(modified(body, written))).toBe(canonicalDigest(modified(body, inOrder)));
  });

  it('refuses a request without arguments', () => {
    expect(() => modified({ method: 'tools/list' }, diffOf([['a'], 1]))).toThrow('no_arguments');
  });

  it.each([
    ['another contract', { contract: 'gate.hil.modification-diff/v2', replacements: [{ path: ['a'], value: 1 }] }],
    ['no replacement', { contract: 'gate.hil.modification-diff/v1', replacements: [] }],
    ['seventeen', diffOf(...Array.from({ length: 17 }, (_, at): [string[], number] => [[`a${at}`], at]))],
    ['a path of nine', diffOf([Array.from({ length: 9 }, () => 'a'), 1])],
    ['an empty path', diffOf([[], 1])],
    ['a slash', diffOf([['a/b'], 1])],
    ['a control character', diffOf([['a\u0007'], 1])],
    ['a name of 65 characters', diffOf([['a'.repeat(65)], 1])],
    ['the prototype', diffOf([['__proto__'], 1])],
    ['an object as value', { contract: 'gate.hil.modification-diff/v1', replacements: [{ path: ['a'], value: {} }] }],
    ['another member', { ...diffOf([['a'], 1]), add: [] }],
  ])('has a form that has no room for %s', (_what, given) => {
    expect(modificationDiff.safeParse(given).success).toBe(false);
  });

  it('that was signed for another request fits none but that', () => {
    const diff = diffOf([['amount'], 100]);
    const reviewed_digest = canonicalDigest(modified(transfer, diff));
    expect(changedBody(transfer, { diff, reviewed_digest })).toEqual(modified(transfer, diff));
    expect(changedBody({ ...transfer, id: 8 }, { diff, reviewed_digest })).toBeNull();
    expect(changedBody(withArguments({}), { diff, reviewed_digest })).toBeNull();
  });
});
