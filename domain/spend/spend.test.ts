import { describe, expect, it } from '@jest/globals';
import type { CallInput } from '../../contracts/call.js';
import { microsOf, toldMicros } from './amounts.js';
import { askedSpend, isSpent, monthOf, NO_BUDGETS, secondsToNextMonth } from './spend.js';

const SPEND: CallInput['spend'] = { month: '2026-03', reserved_micros: 90, prices: { pay: 20, book: 30 } };

describe('what a call may cost', () => {
  const price = (tool: string) => ({ pay: 20, book: 30 })[tool] ?? 0;
  it('is its models and each of its tools, also one that is called twice', () => {
    expect(askedSpend(['pay', 'free', 'pay', 'book'], price, 7, NO_BUDGETS)).toEqual({
      ...NO_BUDGETS,
      // Each call of a batch is inspected.
      mostMicros: 98,
      toolsMicros: 70,
      prices: { pay: 20, book: 30 },
    });
  });
  it('is told of a tool whatever it is called', () => {
    const told = askedSpend(['__proto__', 'constructor'], () => 5, 0, NO_BUDGETS);
    expect([told?.toolsMicros, Object.entries(told?.prices ?? {})]).toEqual([
      10,
      [
        ['__proto__', 5],
        ['constructor', 5],
      ],
    ]);
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
