import { describe, expect, it } from '@jest/globals';
import type { CallInput, CallState } from '../../contracts/call.js';
import { callInput } from '../../test/support/call-input.js';
import { inspectionOf } from '../../test/support/judgements.js';
import { costOf } from './cost.js';
import type { CallRecord, RecordedOutcome, RecordedStep } from './record.js';

const step = (tool: string, stage: RecordedStep['stage']): RecordedStep => ({
  id: tool,
  tool,
  params_sha256: '0'.repeat(64),
  stage,
  status_code: 200,
  duration_ms: 1,
  result_sha256: null,
  error: null,
  at: '2026-03-02T10:00:00.000Z',
});
const SPEND: CallInput['spend'] = { month: '2026-03', reserved_micros: 90, prices: { pay: 20, book: 30 } };
const cost = (
  state: CallState,
  {
    call = {},
    steps,
    tools,
    micros = 5,
    ...more
  }: {
    call?: Partial<CallInput>;
    steps?: RecordedStep[];
    tools?: string[];
    micros?: number;
    outcome?: Partial<RecordedOutcome>;
    decision?: object;
  } = {},
) => {
  const of = costOf({
    state,
    evidence: {
      call: callInput(0, { tool: 'pay', spend: SPEND, ...call }),
      inspection: { ...inspectionOf(true), cost_micros: micros },
      ...(steps && { steps }),
      ...(tools && { sibling_tools: tools }),
    } as unknown as CallRecord['evidence'],
    outcome: (more.outcome ?? null) as RecordedOutcome | null,
    decision: (more.decision ?? null) as CallRecord['decision'],
  });
  return of && of.inspectedMicros + of.ranMicros;
};

describe('what a call cost', () => {
  it.each<[CallState, number | null]>([
    ['decided', null],
    ['parked', null],
    ['allowed', null],
    ['approved', null],
    ['intended', null],
    ['denied', 5],
    ['expired', 5],
    ['abandoned', 5],
    ['aborted', 5],
    ['not_run', 5],
    ['completed', 25],
    ['uncertain', 25],
    ['tampered', 90],
  ])('that is %s: %s', (state, expected) => expect(cost(state)).toBe(expected));

  it('of which nothing is kept is not known', () =>
    expect(cost('completed', { call: { spend: undefined as never } })).toBeNull());

  it('counts a verdict for who runs the call himself as if it ran', () => {
    for (const state of ['allowed', 'approved'] as const)
      expect(cost(state, { call: { contract: 'gate.decision/v1' } })).toBe(25);
    expect(cost('denied', { call: { contract: 'gate.decision/v1' } })).toBe(5);
  });

  it('has the inspection of an approver’s change, and what models read of the answers', () => {
    expect(
      cost('completed', {
        decision: { changed: { cost_micros: 3 } },
        outcome: { inspected: { cost_micros: 4 } as never },
      }),
    ).toBe(32);
    const read = { ...step('pay', 'completed'), inspected: { cost_micros: 2 } as never };
    expect(cost('completed', { tools: ['pay'], steps: [read] })).toBe(27);
  });

  it('of a batch is that of the calls that ran, and of the one that was under way', () => {
    const tools = ['pay', 'book', 'pay', 'free'];
    const steps = [step('pay', 'completed'), step('book', 'not_run')];
    expect(cost('completed', { tools, steps: [...steps, step('pay', 'failed')] })).toBe(5 + 20 + 20);
    // The third was sent, and nobody knows; the fourth was not.
    expect(cost('uncertain', { tools, steps })).toBe(5 + 20 + 20);
    expect(cost('uncertain', { tools, steps: [] })).toBe(5 + 20);
    expect(cost('not_run', { tools, steps })).toBe(5 + 20);
    // Whose word it is that it ran, says so of all.
    expect(cost('completed', { tools, steps, outcome: { reconciled: {} as never } })).toBe(5 + 70);
  });
});
