import { describe, expect, it } from '@jest/globals';
import type { CallDecoy } from '../../contracts/call.js';
import type { CallRecord } from '../../domain/call/record.js';
import { denied, foldVerdict } from '../../domain/call/verdict.js';
import { callInput } from '../../test/support/call-input.js';
import { answerOf, withDetail } from './answers.js';

const REASON = 'Violation: the operator denied this tool.';
const DECOY: CallDecoy = { id: 'a-decoy', kind: 'tool', action: 'suspend' };
const said = { allow: false, reasons: [REASON], review_reasons: [], approval_tier: null };

/** A call that was denied, as much of its record as an answer is made of. */
function recordOf(decoy?: CallDecoy): CallRecord {
  const call = { ...callInput(1_000), ...(decoy && { decoy }) };
  const folded = foldVerdict(null, said as unknown as Parameters<typeof foldVerdict>[1], 'enforce');
  const verdict = decoy ? denied(folded) : folded;
  return {
    correlation_id: 'a-call',
    state: 'denied',
    decision: null,
    outcome: null,
    evidence: { call, verdict, inspection: null },
  } as unknown as CallRecord;
}

describe('the answer to a call that touches a decoy', () => {
  it('is that of a tool that an operator denied, at a replay too', () => {
    const [touched, classed] = [recordOf(DECOY), recordOf()];
    expect(answerOf(touched, null, false)).toEqual(answerOf(classed, null, false));
    expect(answerOf(touched, null, true)).toEqual(answerOf(classed, null, false));
    expect(answerOf(touched, null, false)).toMatchObject({
      status: 403,
      body: { error: 'policy_denied', advice: { retry: 'no', person_can_help: false } },
    });
  });

  it('names the decoy in a verbose verdict alone', () => {
    const record = recordOf(DECOY);
    const answer = answerOf(record, null, false);
    if (!answer) throw new Error('no answer');
    expect(JSON.stringify(answer)).not.toContain('decoy');
    expect(withDetail(answer, record).body).toMatchObject({ detail: { decoy: DECOY } });
  });
});
