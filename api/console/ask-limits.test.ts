import { expect, it } from '@jest/globals';
import { LONGEST_ANSWER_MS } from '../../console/answer-wait.js';
import { ASK_LIMITS } from './ask-limits.js';

it('is said that a form is on its way for as long as its answer may take: the longest act, and then a page that waits as well', () => {
  const { decideMs, exportMs, changeMs, reportMs, readMs } = ASK_LIMITS;
  expect(LONGEST_ANSWER_MS).toBeGreaterThan(Math.max(decideMs, exportMs, changeMs) + reportMs + 2 * readMs);
});
