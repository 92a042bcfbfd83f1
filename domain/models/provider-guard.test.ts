import { describe, expect, it } from '@jest/globals';
import { createProviderGuard } from './provider-guard.js';

const guardAt = (clock: { ms: number }, budget?: Parameters<typeof createProviderGuard>[0]['budget']) =>
  createProviderGuard({ budget, now: () => clock.ms });
const failAs = (guard: ReturnType<typeof guardAt>, tenant: string, times: number): void => {
  for (let time = 0; time < times; time += 1) guard.reserve(tenant, 0).ended('fails');
};
const HELD_BACK = 'the model did not answer: held_back';
const OVER_BUDGET = 'the model did not answer: over_budget';

describe('a provider that several tenants ask', () => {
  it('has a place for another tenant however many questions one has open', () => {
    const guard = guardAt({ ms: 0 });
    const all = Array.from({ length: 24 }, () => guard.reserve('loud', 0));
    expect(() => guard.reserve('loud', 0)).toThrow(HELD_BACK);
    for (const tenant of ['a', 'b', 'c', 'd']) all.push(guard.reserve(tenant, 0));
    expect(() => guard.reserve('loud', 0)).toThrow(HELD_BACK);
    for (const one of all) one.ended('answers');
    for (let count = 0; count < 24; count += 1) guard.reserve('loud', 0);
  });

  it('is held back from one tenant whose questions fail, and from nobody else', () => {
    const clock = { ms: 0 };
    const guard = guardAt(clock);
    failAs(guard, 'loud', 5);
    expect(() => guard.reserve('loud', 0)).toThrow(HELD_BACK);
    guard.reserve('other', 0).ended('answers');
    expect(() => guard.reserve('loud', 0)).toThrow(HELD_BACK);
    clock.ms = 30_000;
    guard.reserve('loud', 0).ended('answers');
    guard.reserve('loud', 0);
  });

  it('has a place for each of four that come last, whoever has the others', () => {
    const guard = guardAt({ ms: 0 });
    const fill = (tenant: string): number => {
      for (let places = 0; ; places += 1)
        try {
          guard.reserve(tenant, 0);
        } catch {
          return places;
        }
    };
    expect(['loud', 'b', 'c', 'd', 'e', 'f', 'g'].map(fill)).toEqual([24, 4, 1, 1, 1, 1, 0]);
  });

  it('is held back from everybody once the questions of several fail', () => {
    const guard = guardAt({ ms: 0 });
    failAs(guard, 'one', 5);
    expect(guard.holds()).toBe(false);
    failAs(guard, 'two', 1);
    expect(guard.holds()).toBe(true);
    expect(() => guard.reserve('three', 0)).toThrow(HELD_BACK);
  });

  describe('while it is held back from everybody', () => {
    const failing = () => {
      const clock = { ms: 0 };
      const guard = guardAt(clock);
      for (const tenant of ['mal', 'b', 'c', 'd', 'e']) failAs(guard, tenant, 1);
      expect(() => guard.reserve('b', 0)).toThrow(HELD_BACK);
      clock.ms = 30_000;
      return { clock, guard };
    };

    it('one tenant that tries in vain keeps it from nobody', () => {
      const { guard } = failing();
      failAs(guard, 'mal', 1);
      expect(() => guard.reserve('mal', 0)).toThrow(HELD_BACK);
      guard.reserve('b', 0).ended('answers');
      guard.reserve('c', 0);
    });

    it('nor one of whose question nothing is known, nor one whose question hangs', () => {
      const { clock, guard } = failing();
      guard.reserve('mal', 0).ended('unknown');
      const hanging = guard.reserve('c', 0);
      expect(() => guard.reserve('b', 0)).toThrow(HELD_BACK);
      clock.ms = 60_000;
      expect(() => guard.reserve('c', 0)).toThrow(HELD_BACK);
      guard.reserve('b', 0).ended('answers');
      hanging.ended('fails');
      guard.reserve('b', 0);
    });

    it('the questions of two that fail begin the pause anew', () => {
      const { clock, guard } = failing();
      failAs(guard, 'mal', 1);
      failAs(guard, 'c', 1);
      clock.ms = 59_999;
      expect(() => guard.reserve('b', 0)).toThrow(HELD_BACK);
      clock.ms = 60_000;
      guard.reserve('b', 0).ended('answers');
    });

    it('a tenant whose own questions fail tries where nobody else has for 30 s, and counts for itself alone', () => {
      const clock = { ms: 0 };
      const guard = guardAt(clock);
      failAs(guard, 'mal', 5);
      failAs(guard, 'b', 1);
      clock.ms = 59_999;
      expect(() => guard.reserve('mal', 0)).toThrow(HELD_BACK);
      clock.ms = 60_000;
      failAs(guard, 'mal', 1);
      failAs(guard, 'b', 1);
      guard.reserve('c', 0).ended('answers');
      expect(guard.holds()).toBe(false);
    });
  });

  it('keeps the rest of its budget from questions that may take a share of it', () => {
    const guard = guardAt({ ms: 0 }, { microsPerHour: 1_000, microsPerTenantAndHour: 100 });
    guard.reserve('a', 90, 0.9).ended('answers');
    expect(() => guard.reserve('a', 1, 0.9)).toThrow(OVER_BUDGET);
    guard.reserve('a', 10).ended('answers');
  });

  it('gives no tenant a new budget within the hour, however many others asked meanwhile', () => {
    const clock = { ms: 0 };
    const guard = guardAt(clock, { microsPerHour: 1_000_000_000, microsPerTenantAndHour: 100 });
    guard.reserve('loud', 100).settle(100);
    for (let other = 0; other < 10_001; other += 1) guard.reserve(`t${other}`, 1).ended('answers');
    expect(() => guard.reserve('loud', 100)).toThrow(OVER_BUDGET);
    clock.ms = 3_600_000;
    guard.reserve('loud', 100);
  });
});

