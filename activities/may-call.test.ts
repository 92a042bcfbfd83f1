import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallInput } from '../contracts/call.js';
import type { SignedDecision } from '../contracts/review.js';
import { GateError } from '../domain/errors.js';
import type { AgentStanding } from '../domain/identity/revocation-mirror.js';
import { stopFault } from '../domain/identity/stops.js';
import { NO_BUDGETS } from '../domain/spend/spend.js';
import { fixtureFolder, openPipeline, type PipelineFixture } from '../test/support/pipeline-fixture.js';
import { NO_DECOYS } from '../domain/identity/decoy-readings.js';
import { createActivities } from '../workers/activities.js';

describe('an approved call, when its agent may not call any more', () => {
  let gate: PipelineFixture;
  let call: CallInput;
  let listed: Set<string>;
  let hilAway = false;
  /** What the next questions about the agent are answered, one each; then it may call. */
  let stands: (GateError | null)[] = [];
  let toolsStopped: AgentStanding['toolFault'] = () => null;
  const open = (folder: string) =>
    openPipeline({
      folder,
      script: { tier: 'yellow' },
      compose: (ports) =>
        createActivities({
          ...ports,
          standing: {
            agentFault: () => stands.shift() ?? null,
            toolFault: (tenant, tools) => toolsStopped(tenant, tools),
            forcesReview: () => false,
            budgetsOf: () => NO_BUDGETS,
            decoysOf: () => NO_DECOYS,
            grantFault: () => null,
          },
          mayCall: ({ tenant, agent }) => listed.has(`${tenant}/${agent}`),
          reviews: {
            ...ports.reviews,
            async assertOpen(tenant) {
              if (hilAway) throw new GateError('pipeline_unavailable', 'no answer');
              await ports.reviews.assertOpen(tenant);
            },
          },
        }),
    });
  beforeEach(async () => {
    listed = new Set();
    hilAway = false;
    stands = [];
    toolsStopped = () => null;
    gate = await open(await fixtureFolder());
    call = await gate.call();
    listed.add(`${call.tenant}/${call.agent}`);
    expect(await gate.run(call)).toMatchObject({ state: 'parked' });
  });
  afterEach(() => gate.close());

  async function approved(signed?: SignedDecision) {
    expect(await gate.host.decide(signed ?? (await gate.decision(call, 'approve')))).toMatchObject({
      outcome: 'applied',
    });
    await gate.host.idle();
    const { state, outcome } = (await gate.calls.find(call.correlation_id)) ?? {};
    return { state, code: outcome?.code, error: outcome?.error, sent: gate.executed.length };
  }

  it('runs where it still may', async () => {
    expect(await approved()).toMatchObject({ state: 'completed', sent: 1 });
  });

  it('does not run where it was taken out since, and a row says why', async () => {
    listed.clear();
    const error = `agent ${call.agent} of tenant ${call.tenant} is not among those that may call any more`;
    expect(await approved()).toEqual({ state: 'not_run', code: 'agent_standing_changed', error, sent: 0 });
    const row = (await gate.rows(call.correlation_id)).find(({ event_kind }) => event_kind === 'upstream.outcome');
    expect(row).toMatchObject({
      authorized: false,
      reasoning: expect.stringContaining(error) as never,
      policy_decision: { stage: 'not_run', code: 'agent_standing_changed' },
    });
  });

  describe('because its tenant was offboarded', () => {
    const offboard = (tenant: string) =>
      gate.reviews.tenants.begin({ tenant, operation_id: randomUUID(), kind: 'offboard', asked_by: 'operator:dev' });

    it('after the approval was signed, does not run', async () => {
      const signed = await gate.decision(call, 'approve');
      await offboard(call.tenant);
      expect(await approved(signed)).toEqual({
        state: 'not_run',
        code: 'agent_standing_changed',
        error: `tenant ${call.tenant} was offboarded after the call was approved`,
        sent: 0,
      });
    });

    it('and HIL cannot be asked, runs: HIL signed the approval less than a minute ago', async () => {
      hilAway = true;
      expect(await approved()).toMatchObject({ state: 'completed', sent: 1 });
    });

    it('in another tenant, runs', async () => {
      await offboard('other');
      expect(await approved()).toMatchObject({ state: 'completed', sent: 1 });
    });
  });

  it.each(['agent_suspended', 'agent_decommissioned'] as const)(
    'does not run where an operator stopped the agent since (%s), and a row says so',
    async (code) => {
      stands = [new GateError(code, 'acme/bot is stopped')];
      expect(await approved()).toEqual({ state: 'not_run', code, error: 'acme/bot is stopped', sent: 0 });
      const row = (await gate.rows(call.correlation_id)).find(({ event_kind }) => event_kind === 'upstream.outcome');
      expect(row).toMatchObject({
        signal: 'review_approved_but_suspended',
        policy_decision: { stage: 'not_run', code },
      });
    },
  );

  it.each([
    ['at once', 0],
    ['while all else was asked', 1],
  ])('does not run where an operator stopped its tool since (%s), and a row says so', async (_when, after) => {
    let asked = 0;
    toolsStopped = (tenant, tools) => ((asked += 1) > after ? stopFault({ tenant, tool: tools[0] ?? null }) : null);
    const error = `the tool ${call.tool} is suspended by an operator; nothing was executed`;
    expect(await approved()).toEqual({ state: 'not_run', code: 'tool_suspended', error, sent: 0 });
    const row = (await gate.rows(call.correlation_id)).find(({ event_kind }) => event_kind === 'upstream.outcome');
    expect(row).toMatchObject({
      signal: 'review_approved_but_suspended',
      policy_decision: { stage: 'not_run', code: 'tool_suspended' },
    });
  });

  it('does not run where that happened while all else was asked', async () => {
    stands = [null, new GateError('agent_suspended', 'acme/bot is stopped')];
    expect(await approved()).toMatchObject({ state: 'not_run', code: 'agent_suspended', sent: 0 });
  });

  it('waits a moment where it is not known yet whom an operator stopped, and runs', async () => {
    stands = [new GateError('control_state_unavailable')];
    expect(await approved()).toMatchObject({ state: 'completed', sent: 1 });
  });

  it('does not run where that stays unknown', async () => {
    stands = Array.from({ length: 100 }, () => new GateError('control_state_unavailable'));
    expect(await approved()).toMatchObject({ state: 'not_run', code: 'attempt_not_begun', sent: 0 });
  }, 20_000);

  it('of the same name in another tenant is another agent', async () => {
    listed = new Set([`other/${call.agent}`]);
    expect(await approved()).toMatchObject({ code: 'agent_standing_changed', sent: 0 });
  });
});
