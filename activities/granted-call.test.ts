import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallInput } from '../contracts/call.js';
import type { CallGrant } from '../contracts/call-grant.js';
import { GateError } from '../domain/errors.js';
import { NO_BUDGETS } from '../domain/spend/spend.js';
import { fixtureFolder, openPipeline, type PipelineFixture } from '../test/support/pipeline-fixture.js';
import { NO_DECOYS } from '../domain/identity/decoy-readings.js';
import { createActivities } from '../workers/activities.js';

const GRANT = {
  jti: '70000000-0000-7000-8000-000000000007',
  act_sub: 'user:ada',
  idp: 'corp',
  scope: ['tool:read_file'],
  yellow_scope: [],
};
const never = { tz_offset_minutes: 0, windows: [] };

describe('an approved call, when its grant counts no more', () => {
  let gate: PipelineFixture | undefined;
  let fault: GateError | null;
  let nobodySays: boolean;
  beforeEach(() => {
    [fault, nobodySays] = [null, false];
  });
  afterEach(() => gate?.close());

  /** What comes of a call with this grant, once a person approved it. */
  async function approved(over: Partial<CallGrant>) {
    gate = await openPipeline({
      folder: await fixtureFolder(),
      script: { tier: 'yellow' },
      compose: (ports) =>
        createActivities({
          ...ports,
          ...(!nobodySays && {
            standing: {
              agentFault: () => null,
              toolFault: () => null,
              forcesReview: () => false,
              budgetsOf: () => NO_BUDGETS,
              decoysOf: () => NO_DECOYS,
              grantFault: () => fault,
            },
          }),
        }),
    });
    const exp = Math.floor(Date.now() / 1_000) + 600;
    const call: CallInput = await gate.call({ grant: { ...GRANT, exp, ...over } });
    expect(await gate.run(call)).toMatchObject({ state: 'parked' });
    const pending = await gate.reviews.byCorrelation(call.correlation_id);
    expect(pending).toMatchObject({ delegation: { jti: GRANT.jti, human_sub: 'user:ada' } });
    await gate.host.decide(await gate.decision(call, 'approve'));
    await gate.host.idle();
    const { state, outcome } = (await gate.calls.find(call.correlation_id)) ?? {};
    const row = (await gate.rows(call.correlation_id)).find(({ event_kind: kind }) => kind === 'upstream.outcome');
    return { state, code: outcome?.code, signal: row?.signal ?? null, sent: gate.executed.length };
  }

  it('runs while it counts', async () => {
    expect(await approved({})).toEqual({ state: 'completed', code: undefined, signal: null, sent: 1 });
  });

  it.each<[string, Partial<CallGrant>]>([
    ['grant_expired', { exp: 1 }],
    ['grant_not_yet_valid', { nbf: Math.floor(Date.now() / 1_000) + 500 }],
    ['grant_outside_schedule', { recurrence: never }],
  ])('does not run by its time: %s', async (code, over) => {
    expect(await approved(over)).toEqual({ state: 'not_run', code, signal: code, sent: 0 });
  });

  it('does not run once it was taken back', async () => {
    fault = new GateError('grant_revoked');
    expect(await approved({})).toEqual({ state: 'not_run', code: 'grant_revoked', signal: 'grant_revoked', sent: 0 });
  });

  it('does not run where nobody knows whether it was, or nobody here asks', async () => {
    fault = new GateError('control_state_unavailable');
    expect(await approved({})).toMatchObject({ state: 'not_run', code: 'attempt_not_begun', sent: 0 });
    await gate?.close();
    nobodySays = true;
    expect(await approved({})).toMatchObject({ state: 'not_run', code: 'attempt_not_begun', sent: 0 });
  }, 30_000);
});
