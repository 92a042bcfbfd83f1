import { describe, expect, it } from '@jest/globals';
import { heldValues, type KeptAnswer } from './known-values.js';

const VALUES = ['a', 'b', 'c', 'd', 'e', 'f'];
const KEYS = ['k1', 'k2'];

let seed = 7;
const upTo = (count: number): number => {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
  return Math.floor((seed / 2_147_483_648) * count);
};
const some = () => VALUES.filter(() => upTo(4) === 0);
const answerOf = (id: number): KeptAnswer => ({
  id: `c-${id}`,
  key: KEYS[upTo(40) === 0 ? 1 : 0] as string,
  brought: new Map(some().map((value) => [value, 0])),
  fields: [{ pointer: `/${id}`, tool: 'read' }],
  own: new Set(some().filter(() => upTo(3) === 0)),
  vouched: new Set(some().filter(() => upTo(3) === 0)),
  lostAddresses: false,
  lostNames: false,
});

/** What a look through all answers finds. */
function lookedAt(answers: readonly KeptAnswer[]) {
  return KEYS.flatMap((key) => {
    const of = answers.filter((answer) => answer.key === key);
    return VALUES.map((value) => ({
      cleared: of.some(({ own, vouched }) => own.has(value) || vouched.has(value)),
      first: of.findLast(({ brought }) => brought.has(value))?.id ?? null,
    }));
  });
}

describe('the values of answers that are held', () => {
  it('are those of exactly the answers that count now, however they came, went and changed places', () => {
    const known = heldValues();
    let answers: KeptAnswer[] = [];
    for (let id = 0; id < 2_000; id += 1) {
      const what = upTo(400);
      answers.splice(what > 370 ? upTo(3) : 0, 0, answerOf(id));
      if (what === 0) answers = [];
      if (what === 1) answers.splice(upTo(answers.length), 1);
      if (what === 2) answers = answers.toReversed();
      if (answers.length > 60) answers.length = 60 - upTo(3);
      // Not looked at after each change.
      if (what % 3 === 0) continue;
      known.follow(answers);
      expect(
        KEYS.flatMap((key) =>
          VALUES.map((value) => ({
            cleared: known.isCleared(key, value),
            first: known.first(key, value)?.id ?? null,
          })),
        ),
      ).toEqual(lookedAt(answers));
      expect([known.newest, [...known.keys()].toSorted()]).toEqual([
        answers[0]?.id ?? null,
        KEYS.filter((key) => answers.some((answer) => answer.key === key)),
      ]);
      expect(known.size).toBe(
        answers.reduce((sum, { brought, own, vouched }) => sum + brought.size + own.size + vouched.size, 0),
      );
    }
  });

  it('tell of two keys which answer was the first', () => {
    const known = heldValues();
    const [older, newer] = [answerOf(1), answerOf(2)];
    known.follow([
      { ...newer, key: 'k1', brought: new Map([['x', 0]]) },
      { ...older, key: 'k2', brought: new Map([['y', 0]]) },
    ]);
    const [one, other] = [known.first('k1', 'x'), known.first('k2', 'y')];
    expect((other?.age ?? 0) < (one?.age ?? 0)).toBe(true);
  });
});
