import { describe, expect, it } from '@jest/globals';
import type { SelectedContract } from './contract-selection.js';
import { pendingHandleOf } from './pending-handle.js';

const DECISION: SelectedContract = { contract: 'gate.decision/v1', idempotencyId: 'x' };
const both = { pendingId: 'a', payloadSha256: 'b' };

describe('the handle of a decision that waits', () => {
  it('is both headers, or none', () => {
    expect(pendingHandleOf({ pendingId: undefined, payloadSha256: undefined }, null)).toBeNull();
    expect(pendingHandleOf(both, DECISION)).toEqual(both);
  });

  it.each([
    ['without its id', { ...both, pendingId: undefined }, DECISION, /together/],
    ['without its digest', { ...both, payloadSha256: undefined }, DECISION, /together/],
    ['without a contract', both, null, /belong to gate.decision\/v1/],
    ['under another contract', both, { ...DECISION, contract: 'gate.server-execution/v1' as const }, /belong to/],
  ])('is refused %s', (_what, headers, selected, why) => {
    expect(() => pendingHandleOf(headers, selected)).toThrow(why);
    expect(() => pendingHandleOf(headers, selected)).toThrow(
      expect.objectContaining({ code: 'decision_selector_invalid', status: 400 }),
    );
  });
});
