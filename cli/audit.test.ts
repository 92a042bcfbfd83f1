import { describe, expect, it } from '@jest/globals';
import type { LedgerEntry } from '../contracts/ledger.js';
import { rowsOfCall, story } from './audit.js';
import { CliError } from './errors.js';

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

describe('the rows of a call', () => {
  const target = (answers: Readonly<Record<string, unknown>>) => ({
    ask: async <T>(service: string, _method: string, path: string): Promise<T> => {
      const answer = answers[`${service}${path}`] ?? new CliError('not_found', 4);
      if (answer instanceof Error) throw answer;
      return answer as T;
    },
  });
  const found = [row({})];
  const nothing = { 'ledger/audit/correlation/row': [] };

  it('are found by its correlation id, and by the id of its review', async () => {
    expect(await rowsOfCall(target({ 'ledger/audit/correlation/call': found }), 'call')).toBe(found);
    const byReview = {
      ...nothing,
      'hil/pending/row': { correlation_id: 'call' },
      'ledger/audit/correlation/call': found,
    };
    expect(await rowsOfCall(target(byReview), 'row')).toBe(found);
  });

  it('are none where there is no such review, and an error where nobody can say', async () => {
    expect(await rowsOfCall(target(nothing), 'row')).toEqual([]);
    const away = new CliError('the hil service does not answer', 5);
    await expect(rowsOfCall(target({ ...nothing, 'hil/pending/row': away }), 'row')).rejects.toBe(away);
  });
});
