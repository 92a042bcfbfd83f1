import { describe, expect, it } from '@jest/globals';
import type { CallInput, CallState, CallSummary } from '../../contracts/call.js';
import type { PolicyDecision } from '../../contracts/policy.js';
import { callInput } from '../../test/support/call-input.js';
import { decisionOf, inspectionOf } from '../../test/support/judgements.js';
import { APPROVED_CLAIM_LIMIT_MS } from './transitions.js';
import {
  type Evaluated,
  type Inspected,
  type JudgeSteps,
  judgeCall,
  type PipelineSteps,
  PipelineUnavailable,
  runCall,
} from './pipeline.js';

const NOW = Date.parse('2026-03-02T10:00:00Z');
const callOf = (change: Partial<CallInput> = {}): CallInput => callInput(NOW, change);
const summaryOf = (state: CallState, change: Partial<CallSummary> = {}): CallSummary => ({
  correlation_id: 'c',
  state,
  tier: 'green',
  approval_tier: 'standard',
  pending_id: null,
  deadline_ms: null,
  decided_ms: null,
  ...change,
});

/** Steps that tell their order; each answers with the state the test gives it. */
function steps(states: {
  judge?: CallState;
  decision?: CallState;
  rule?: CallState;
  decidedMs?: number;
  appliedMs?: number;
  execution?: CallState;
}) {
  const told: string[] = [];
  const say = (line: string) => void told.push(line);
  const pipeline: PipelineSteps = {
    now: () => NOW,
    judge: async () => {
      say('judge');
      return summaryOf(states.judge ?? 'allowed');
    },
    analyze: async () => say('analyze'),
    openReview: async () => {
      say('open review');
      return summaryOf('parked', { pending_id: 'p', deadline_ms: NOW + 600_000 });
    },
    askRule: async (_call, parked) => {
      say('ask the rule');
      return states.rule ? summaryOf(states.rule, { approval_tier: 'auto', pending_id: 'p' }) : parked;
    },
    awaitDecision: async () => {
      say('await decision');
      return summaryOf(states.decision ?? 'approved', {
        decided_ms: states.decidedMs ?? null,
        ...(states.appliedMs !== undefined && { applied_ms: states.appliedMs }),
      });
    },
    execute: async (_call, permitted, claimNotAfterMs) => {
      say(`execute ${permitted.state} until +${claimNotAfterMs - NOW}`);
      return summaryOf(states.execution ?? 'completed');
    },
    appendRows: async () => say('append'),
    notify: async (_call, settled) => say(`notify ${settled.state}`),
    answer: (summary) => say(`answer ${summary.state}`),
    appended: async () => say('appended'),
  };
  return { pipeline, told };
}

