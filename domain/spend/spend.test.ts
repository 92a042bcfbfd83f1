import { describe, expect, it } from '@jest/globals';
import type { CallInput, CallState } from '../../contracts/call.js';
import { callInput } from '../../test/support/call-input.js';
import { inspectionOf } from '../../test/support/judgements.js';
import type { CallRecord, RecordedOutcome, RecordedStep } from '../call-record/record.js';
import { microsOf, toldMicros } from './amounts.js';
import { askedSpend, costOf, isSpent, monthOf, NO_BUDGETS, secondsToNextMonth } from './spend.js';

const step = (tool: string, stage: RecordedStep['stage']): RecordedStep => ({
  id: tool,
  tool,
  params_sha256: '0'.repeat(64),
  stage,
  status_code: 200,
  duration_ms: 1,
  result_sha256: null,
  error: null,
  at: '2026-03-02T10:00:00.000Z',
});
const SPEND: CallInput['spend'] = { month: '2026-03', reserved_micros: 90, prices: { pay: 20, book: 30 } };
const cost = (
  state: CallState,
  {
    call = {},
    steps,
    tools,
    micros = 5,
    ...more
  }: {
    call?: Partial<CallInput>;
    steps?: RecordedStep[];
    tools?: string[];
    micros?: number;
    outcome?: Partial<RecordedOutcome>;
    decision?: object;
  } = {},
) =>
  costOf({
    state,
    evidence: {
      call: callInput(0, { tool: 'pay', spend: SPEND, ...call }),
      inspection: { ...inspectionOf(true), cost_micros: micros },
      ...(steps && { steps }),
      ...(tools && { sibling_tools: tools }),
    } as unknown as CallRecord['evidence'],
    outcome: (more.outcome ?? null) as RecordedOutcome | null,
    decision: (more.decision ?? null) as CallRecord['decision'],
  });

describe('what a call cost', () => {
  it.each<[CallState, number | null]>([
    ['decided', null],
    ['parked', null],
    ['allowed', null],
    ['approved', null],
    ['intended', null],
    ['denied', 5],
    ['expired', 5],
    ['abandoned', 5],
    ['aborted', 5],
    ['not_run', 5],
    ['completed', 25],
    ['uncertain', 25],
    ['tampered', 90],
  ])('that is %s: %s', (state, expected) => expect(cost(state)).toBe(expected));

  it('of which nothing is kept is not known', () =>
    expect(cost('completed', { call: { spend: undefined as never } })).toBeNull());

  it('counts a verdict for who runs the call himself as if it ran', () => {
    for (const state of ['allowed', 'approved'] as const)
      expect(cost(state, { call: { contract: 'gate.decision/v1' } })).toBe(25);
    expect(cost('denied', { call: { contract: 'gate.decision/v1' } })).toBe(5);
  });

  it('has the inspection of an approver’s change, and what models read of the answers', () => {
    expect(
      cost('completed', {
        decision: { changed: { cost_micros: 3 } },
        outcome: { inspected: { cost_micros: 4 } as never },
      }),
    ).toBe(32);
    const read = { ...step('pay', 'completed'), inspected: { cost_micros: 2 } as never };
    expect(cost('completed', { tools: ['pay'], steps: [read] })).toBe(27);
  });

  it('of a batch is that of the calls that ran, and of the one that was under way', () => {
    const tools = ['pay', 'book', 'pay', 'free'];
    const steps = [step('pay', 'completed'), step('book', 'not_run')];
    expect(cost('completed', { tools, steps: [...steps, step('pay', 'failed')] })).toBe(5 + 20 + 20);
    // The third was sent, and nobody knows; the fourth was not.
    expect(cost('uncertain', { tools, steps })).toBe(5 + 20 + 20);
    expect(cost('uncertain', { tools, steps: [] })).toBe(5 + 20);
    expect(cost('not_run', { tools, steps })).toBe(5 + 20);
    // Whose word it is that it ran, says so of all.
    expect(cost('completed', { tools, steps, outcome: { reconciled: {} as never } })).toBe(5 + 70);
  });
});

describe('what a call may cost', () => {
  const price = (tool: string) => ({ pay: 20, book: 30 })[tool] ?? 0;
  it('is its models and each of its tools, also one that is called twice', () => {
    expect(askedSpend(['pay', 'free', 'pay', 'book'], price, 7, NO_BUDGETS)).toEqual({
      ...NO_BUDGETS,
      mostMicros: 77,
      prices: { pay: 20, book: 30 },
    });
  });
  it('is not asked for where that is nothing and nobody set a budget', () => {
    expect(askedSpend(['free'], price, 0, NO_BUDGETS)).toBeNull();
    expect(askedSpend(['free'], price, 0, { tenantMicros: 0, agentMicros: null })).toMatchObject({ mostMicros: 0 });
    expect(askedSpend(['free'], price, 0, { tenantMicros: null, agentMicros: 9 })).toMatchObject({ mostMicros: 0 });
  });
  it('is nothing more where the budget is spent, exactly or more', () => {
    const of = (spent_micros: number) =>
      isSpent({ spend: { ...(SPEND as object), budget: { of: 'agent', budget_micros: 10, spent_micros } } as never });
    expect([of(9), of(10), of(11), isSpent({}), isSpent({ spend: SPEND as never })]).toEqual([
      false,
      true,
      true,
      false,
      false,
    ]);
  });
});

describe('a month', () => {
  it('is that of UTC, and begins anew with its first second', () => {
    const end = Date.parse('2026-12-31T23:59:59.500Z');
    expect([monthOf(end), monthOf(end + 500), secondsToNextMonth(end)]).toEqual(['2026-12', '2027-01', 1]);
    expect(secondsToNextMonth(Date.parse('2026-02-01T00:00:00Z'))).toBe(28 * 86_400);
  });
});

describe('a sum that a person types', () => {
  it.each([
    ['12.50', 12_500_000, '12.50'],
    ['0', 0, '0.00'],
    ['0.000001', 1, '0.000001'],
    ['9999999999', 9_999_999_999_000_000, undefined],
    ['1000000000', 1_000_000_000_000_000, '1000000000.00'],
    ['250', 250_000_000, '250.00'],
    ['0.1234', 123_400, '0.1234'],
  ])('%s', (text, micros, told) => {
    expect(microsOf(text)).toBe(told === undefined ? undefined : micros);
    if (told !== undefined) expect(toldMicros(micros)).toBe(told);
  });
  it.each(['', '-1', '1,5', '1.', '.5', '1.1234567', '1e3', ' 1', 'none', '99999999999'])('is none: %j', (text) =>
    expect(microsOf(text)).toBeUndefined(),
  );
});
