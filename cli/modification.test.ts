import { describe, expect, it } from '@jest/globals';
import type { PendingRequest } from '../contracts/review.js';
import { diffOf } from './modification.js';
import { whatRuns } from './review-text.js';

describe('a change of arguments on the command line', () => {
  it('names a key of an object and a key with a dot in it differently, and is shown as it is written', async () => {
    const set = ['limits.max=1', '"limits.max"=2', 'to="paid"'];
    const diff = await diffOf({ set });
    expect(diff.replacements).toEqual([
      { path: ['limits', 'max'], value: 1 },
      { path: ['limits.max'], value: 2 },
      { path: ['to'], value: 'paid' },
    ]);
    const row = {
      id: 'id',
      correlation_id: 'id',
      agent_id: 'bot',
      method: 'tools/call',
      risk_summary: '',
      request_payload: { params: { arguments: {} } },
      modification_diff: diff,
      status: 'approved',
      review_reasons: [],
    } as unknown as PendingRequest;
    const shown = whatRuns(row).split('\n');
    expect(shown.filter((line) => line.startsWith('changed to'))).toEqual([
      'changed to     limits.max = 1',
      'changed to     "limits.max" = 2',
      'changed to     to = "paid"',
    ]);
  });

  it.each(['=1', 'a', 'a..b=1', '"a.b=1'])('is refused where it names no place: %s', async (text) => {
    await expect(diffOf({ set: [text] })).rejects.toThrow(`--set ${text}: write path=value`);
  });
});