describe('the order of the steps of a call', () => {
  it('allow: judged, rows, executed once, rows, answered', async () => {
    const { pipeline, told } = steps({});
    expect((await runCall(callOf(), pipeline)).state).toBe('completed');
    expect(told).toEqual(['judge', 'append', 'execute allowed until +10000', 'append', 'answer completed', 'appended']);
  });

  it('deny: judged, rows, answered; nothing is executed', async () => {
    const { pipeline, told } = steps({ judge: 'denied' });
    await runCall(callOf(), pipeline);
    expect(told).toEqual(['judge', 'append', 'answer denied', 'appended']);
  });

  it('park and approve: answered when it is parked, executed when it is approved', async () => {
    const { pipeline, told } = steps({ judge: 'decided' });
    await runCall(callOf(), pipeline);
    expect(told).toEqual([
      'judge',
      'analyze',
      'open review',
      'append',
      'answer parked',
      'await decision',
      'append',
      `execute approved until +${APPROVED_CLAIM_LIMIT_MS}`,
      'append',
      'answer completed',
      'appended',
    ]);
  });

  it.each(['denied', 'expired', 'aborted'] as const)('park and %s: nothing is executed', async (decision) => {
    const { pipeline, told } = steps({ judge: 'decided', decision });
    await runCall(callOf(), pipeline);
    expect(told).toEqual([
      'judge',
      'analyze',
      'open review',
      'append',
      'answer parked',
      'await decision',
      'append',
      `answer ${decision}`,
      'appended',
    ]);
  });

  it('tells the caller of the decision before it executes, where the caller asked for it', async () => {
    const { pipeline, told } = steps({ judge: 'decided' });
    await runCall(callOf({ has_callback: true }), pipeline);
    expect(told.indexOf('notify approved')).toBeGreaterThan(told.indexOf('await decision'));
    expect(told.indexOf('notify approved')).toBeLessThan(told.findIndex((line) => line.startsWith('execute')));
  });

  it.each(['allowed', 'approved'] as const)('decision/v1 ends at %s: the host executes, not Gate', async (state) => {
    const { pipeline, told } = steps(state === 'allowed' ? {} : { judge: 'decided' });
    const ended = await runCall(callOf({ contract: 'gate.decision/v1', has_callback: true }), pipeline);
    expect(ended.state).toBe(state);
    expect(told.join()).not.toMatch(/execute/);
  });

  it('an approval is worth a minute from the decision on, whenever it is found', async () => {
    const { pipeline, told } = steps({ judge: 'decided', decidedMs: NOW - 45_000 });
    await runCall(callOf(), pipeline);
    expect(told).toContain('execute approved until +15000');
  });

  it('by the clock of whoever took it, where that is known', async () => {
    const { pipeline, told } = steps({ judge: 'decided', decidedMs: NOW - 75_000, appliedMs: NOW - 15_000 });
    await runCall(callOf(), pipeline);
    expect(told).toContain('execute approved until +45000');
  });

  it('an abandoned call is answered, and nothing is executed', async () => {
    const { pipeline, told } = steps({ judge: 'abandoned' });
    await runCall(callOf(), pipeline);
    expect(told).toEqual(['judge', 'append', 'answer abandoned', 'appended']);
  });
});

describe('a call that goes on after a crash', () => {
  it.each<[CallState, string[]]>([
    [
      'decided',
      [
        'analyze',
        'open review',
        'append',
        'answer parked',
        'await decision',
        'append',
        'execute approved until +60000',
        'append',
        'answer completed',
        'appended',
      ],
    ],
    [
      'parked',
      [
        'append',
        'answer parked',
        'await decision',
        'append',
        'execute approved until +60000',
        'append',
        'answer completed',
        'appended',
      ],
    ],
    ['allowed', ['append', 'execute allowed until +10000', 'append', 'answer completed', 'appended']],
    ['approved', ['append', 'execute approved until +60000', 'append', 'answer completed', 'appended']],
    // The step settles it and sends nothing: its claim was taken before.
    ['intended', ['append', 'execute intended until +10000', 'append', 'answer completed', 'appended']],
    ['denied', ['append', 'answer denied', 'appended']],
    ['completed', ['append', 'answer completed', 'appended']],
    ['uncertain', ['append', 'answer uncertain', 'appended']],
    ['not_run', ['append', 'answer not_run', 'appended']],
    ['expired', ['append', 'answer expired', 'appended']],
    ['aborted', ['append', 'answer aborted', 'appended']],
  ])('from %s on; it is never judged again', async (state, expected) => {
    const { pipeline, told } = steps({});
    await runCall(callOf(), pipeline, summaryOf(state));
    expect(told).toEqual(expected);
  });

  const parkedAuto = summaryOf('parked', { approval_tier: 'auto', pending_id: 'p' });

  it.each<[CallState, string[]]>([
    ['approved', ['notify approved', 'append', 'execute approved until +60000', 'append', 'answer completed']],
    ['denied', ['notify denied', 'append', 'answer denied']],
    ['expired', ['notify expired', 'append', 'answer expired']],
  ])('from parked on in the tier of rules: the rule is asked again, %s', async (rule, expected) => {
    const { pipeline, told } = steps({ rule });
    await runCall(callOf({ has_callback: true }), pipeline, parkedAuto);
    expect(told).toEqual(['ask the rule', ...expected, 'appended']);
  });

  it('from parked on in the tier of rules, where the rule leaves it to a person: it waits', async () => {
    const { pipeline, told } = steps({});
    await runCall(callOf(), pipeline, parkedAuto);
    expect(told.slice(0, 4)).toEqual(['ask the rule', 'append', 'answer parked', 'await decision']);
  });
});

