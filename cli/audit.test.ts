import { describe, expect, it } from '@jest/globals';
import type { LedgerEntry } from '../contracts/ledger.js';
import { story } from './audit.js';

const row = (over: Partial<LedgerEntry>) =>
  ({
    event_kind: 'hil.modified',
    decided_by: 'operator:dev',
    reasoning: 'Review: money moves',
    policy_decision: null,
    ...over,
  }) as LedgerEntry;
const change = (value: string | number) => ({
  modification_diff: { contract: 'gate.hil.modification-diff/v1', replacements: [{ path: ['limits', 'a b'], value }] },
});

describe('the row of a modify in gate audit', () => {
  it('says what was changed, between who changed it and why the call waited', () => {
    expect(story(row({ policy_decision: change(20) }))).toBe('by operator:dev: limits."a b" = 20: Review: money moves');
  });

  it('says the beginning of a long value, and all of the rest', () => {
    const said = story(row({ policy_decision: change('x'.repeat(4_000)) }));
    expect(said).toMatch(/= "x+…: Review: money moves$/);
    expect(said.length).toBeLessThan(500);
  });

  it('is as any other row where it names no change', () => {
    expect(story(row({}))).toBe('by operator:dev: Review: money moves');
  });
});
