import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { InspectionResponse } from '../../contracts/inspection.js';
import type { PolicyDecision } from '../../contracts/policy.js';
import { loadPolicySet } from '../../adapters/policy/load-policy-set.js';
import { shippedPolicyDirectory } from '../../adapters/policy/policy-sources.js';
import { decisionOf, inspectionOf } from '../../test/support/judgements.js';
import { intentScore } from '../inspection/intent-score.js';
import { foldVerdict } from './verdict.js';

const brain = (change: Partial<InspectionResponse> = {}): InspectionResponse => ({ ...inspectionOf(true), ...change });
const policy = (change: Partial<PolicyDecision> = {}): PolicyDecision => ({ ...decisionOf('green'), ...change });
const REFUSED = brain({ authorized: false, reason: 'injection detected' });

describe('the verdict fold', () => {
  it.each<[string, InspectionResponse | null, Partial<PolicyDecision>, object]>([
    [
      'allow and authorized: green',
      brain(),
      { allow: true },
      { tier: 'green', outcome: 'allow', layer: null, reasons: [] },
    ],
    [
      'a deny reason: red, by policy',
      brain(),
      { allow: false, reasons: ['Violation: a'] },
      { tier: 'red', outcome: 'deny', layer: 'policy', reasons: ['Violation: a'] },
    ],
    [
      'brain refuses: red, by brain, whatever policy allows',
      REFUSED,
      { allow: true },
      { tier: 'red', outcome: 'deny', layer: 'brain', reasons: ['injection detected'] },
    ],
    [
      'both refuse: brain is the first layer, and both say why',
      REFUSED,
      { allow: false, reasons: ['Violation: a', 'Violation: b'] },
      { tier: 'red', layer: 'brain', reasons: ['injection detected', 'Violation: a', 'Violation: b'] },
    ],
    [
      'a review reason: yellow',
      brain(),
      { allow: false, review_reasons: ['Review: money'] },
      { tier: 'yellow', outcome: 'park', layer: null, reasons: [], review_reasons: ['Review: money'] },
    ],
    [
      'a suspected deed that the rules do not know: yellow, and said',
      brain({ intent_suspicions: ['drop_database'] }),
      { allow: true },
      { tier: 'yellow', outcome: 'park', review_reasons: [expect.stringContaining('(drop_database)')] },
    ],
    [
      'a suspected deed beside what the rules ask: both are said',
      brain({ intent_suspicions: ['wipe_disk', 'drop_database'] }),
      { allow: false, review_reasons: ['Review: money'] },
      {
        tier: 'yellow',
        outcome: 'park',
        review_reasons: ['Review: money', expect.stringContaining('(drop_database, wipe_disk)')],
      },
    ],
    [
      'a suspected deed that the rules deny: red',
      brain({ intent_suspicions: ['drop_database'] }),
      { allow: false, reasons: ['Violation: a'] },
      { tier: 'red', outcome: 'deny', reasons: ['Violation: a'], review_reasons: [] },
    ],
    [
      'a review reason beside allow: yellow, for allow alone is not looked at',
      brain(),
      { allow: true, review_reasons: ['Review: money'] },
      { tier: 'yellow', outcome: 'park' },
    ],
    [
      'deny beats review',
      brain(),
      { allow: false, reasons: ['Violation: a'], review_reasons: ['Review: money'] },
      { tier: 'red', outcome: 'deny', layer: 'policy' },
    ],
    [
      'brain beats review',
      REFUSED,
      { allow: false, review_reasons: ['Review: money'] },
      { tier: 'red', outcome: 'deny', layer: 'brain' },
    ],
    [
      'nothing said at all: red, and it says that no rule allows the call',
      brain(),
      { allow: false },
      { tier: 'red', outcome: 'deny', layer: 'policy', reasons: ['Violation: no rule allows this call'] },
    ],
    [
      'no inspection: policy rules alone',
      null,
      { allow: true },
      { tier: 'green', intent_category: 'Direct Execution' },
    ],
    [
      'no inspection, and policy denies',
      null,
      { allow: false, reasons: ['Violation: a'] },
      { tier: 'red', layer: 'policy' },
    ],
  ])('%s', (_what, inspection, decision, expected) => {
    expect(foldVerdict(inspection, policy(decision), 'enforce')).toMatchObject(expected);
  });

  it('says a suspected deed once where the shipped rules say it', async () => {
    const rules = await loadPolicySet({ directory: shippedPolicyDirectory() });
    const intent_suspicions = ['wipe_disk', 'drop_database'];
    const heard = rules.evaluate({
      tool_type: 'list_files',
      agent_history: { last_tool: null, recent_sequence: [] },
      intent_score: 0,
      arguments: {},
      intent_suspicions,
    });
    expect(heard.review_reasons).toEqual([expect.stringContaining('(drop_database, wipe_disk)')]);
    expect(foldVerdict(brain({ intent_suspicions }), heard, 'enforce').review_reasons).toEqual(heard.review_reasons);
  });

  it('observe lets everything through and keeps the true tier', () => {
    const observed = (inspection: InspectionResponse | null, decision: Partial<PolicyDecision>) =>
      foldVerdict(inspection, policy(decision), 'observe');
    expect(observed(brain(), { allow: true })).toMatchObject({ tier: 'green', outcome: 'allow', would: null });
    expect(observed(brain(), { allow: false, reasons: ['Violation: a'] })).toMatchObject({
      tier: 'red',
      outcome: 'allow',
      would: 'deny',
      layer: 'policy',
    });
    expect(observed(REFUSED, { allow: true })).toMatchObject({ tier: 'red', outcome: 'allow', would: 'deny' });
    expect(observed(brain(), { allow: false, review_reasons: ['Review: a'] })).toMatchObject({
      tier: 'yellow',
      outcome: 'allow',
      would: 'pend',
    });
  });

  it('takes the approval tier of the policy, and standard where it names none that exists', () => {
    for (const [named, tier] of [
      ['auto', 'auto'],
      ['standard', 'standard'],
      ['strict', 'strict'],
      [null, 'standard'],
      ['', 'standard'],
      ['platinum', 'standard'],
    ] as const)
      expect(foldVerdict(brain(), policy({ approval_tier: named }), 'enforce').approval_tier).toBe(tier);
  });

  it('tells policy what brain said as one of two numbers; an outage counts as authorized, for policy still rules', () => {
    expect([intentScore(brain()), intentScore(REFUSED), intentScore(null)]).toEqual([0.1, 0.5, 0.1]);
  });

  it('lets nothing through that anybody refused, whatever else was said', () => {
    const text = fc.array(fc.string({ minLength: 1 }), { maxLength: 3 });
    fc.assert(
      fc.property(fc.option(fc.boolean()), fc.boolean(), text, text, (authorized, allow, reasons, review_reasons) => {
        const inspection = authorized === null ? null : brain({ authorized });
        const verdict = foldVerdict(inspection, policy({ allow, reasons, review_reasons }), 'enforce');
        const clean = authorized !== false && reasons.length === 0 && review_reasons.length === 0 && allow;
        expect(verdict.outcome === 'allow').toBe(clean);
        expect(verdict.would).toBeNull();
        expect(verdict.tier === 'red').toBe(verdict.outcome === 'deny');
        if (verdict.tier === 'red') expect(verdict.reasons.length).toBeGreaterThan(0);
      }),
    );
  });
});
