import { describe, expect, it } from '@jest/globals';
import { explainPattern } from '../../../contracts/narration.js';
import type { ApprovedPart, MinedFacts } from '../../../contracts/policy-mining.js';
import { MINED_FACTS } from '../../../test/support/mined-facts.js';
import { GateError } from '../../errors.js';
import { explainedBy, questionOf } from './explained.js';
import { suggestionOf } from './suggestions.js';

const PART: ApprovedPart = {
  upstream: 'bank',
  agents: ['acme/secret-agent', 'acme/other'],
  approvals: 30,
  objects: [{ pointer: '', names: ['amount', 'to', 'note', 'kind'] }],
  arguments: [
    { pointer: '/amount', is: { from: 1, to: 250, whole: true, text: false, decimals: 0 } },
    { pointer: '/to', is: { equals: 'DE-secret-account' } },
    { pointer: '/note', is: { like: 'secret note 0000' } },
    { pointer: '/kind', is: { one_of: ['secret', 'other'] } },
  ],
};
const foundWith = (facts: Partial<MinedFacts>) =>
  suggestionOf(
    { tenant: 'acme', tool: 'wire_transfer', name: 'mined_wire_transfer.rego', body: 'package gate.authz' },
    { ...MINED_FACTS, ...facts },
    1,
    '2026-11-02T10:00:00.000Z',
  );

describe('what a model is asked about a rule that was mined', () => {
  it('holds sums and numbers, and no agent, text of an argument, or call', () => {
    const question = questionOf(foundWith({ parts: [PART] }));
    expect(explainPattern.parse(question)).toEqual(question);
    expect(question).toMatchObject({
      tenant: 'acme',
      kind: 'approved_calls',
      tool_type: 'wire_transfer',
      evidence_count: 1,
      threshold: {
        parts: [
          {
            agents: 2,
            approvals: 30,
            arguments: {
              'argument 1': { from: 1, to: 250 },
              'argument 2': { fixed: true },
              'argument 3': { fixed_form: true },
              'argument 4': { values: 2 },
            },
            further_arguments: 0,
          },
        ],
        further_parts: 0,
      },
    });
    expect(JSON.stringify(question)).not.toContain('secret');
  });

  it('stays within what may be asked, however large the rule is', () => {
    const bounds = Array.from({ length: 60 }, (_, at) => ({
      pointer: `/${'語'.repeat(60)}${at}`,
      is: { from: Number.MIN_SAFE_INTEGER, to: Number.MAX_SAFE_INTEGER, whole: true, text: false, decimals: 0 },
    }));
    const question = questionOf({
      ...foundWith({ parts: Array.from({ length: 30 }, () => ({ ...PART, arguments: bounds })) }),
      tool: 't'.repeat(256),
    });
    expect(explainPattern.safeParse(question).success).toBe(true);
    expect(question.threshold).toMatchObject({ further_parts: 27 });
  });
});

describe('a model’s words about it', () => {
  const words = { one_liner: 'Lets small transfers pass.', rationale: 'Many were approved.', model: 'a:b' };

  it('come with the name of who wrote them', async () => {
    const explain = explainedBy({ explainPattern: async () => words });
    expect(await explain(foundWith({}))).toEqual(words);
  });

  it('are none where nobody writes any', async () => {
    const explain = explainedBy({ explainPattern: () => Promise.reject(new GateError('provider_unavailable')) });
    expect(await explain(foundWith({}))).toBeNull();
  });
});
