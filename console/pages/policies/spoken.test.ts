import { describe, expect, it } from '@jest/globals';
import { timesSpoken } from './spoken.js';

const verdict = (reasons: readonly string[], review_reasons: readonly string[] = []) => ({
  policy_decision: { reasons: [...reasons], review_reasons: [...review_reasons] },
});
const counted = (words: readonly string[], ...verdicts: ReturnType<typeof verdict>[]) =>
  Object.fromEntries(timesSpoken(words, verdicts));

describe('how often a rule spoke', () => {
  it('counts verdicts, not lines, of what denies and of what asks a person', () => {
    expect(counted(['A', 'B'], verdict(['A', 'A']), verdict([], ['A', 'B']), verdict([]))).toEqual({ A: 2, B: 1 });
  });

  it('gives a line to the words that say most by themselves, and to no others', () => {
    const words = ['Review: %s', 'Review: wire of %s to %s.', 'Review: wire'];
    expect(
      counted(words, verdict(['Review: wire of 5 to x.']), verdict(['Review: wire']), verdict(['Review: y'])),
    ).toEqual({
      'Review: %s': 1,
      'Review: wire of %s to %s.': 1,
      'Review: wire': 1,
    });
  });

  it('does not take words that stand somewhere in a line for the line', () => {
    expect(counted(['wire', 'no %s here'], verdict(['a wire b', 'no', 'no  her', 'say no x here']))).toEqual({
      wire: 0,
      'no %s here': 0,
    });
  });

  it.each([
    ['ab%sba', 'aba', 0],
    ['ab%sba', 'abba', 1],
    ['%s', '', 1],
    ['%sx%sx', 'xx', 1],
    ['%sx%sx', 'x', 0],
  ])('%j in %j: %d', (words, line, times) => {
    expect(counted([words], verdict([line]))).toEqual({ [words]: times });
  });

  it('leaves out a verdict that says nothing readable', () => {
    expect(timesSpoken(['A'], [{ policy_decision: null }, { policy_decision: { reasons: 'A' } }]).get('A')).toBe(0);
  });
});
