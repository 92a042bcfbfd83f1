import { expect, it } from '@jest/globals';
import { isDenial, reviewEndOf } from './outcome.js';

const ended = (kind: string, decision: Record<string, string>) => ({
  kind,
  decision,
  authorized: kind === 'hil.approved',
});

it.each([
  ['hil.denied', { decided_by: 'operator:dev' }, 'denied', true],
  // Who changes a call approves it; what policy then says is policy's.
  ['hil.denied', { decided_by: 'operator:dev', decision: 'modify' }, 'changed_then_denied', true],
  ['hil.approved', { decided_by: 'operator:dev', decision: 'modify' }, 'approved', false],
  ['hil.denied', { decided_by: 'system:tenant-offboard' }, 'denied_by_gate', false],
  ['hil.denied', { decided_by: 'system:withdrawn-by-agent' }, 'withdrawn', false],
] as const)('a review that ended by %s with %j is %s', (kind, decision, end, denied) => {
  expect([reviewEndOf(ended(kind, decision)), isDenial(ended(kind, decision))]).toEqual([end, denied]);
});
