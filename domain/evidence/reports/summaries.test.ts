import { expect, it } from '@jest/globals';
import type { ReportRow } from './report-rows.js';
import { summaryOf } from './summaries.js';

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
    'operator:dev changed the arguments of wire_transfer: amount = 20, memo = "a b": Review: money moves',
  );
  expect(summaryOf({ ...row, decision: { decided_by: 'operator:dev' } })).toBe(
    'operator:dev changed the arguments of wire_transfer: Review: money moves',
  );
});
