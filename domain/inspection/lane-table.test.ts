import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { withDetail } from '../../api/proxy/answers.js';
import { observedInspector } from '../../api/brain/metrics.js';
import type { InspectionResponse } from '../../contracts/inspection.js';
import { inspectionOf } from '../../test/support/judgements.js';
import type { CallRecord } from '../call/record.js';
import { rowsOf } from '../call/rows.js';
import { worstInspection } from './worst-inspection.js';
import { foldVerdict } from '../call/verdict.js';
import { eachLane, type FieldOfNoLane, LANES, laneFields, type LaneRules, lanesForPolicy } from './lane-table.js';

/** A lane that Gate does not have, with fields that the contract does not have. */
interface Echo extends InspectionResponse {
  readonly echo_heard: boolean;
  readonly echo_score: number;
}
const ECHO = {
  fields: {
    echo_heard: { combine: (values: readonly boolean[]) => values.includes(true), row: 'finding' },
    echo_score: { combine: (values: readonly number[]) => Math.max(...values), row: 'score' },
  },
  fallsBack: true,
  policy: (said: Echo | null) => ({ echo_score: said?.echo_score ?? 0 }),
  detail: (said: Echo) => ({ score: said.echo_score, flagged: said.echo_heard }),
};
const quiet: Echo = { ...inspectionOf(true), echo_heard: false, echo_score: 0.1 };
const loud: Echo = { ...inspectionOf(true), echo_heard: true, echo_score: 0.9, degraded: ['echo'] };

describe('a lane that stands in the table', () => {
  const lanes = LANES as unknown as Record<string, LaneRules | typeof ECHO>;
  beforeAll(() => void (lanes['echo'] = ECHO));
  afterAll(() => void delete lanes['echo']);

  it('is combined over the calls of a batch, whichever of them it spoke about', () => {
    expect(worstInspection([quiet, loud])).toMatchObject({ echo_heard: true, echo_score: 0.9 });
    const refused: Echo = { ...quiet, authorized: false };
    expect(worstInspection([loud, refused])).toMatchObject({ authorized: false, echo_heard: true, echo_score: 0.9 });
  });

  it('is counted where it answers with a fallback', async () => {
    const registry = new Registry();
    const inspector = observedInspector({ inspect: () => Promise.resolve(loud) }, registry);
    const gauge = async () => (await registry.metrics()).match(/detector="echo"\} (\d)/)?.[1];
    expect(await gauge()).toBe('0');
    await inspector.inspect({ agent_id: 'a', method: 'tools/call', params: {}, prior_requests: [] });
    expect(await gauge()).toBe('1');
  });

  it('is recorded in the row, each field in its place', () => {
    const inspection: InspectionResponse = loud;
    const verdict = foldVerdict(inspection, null, 'enforce');
    const record = {
      correlation_id: 'c',
      state: 'denied',
      evidence: {
        call: { agent: 'a', tenant: 't', tool: 'read_file' },
        verdict,
        inspection,
        params_sha256: 'a'.repeat(64),
      },
    } as unknown as CallRecord;
    expect(rowsOf(record, null).find(({ event_kind }) => event_kind === 'brain.inspection')).toMatchObject({
      policy_decision: { available: true, injection_detected: false, echo_heard: true, degraded: ['echo'] },
      brain_scores: { echo_score: 9_000, injection_confidence: 0 },
    });
  });

  it('is told to policy', () => {
    expect(lanesForPolicy(loud)).toMatchObject({ echo_score: 0.9 });
    expect(lanesForPolicy(null)).toMatchObject({ echo_score: 0 });
  });

  it('is shown in an answer with its detectors', () => {
    const record = { evidence: { inspection: loud, call: {} } } as unknown as CallRecord;
    const answer = withDetail({ status: 403, headers: {}, body: {} }, record);
    expect(answer.body).toHaveProperty(
      'detail.detectors',
      expect.arrayContaining([{ detector: 'echo', score: 0.9, flagged: true }]),
    );
  });
});

describe('the table of the lanes', () => {
  it('leaves no field of an inspection without an owner, and gives none to two lanes', () => {
    const ofNone: Record<FieldOfNoLane, true> = {
      authorized: true,
      reason: true,
      degraded: true,
      cost_micros: true,
      evidence: true,
      masked_params: true,
    };
    // @ts-expect-error a lane's own field is not one that belongs to none
    const wrong: FieldOfNoLane = 'injection_detected';
    expect(ofNone).not.toHaveProperty(wrong);
    const owned = laneFields().map(([name]) => name);
    expect(owned).toEqual([...new Set(owned)]);
    const optional = [
      'behaviour',
      'injection_suspicions',
      'injected_at',
      'intent_suspicions',
      'degraded',
      'masked_params',
    ];
    expect([...owned, ...Object.keys(ofNone)].toSorted()).toEqual(
      [...new Set([...Object.keys(inspectionOf(true)), ...optional])].toSorted(),
    );
  });

  it('shows the detectors of an answer in this order', () => {
    expect(eachLane().map(([name]) => name)).toEqual([
      'persona_drift',
      'injection',
      'malicious_code',
      'compromised_package',
      'sequence_escalation',
      'intent',
    ]);
  });
});