describe('how a provider stands', () => {
  it('is told for everybody and for who asks, with when somebody may try, and says nothing of other tenants', () => {
    const clock = { ms: 0 };
    const guard = guardAt(clock);
    const closed = { circuit: 'closed', ofTenant: 'closed', againMs: null, budget: null };
    expect(guard.standing('loud')).toEqual(closed);
    failAs(guard, 'loud', 5);
    expect(guard.standing('loud')).toEqual({ ...closed, ofTenant: 'open', againMs: 30_000 });
    expect(guard.standing('other')).toEqual(closed);
    failAs(guard, 'other', 1);
    expect(guard.standing('third')).toEqual({ ...closed, circuit: 'open', againMs: 30_000 });
    clock.ms = 30_000;
    expect(guard.standing('third')).toEqual({ ...closed, circuit: 'trying' });
    guard.reserve('third', 0).ended('answers');
    expect(guard.standing('third')).toEqual(closed);
  });

  it('has the share of the budget that is used, with what is set aside, and begins anew with the hour', () => {
    const clock = { ms: 0 };
    const guard = guardAt(clock, { microsPerHour: 1_000, microsPerTenantAndHour: 200 });
    const used = (tenant: string | null) => guard.standing(tenant).budget;
    const open = guard.reserve('acme', 100);
    expect(used('acme')).toEqual({ usedPercent: 10, usedByTenantPercent: 50 });
    expect(used('globex')).toEqual({ usedPercent: 10, usedByTenantPercent: 0 });
    open.settle(200);
    expect(used('acme')).toEqual({ usedPercent: 20, usedByTenantPercent: 100 });
    clock.ms = 3_600_000;
    expect(used('acme')).toEqual({ usedPercent: 0, usedByTenantPercent: 0 });
  });

  it('of a budget of nothing, or of more than all of it, is all of it', () => {
    expect(guardAt({ ms: 0 }, { microsPerHour: 0, microsPerTenantAndHour: 0 }).standing('a').budget).toEqual({
      usedPercent: 100,
      usedByTenantPercent: 100,
    });
    const guard = guardAt({ ms: 0 }, { microsPerHour: 100, microsPerTenantAndHour: 100 });
    guard.reserve('a', 50).settle(1_000);
    expect(guard.standing('a').budget).toEqual({ usedPercent: 100, usedByTenantPercent: 100 });
  });
});
