import { describe, expect, it } from '@jest/globals';
import { decisionOf } from '../../test/support/judgements.js';
import { comparedIn, decisionCompared } from '../replay/comparisons.js';
import { eventKept, reasonsKept } from './kept-reasons.js';

const QUOTED = 'Review: payee ann, SSN 078-05-1120 is new to us.';
const KEPT = 'Review: payee ann, SSN [SSN] is new to us.';
const LONG = `${QUOTED} ${'x'.repeat(300)}`;

describe('reasons in the ledger', () => {
  it('are kept without what a rule quotes of the arguments, time after time', () => {
    const said = { reasons: ['Violation: no.'], review_reasons: [QUOTED, LONG] };
    for (const _time of [1, 2])
      expect(reasonsKept(said)).toEqual({
        reasons: ['Violation: no.'],
        review_reasons: [KEPT, LONG.replace('078-05-1120', '[SSN]')],
      });
  });

  it('are so in the event of an evaluation, and in those of a batch', () => {
    const event = { tool_type: 'wire', reasons: [QUOTED], review_reasons: [7, QUOTED], amount: 5 };
    const kept = { ...event, reasons: [KEPT] };
    expect(eventKept(event)).toEqual(kept);
    expect(eventKept({ events: [event, 'none'] })).toEqual({ events: [kept, 'none'] });
  });

  it.each([
    ['as they are kept', KEPT],
    ['as they were kept before', QUOTED],
  ])('are derived again as the same: %s', (_how, recorded) => {
    const now = { ...decisionOf('yellow'), review_reasons: [QUOTED] };
    const then = (reasons: readonly string[]) =>
      ({ allow: now.allow, reasons: now.reasons, review_reasons: reasons, approval_tier: now.approval_tier }) as never;
    expect(comparedIn(decisionCompared(then([recorded]), now))).toMatchObject({ difference: null, compared: 4 });
    expect(comparedIn(decisionCompared(then([recorded, 'more']), now)).differences).toBe(1);
  });
});