describe('judging', () => {
  const judging = (inspected: Inspected, decision: Partial<PolicyDecision> = {}, nowMs = NOW) => {
    const told: string[] = [];
    const judge: JudgeSteps = {
      now: () => nowMs,
      inspect: async () => {
        told.push('inspect');
        return inspected;
      },
      evaluate: async (_call, seen) => {
        told.push(`evaluate ${seen.available ? 'with' : 'without'} inspection`);
        return { decision: { ...decisionOf('green'), ...decision }, facts: {} as Evaluated['facts'] };
      },
      commitVerdict: async () => {
        told.push('commit');
        return summaryOf('allowed');
      },
      abandonCall: async () => {
        told.push('abandon');
        return summaryOf('abandoned');
      },
      closeTampered: async (_call, why) => {
        told.push(`tampered: ${why}`);
        return summaryOf('tampered');
      },
    };
    return { judge, told };
  };
  const up: Inspected = { available: true, inspection: inspectionOf(true) };
  const down: Inspected = { available: false, reason: 'brain is away' };

  it('asks brain, then policy with what brain said, then commits', async () => {
    const { judge, told } = judging(up);
    await judgeCall(callOf(), judge);
    expect(told).toEqual(['inspect', 'evaluate with inspection', 'commit']);
  });

  it('asks policy also where brain refuses', async () => {
    const { judge, told } = judging({ available: true, inspection: inspectionOf(false) });
    await judgeCall(callOf(), judge);
    expect(told).toEqual(['inspect', 'evaluate with inspection', 'commit']);
  });

  it('without brain: a deny of the policy stands, anything else fails closed', async () => {
    const denied = judging(down, { allow: false, reasons: ['Violation: a'] });
    await judgeCall(callOf(), denied.judge);
    expect(denied.told).toEqual(['inspect', 'evaluate without inspection', 'commit']);
    for (const decision of [{ allow: true }, { allow: false, review_reasons: ['Review: a'] }, { allow: false }]) {
      const { judge, told } = judging(down, decision);
      const failure = judgeCall(callOf(), judge);
      await expect(failure).rejects.toBeInstanceOf(PipelineUnavailable);
      await expect(failure).rejects.toMatchObject({ layer: 'brain', message: 'brain is away' });
      expect(told).not.toContain('commit');
    }
  });

  it('without brain in observe mode: forwarded', async () => {
    const { judge, told } = judging(down, { allow: true });
    await judgeCall(callOf({ mode: 'observe' }), judge);
    expect(told).toContain('commit');
  });

  it('without policy there is no verdict', async () => {
    const { judge, told } = judging(up);
    await expect(
      judgeCall(callOf(), {
        ...judge,
        evaluate: async () => Promise.reject(new PipelineUnavailable('policy', 'away')),
      }),
    ).rejects.toMatchObject({ layer: 'policy' });
    expect(told).not.toContain('commit');
  });

  it('too late to begin: abandoned before anybody is asked; at the last moment it is still judged', async () => {
    const late = judging(up, {}, NOW + 10_001);
    expect((await judgeCall(callOf(), late.judge)).state).toBe('abandoned');
    expect(late.told).toEqual(['abandon']);
    const last = judging(up, {}, NOW + 10_000);
    expect((await judgeCall(callOf(), last.judge)).state).toBe('allowed');
  });

  it('a clock that was put back since the call came: abandoned, because its deadline would come as much later', async () => {
    const back = judging(up, {}, NOW - 3_600_000);
    expect((await judgeCall(callOf(), back.judge)).state).toBe('abandoned');
    expect(back.told).toEqual(['abandon']);
    // Clocks of two machines differ by less than a call may take.
    const slow = judging(up, {}, NOW - 5_000);
    expect((await judgeCall(callOf(), slow.judge)).state).toBe('allowed');
  });
});
