import { beforeAll, describe, expect, it } from '@jest/globals';
import { loadPolicySet } from '../../adapters/policy/load-policy-set.js';
import { shippedPolicyDirectory } from '../../adapters/policy/policy-sources.js';
import type { PolicyInput } from '../../contracts/policy.js';
import type { AddedRules } from './added-rules.js';
import { judgedBefore, judgedInLab } from './lab.js';
import { ORDINARY_CALL } from './ordinary-call.js';
import type { PolicySet, TimedJudgement } from './policy-set.js';

let floor: PolicySet;
let candidate: AddedRules;
beforeAll(async () => {
  floor = await loadPolicySet({ directory: shippedPolicyDirectory() });
  candidate = {
    bundle: floor.bundle,
    material: null as never,
    watched: () => ({}),
    bytes: () => 0,
    judge: () => ({ deny: [], review: ['Review: candidate.'] }),
  };
});
const both = (input: PolicyInput): readonly [TimedJudgement, TimedJudgement] => {
  let ms = 0;
  const [before, after] = floor.judgeEach(input, [null, candidate], { now: () => (ms += 1) });
  return [before as TimedJudgement, after as TimedJudgement];
};
const input = (more: object): PolicyInput => ({ ...ORDINARY_CALL, ...more }) as unknown as PolicyInput;

describe('calls in a lab', () => {
  it('are judged by both, a batch as one request with what its calls leave for the next', async () => {
    const request = {
      params: {
        contract: 'gate.atomic-tool-call-batch/v1',
        calls: [
          { id: 'a', name: 'customer_db_read', arguments: {} },
          { id: 'b', name: 'http_post', arguments: {} },
        ],
      },
    };
    const batch = { tool_type: 'gate/tools.batch', method: 'gate/tools.batch' };
    const [single, whole, gone, unreadable] = await judgedInLab(
      [
        { input: input({}), request: null },
        { input: input(batch), request },
        { input: input(batch), request: null },
        { input: { tool_type: 'x' } as PolicyInput, request: null },
      ],
      both,
    );
    expect(single).toMatchObject({
      before: { tier: 'green' },
      after: { tier: 'yellow', review_reasons: ['Review: candidate.'] },
      beforeUs: 2_000,
      afterUs: 2_000,
    });
    const chain = 'Violation: kill chain: a sensitive read was followed by an external egress tool.';
    expect(whole).toMatchObject({ before: { reasons: [chain] }, after: { tier: 'red', reasons: [chain] } });
    expect(whole?.after.review_reasons).toContain('Review: candidate.');
    expect(whole?.before.review_reasons).not.toContain('Review: candidate.');
    expect([gone, unreadable]).toEqual([null, null]);
  });

  it('are judged some hundred times before they are timed, also where they are few, and no longer than is given', async () => {
    const count = async (calls: number, most = Number.POSITIVE_INFINITY): Promise<number> => {
      let judged = 0;
      const counted = (one: PolicyInput) => {
        judged += 1;
        return both(one);
      };
      const few = Array.from({ length: calls }, () => ({ input: input({}), request: null }));
      await judgedBefore(few, counted, () => judged < most);
      return judged;
    };
    expect([await count(0), await count(1), await count(3), await count(250), await count(3, 10)]).toEqual([
      0, 200, 201, 250, 10,
    ]);
  });
});
