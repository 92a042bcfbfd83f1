import { expect, it } from '@jest/globals';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import { reportRowOf, type ReportRow } from './report-rows.js';
import { summaryOf, told } from './summaries.js';

it('the sentence about a modify says what was changed', () => {
  const replacements = [
    { path: ['amount'], value: 20 },
    { path: ['memo'], value: 'a\u202Eb' },
  ];
  const row = {
    kind: 'hil.modified',
    tool: 'wire_transfer',
    reasoning: 'Review: money moves',
    decision: {
      decided_by: 'operator:dev',
      modification_diff: { contract: 'gate.hil.modification-diff/v1', replacements },
    },
  } as unknown as ReportRow;
  expect(summaryOf(row)).toBe(
    '`operator:dev` changed the arguments of `wire_transfer`: `amount = 20, memo = "a\\u{202e}b"`: Review: money moves',
  );
  expect(summaryOf({ ...row, decision: { decided_by: 'operator:dev' } })).toBe(
    '`operator:dev` changed the arguments of `wire_transfer`: Review: money moves',
  );
});

it('a review that no call asked for is told by the same words when Gate ends it', () => {
  const row = {
    event_kind: 'hil.denied',
    source: 'simulator',
    reasoning: 'the tenant left',
    policy_decision: { decided_by: 'system:tenant-offboard' },
    tool_name: 'wire_transfer',
  } as unknown as LedgerEntry;
  expect(summaryOf(reportRowOf(row))).toBe('Gate denied `wire_transfer`: the tenant left');
});

it('foreign text stays on one line, with what nobody sees as escapes and none of them cut', () => {
  expect(told(' pay\n\u200bEve\u2028now ')).toBe('pay \\u{200b}Eve\\u{2028}now');
  expect(told('ab\u202ecd', 6)).toBe('ab…');
  expect(told('ab\u202ecd', 10)).toBe('ab\\u{202e}…');
  expect(told('a\ud83d\ude00b', 2)).toBe('a…');
  expect(told('run `ls`, and `more', 60)).toBe('run `ls`, and `more`');
});
