import { describe, expect, it } from '@jest/globals';
import type { PendingRequest } from '../contracts/review.js';
import { whatRuns } from './review-text.js';

const row = (over: Partial<PendingRequest>): PendingRequest =>
  ({
    id: 'id',
    correlation_id: 'id',
    agent_id: 'bot',
    method: 'tools/call',
    risk_summary: 'money moves; off hours',
    review_reasons: [],
    request_payload: { params: { name: 'pay', arguments: { amount: 5 } } },
    status: 'denied',
    ...over,
  }) as unknown as PendingRequest;

const linesOf = (over: Partial<PendingRequest>) => whatRuns(row(over)).split('\n');

describe('a call as an operator reads it', () => {
  it('says each reason to wait in a line, with the definition of the tool and what the tool says of itself', () => {
    const lines = linesOf({
      review_reasons: [
        'money moves',
        'definition of the tool 0123456789abcdef of bank: as pinned',
        'the tool says of itself: "pays \u202Eevil"',
      ],
    });
    const at = lines.findIndex((line) => line.startsWith('why'));
    expect(lines.slice(at, at + 4)).toEqual([
      'why            money moves',
      '               definition of the tool 0123456789abcdef of bank: as pinned',
      '               the tool says of itself: "pays \\u{202e}evil"',
      expect.stringMatching(/^sandbox /),
    ]);
  });

  it('says the summary where a review names no reasons', () => {
    expect(linesOf({})).toContain('why            money moves; off hours');
  });
});
