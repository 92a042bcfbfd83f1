import { describe, expect, it } from '@jest/globals';
import type { PendingRequest } from '../../contracts/review.js';
import { predictedOf, predictionOf, reasonsOf } from './told.js';

type Report = PendingRequest['sandbox_report'];
const whole: Report = {
  operation_class: 'write',
  severity: 'risky',
  reversible: 'no',
  summary: 'move 25 EUR to `vendor`',
  reasons: ['money moves', 3],
};

describe('what the sandbox said, in one line', () => {
  it.each<[string, Report, string]>([
    ['a report', whole, 'risky: move 25 EUR to `vendor` (cannot be undone)'],
    ['what can be undone', { ...whole, reversible: 'yes' }, 'risky: move 25 EUR to `vendor` (can be undone)'],
    ['what nobody knows about', { ...whole, reversible: 'unknown' }, 'risky: move 25 EUR to `vendor`'],
    ['what stays of a report', { operation_class: 'delete', severity: 'destructive' }, 'destructive: delete'],
    ['none', null, 'no report'],
    ['a row of an earlier Gate', undefined, 'no report'],
  ])('%s', (_what, sandbox_report, line) => {
    expect(predictionOf({ sandbox_report })).toBe(line);
  });

  it('beside its severity says that once', () => {
    expect(predictedOf({ sandbox_report: whole })).toBe('move 25 EUR to `vendor` (cannot be undone)');
    expect(predictedOf({ sandbox_report: null })).toBeNull();
  });

  it('and why, where the whole report is there', () => {
    expect(reasonsOf({ sandbox_report: whole })).toEqual(['money moves']);
    expect(reasonsOf({ sandbox_report: null })).toEqual([]);
  });
});
