import { describe, expect, it } from '@jest/globals';
import { callInput } from '../../test/support/call-input.js';
import { decisionOf, inspectionOf } from '../../test/support/judgements.js';
import { keepCanonical } from '../crypto/digest.js';
import { keyRing } from '../crypto/key-ring.js';
import { foldVerdict } from './verdict.js';
import type { VerdictEvidence } from './record.js';
import { recordOf, recordSealing, stepsOf } from './sealed-record.js';

const AT = Date.parse('2026-03-02T10:00:00.000Z');
const sealing = recordSealing(keyRing(new Map([['k', Buffer.alloc(32, 1)]])));

function evidenceOf(facts: VerdictEvidence['facts']): VerdictEvidence {
  const [decision, inspection] = [decisionOf('red'), inspectionOf(true)];
  return {
    call: callInput(AT, { tool: 'read_file' }),
    verdict: foldVerdict(inspection, decision, 'enforce'),
    inspection,
    inspection_failure: null,
    policy_failure: null,
    decision,
    facts,
    params_sha256: 'a'.repeat(64),
    callback_url: null,
  };
}
const history = () => ({
  last_tool: 'read_file',
  recent_sequence: stepsOf('read_file', ['a', 'b'], AT, 'r'),
});

describe('the row of a new record', () => {
  it.each<[string, VerdictEvidence['facts']]>([
    ['is missing', null],
    ['is plain', { tool_type: 'read_file', agent_history: history(), intent_score: 0.25, tool_classes: {} }],
    ['holds what no canonical text has', { tool_type: '\ud800', agent_history: history(), intent_score: 0 }],
    ['leaves a member out', { tool_type: 'x', agent_history: history(), intent_score: 0, tenant: undefined as never }],
  ])('opens as the record that was sealed, where what policy was told %s', (_which, facts) => {
    if (facts) keepCanonical(facts.agent_history as object);
    const evidence = evidenceOf(facts);
    const made = sealing.newRecord('denied', evidence, undefined, AT);
    const read = sealing.read(made.row);
    expect(read).toEqual(recordOf(made, JSON.parse(JSON.stringify(evidence)) as VerdictEvidence, undefined));
    expect(sealing.read({ ...made.row, verdict_sealed: made.row.verdict_sealed.slice(1) })).toHaveProperty('fault');
  });
});
