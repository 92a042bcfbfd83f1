import { describe, expect, it } from '@jest/globals';
import { decisionOf } from '../../test/support/judgements.js';
import { comparedIn, decisionCompared } from '../replay/comparisons.js';
import { eventKept, keptReasons, reasonsKept } from './kept-reasons.js';
import { namedSecrets, NO_SECRETS } from './named-secrets.js';

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
    expect(comparedIn(decisionCompared(then([recorded]), now, NO_SECRETS))).toMatchObject({
      difference: null,
      compared: 4,
    });
    expect(comparedIn(decisionCompared(then([recorded, 'more']), now, NO_SECRETS)).differences).toBe(1);
  });

  describe('that quote what a name alone says to be a secret', () => {
    const REQUEST = {
      to: 'ann-corp',
      password: 'blue-42',
      login: { pin: 4711, secret: { of: ['river', 'hill top'] } },
      header: [{ name: 'X-Api-Key', value: 'k3y-of-ann' }, 'x'],
    };
    const secrets = namedSecrets(REQUEST);

    it.each([
      ['Review: blue-42 is new', 'Review: [MASKED] is new'],
      ['blue-42, blue-42.', '[MASKED], [MASKED].'],
      ['Review: k3y-of-ann for ann-corp', 'Review: [MASKED] for ann-corp'],
      ['Review: code "4711" of 4711', 'Review: code "[MASKED]" of 4711'],
      ['Review: "river" and `hill top` by the river', 'Review: "[MASKED]" and `[MASKED]` by the river'],
      ['Review: ablue-42', 'Review: ablue-42'],
    ])('are kept without it: %s', (said, kept) => {
      expect(keptReasons([said], secrets)).toEqual([kept]);
      expect(eventKept({ events: [{ reasons: [said] }] }, secrets)).toEqual({ events: [{ reasons: [kept] }] });
    });

    it('are looked for in so many members of a request and no more', () => {
      let read = 0;
      const names = Array.from({ length: 30_000 }, (_, at) => `pass-${at}`);
      const member = { enumerable: true, get: () => `blue-${(read += 1)}`.slice(0, 3) };
      namedSecrets(Object.defineProperties({}, Object.fromEntries(names.map((name) => [name, member]))))();
      expect(read).toBeLessThanOrEqual(20_000);
    });

    it('say as much as before to an agent who calls their words his password', () => {
      const said = 'Violation: shell command of another tenant.';
      for (const password of ['Violation', 'shell command', said, 'a', 'tion'])
        expect(keptReasons([said], namedSecrets({ password }))).toEqual([said]);
    });

    it.each([
      ['Violation: prompt injection detected.', ['Violation:', 'detected.', 'Violation: ', '"injection"', '----']],
      ['Review: amount 5000 is over 1,000 for wire_transfer.', ['5000', '1,000', 5000, 'wire_transfer', 'transfer.']],
      ['Review: of acme.payments:write, 10:30, 5% of what is tenant’s', ['acme.payments:write', '10:30', 'tenant’s']],
    ])('say as much as before to one who has them in numbers, identifiers and with points: %s', (said, token) => {
      expect(keptReasons([said], namedSecrets({ token }))).toEqual([said]);
    });

    it.each(['blue-42 is new', '[MASKED] is new'])(
      'are derived again as the same, as they were kept: %s',
      (recorded) => {
        const now = { ...decisionOf('yellow'), review_reasons: ['blue-42 is new'] };
        const then = { review_reasons: [recorded] } as never;
        expect(comparedIn(decisionCompared(then, now, secrets))).toMatchObject({ difference: null, compared: 1 });
      },
    );

    it('were derived as the same by a row that an earlier Gate kept', () => {
      const now = { ...decisionOf('yellow'), review_reasons: ['blue-42, 078-05-1120'] };
      const then = { review_reasons: ['blue-42, [SSN]'] } as never;
      expect(comparedIn(decisionCompared(then, now, secrets)).difference).toBeNull();
    });
  });
});
