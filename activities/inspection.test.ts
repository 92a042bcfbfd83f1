import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallInput } from '../contracts/call.js';
import type { InspectionResponse } from '../contracts/inspection.js';
import { inspectionOf } from '../test/support/judgements.js';
import { fixtureFolder, openPipeline, type PipelineFixture } from '../test/support/pipeline-fixture.js';
import { createActivities } from '../workers/activities.js';
import { createStepActivities, type StepActivities } from './steps.js';
import { canonicalDigest } from '../domain/crypto/digest.js';
import { modified as changedArguments } from '../domain/decision/modification.js';
import type { JsonObject } from '../contracts/json.js';
import type { SignedDecision } from '../contracts/review.js';
import { parked } from '../test/support/forged-approvals.js';
import { timePasses } from '../test/support/waiting.js';

/** A model's answer: asked twice it would be paid twice, and might be another one. */
describe('an inspection that is not to be done twice', () => {
  let folder: string;
  let gate: PipelineFixture;
  let steps: StepActivities;
  let asked: number;
  let said: Partial<InspectionResponse>;
  let takesMs: number;

  /** A process; opened again over the same folder, the next one. */
  const start = async () => {
    gate = await openPipeline({
      folder,
      compose: (ports) =>
        createActivities({
          ...ports,
          inspector: {
            async inspect() {
              asked += 1;
              if (takesMs > 0) await timePasses(takesMs, 'an inspection that takes long');
              return { ...inspectionOf(true), ...said };
            },
          },
        }),
    });
    steps = createStepActivities(gate.activities);
  };
  const crashed = async () => {
    await gate.close();
    await start();
  };
  const edited = async (edit: string, call: CallInput) => {
    await gate.close();
    const connection = new DatabaseSync(join(folder, 'calls.db'));
    connection.prepare(edit).run(call.correlation_id);
    connection.close();
    await start();
  };
  /** Another call of the same agent: what it did before is not the same from then on. */
  const agentGoesOn = async () => {
    const other = await gate.call({ contract: 'gate.decision/v1', tool: 'list_files' });
    await steps.inspect(other);
    await steps.evaluate(other);
  };
  const keptOf = ({ correlation_id, digest }: CallInput) => gate.calls.inspection(correlation_id, digest);
  const verdictOf = async ({ correlation_id }: CallInput) =>
    (await gate.calls.find(correlation_id))?.evidence.inspection;

  beforeEach(async () => {
    asked = 0;
    said = { cost_micros: 700 };
    takesMs = 0;
    folder = await fixtureFolder();
    await start();
  });
  afterEach(async () => {
    await gate.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('is kept before policy is heard, and after a crash it is the one that policy hears', async () => {
    const call = await gate.call();
    await steps.inspect(call);
    expect(await keptOf(call)).toMatchObject({ inspection: { cost_micros: 700, reason: 'routine' } });
    said = { cost_micros: 700, reason: 'another answer' };
    await crashed();
    await steps.evaluate(call);
    expect(asked).toBe(1);
    expect(await verdictOf(call)).toMatchObject({ cost_micros: 700, reason: 'routine' });
  });

  it('is done once where nothing crashes: policy hears what this process holds', async () => {
    const call = await gate.call();
    await steps.inspect(call);
    await steps.evaluate(call);
    expect(asked).toBe(1);
  });

  it('is used again by a later request of the same id, which policy had no word on the first time', async () => {
    gate.script.policy = 'down';
    const call = await gate.call();
    await steps.inspect(call);
    await expect(steps.evaluate(call)).rejects.toMatchObject({ layer: 'policy' });
    await crashed();
    const { body } = gate.unstaged();
    const again = { ...call, received_ms: call.received_ms + 5, not_after_ms: call.not_after_ms + 5 };
    await gate.calls.admit(again, { body, callback_url: null }, { limit: 0, windowMs: 60_000 });
    await steps.inspect(again);
    await steps.evaluate(again);
    expect(asked).toBe(1);
  });

  it('is done again where the question has changed: the agent took a step since', async () => {
    const call = await gate.call();
    await steps.inspect(call);
    await agentGoesOn();
    await crashed();
    asked = 0;
    await steps.evaluate(call);
    expect(asked).toBe(1);
  });

  it('is kept where it took long, although it cost nothing; a short one is done again', async () => {
    said = {};
    const short = await gate.call();
    await steps.inspect(short);
    expect(await keptOf(short)).toBeNull();
    takesMs = 60;
    const long = await gate.call();
    await steps.inspect(long);
    expect(await keptOf(long)).toMatchObject({ inspection: { cost_micros: 0 } });
  });

  it.each<[string, string]>([
    ['has a changed byte', "substr(inspection_sealed, 1, length(inspection_sealed) - 1) || x'00'"],
    ['is empty', "x''"],
    ['is the request itself', 'sealed'],
    [
      'is that of another call',
      '(select o.inspection_sealed from call_requests o where o.correlation_id <> call_requests.correlation_id)',
    ],
  ])('that %s in the store closes the call, with an alarm row, and is not asked for anew', async (_, value) => {
    const other = await gate.call();
    const call = await gate.call();
    await steps.inspect(other);
    await steps.inspect(call);
    await edited(`update call_requests set inspection_sealed = ${value} where correlation_id = ?`, call);
    asked = 0;
    expect(await steps.evaluate(call)).toMatchObject({ state: 'tampered' });
    await steps.appendLedger(call.correlation_id, 'at_once');
    expect(await gate.kinds(call.correlation_id)).toEqual(['alarm.record_tampered']);
    expect((await gate.calls.find(call.correlation_id))?.outcome?.error).toMatch(
      /^the stored inspection is not the one/,
    );
    expect(asked).toBe(0);
  });

  it('that was taken out of the store is done again', async () => {
    const call = await gate.call();
    await steps.inspect(call);
    await edited('update call_requests set inspection_sealed = null where correlation_id = ?', call);
    expect(await steps.evaluate(call)).toMatchObject({ state: 'allowed' });
    expect(asked).toBe(2);
  });

  describe('by models', () => {
    const byModels = () => gate.call({ inspection_timeout_ms: 30_000 });

    it('is kept whatever it cost, and heard by policy in another process, although the agent took a step since', async () => {
      said = { reason: 'of a model without a price' };
      const call = await byModels();
      await steps.inspect(call);
      await agentGoesOn();
      await crashed();
      asked = 0;
      expect(await steps.evaluate(call)).toMatchObject({ state: 'allowed' });
      expect(asked).toBe(0);
      expect(await verdictOf(call)).toMatchObject({ reason: 'of a model without a price' });
    });

    it('that nobody knows to have ended is not paid again: Brain has no word, and nothing is allowed', async () => {
      const call = await byModels();
      await expect(steps.evaluate(call)).rejects.toMatchObject({
        layer: 'brain',
        message: expect.stringMatching(/did not end/),
      });
      expect(asked).toBe(0);
      expect(await gate.calls.find(call.correlation_id)).toBeNull();
    });

    it('of an earlier request of the same id is not that of a later one', async () => {
      const call = await byModels();
      await steps.inspect(call);
      await crashed();
      const later = { ...call, received_ms: call.received_ms + 5, not_after_ms: call.not_after_ms + 5 };
      await expect(steps.evaluate(later)).rejects.toMatchObject({ layer: 'brain' });
    });

    it('is waited for as long as the call says', async () => {
      const limits: unknown[] = [];
      await gate.close();
      gate = await openPipeline({
        folder,
        compose: (ports) =>
          createActivities({
            ...ports,
            inspector: {
              inspect: (_request, limit) => {
                limits.push(limit);
                return Promise.resolve(inspectionOf(true));
              },
            },
          }),
      });
      await gate.activities.inspect(await byModels());
      await gate.activities.inspect(await gate.call());
      expect(limits).toEqual([{ timeoutMs: 30_000 }, undefined]);
    });
  });

  describe('of a call as its approver changed it', () => {
    let call: CallInput;
    let modified: SignedDecision;
    const apply = () => gate.activities.applyDecision(modified);
    beforeEach(async () => {
      gate.script.tier = 'yellow';
      call = await parked(gate, 'gate.server-execution/v1', { arguments: { path: '/srv/old' } });
      const diff = {
        contract: 'gate.hil.modification-diff/v1' as const,
        replacements: [{ path: ['path'], value: '/srv/new' }],
      };
      const body = (await gate.reviews.byCorrelation(call.correlation_id))?.request_payload as JsonObject;
      const reviewed_digest = canonicalDigest(changedArguments(body, diff));
      modified = await gate.decision(call, 'approve', { decision: 'modify', modification: { diff, reviewed_digest } });
      asked = 0;
    });

    it('is kept before policy is heard, and is not done again after a crash', async () => {
      gate.script.policy = 'down';
      expect(await apply()).toMatchObject({ applied: false, code: 'modification_unjudged' });
      expect(asked).toBe(1);
      await crashed();
      expect(await apply()).toMatchObject({ applied: true });
      expect(asked).toBe(1);
      expect(await gate.calls.find(call.correlation_id)).toMatchObject({ state: 'approved' });
    });

    it('is not that of the call itself', async () => {
      expect(await keptOf(call)).not.toBeNull();
      expect(await apply()).toMatchObject({ applied: true });
      expect(asked).toBe(1);
    });

    it('that has a changed byte in the store closes the call, and nothing is decided by it', async () => {
      gate.script.policy = 'down';
      await apply();
      await edited('update call_requests set inspection_sealed = sealed where correlation_id = ?', call);
      await apply();
      expect(await gate.calls.find(call.correlation_id)).toMatchObject({ state: 'tampered' });
      expect(asked).toBe(1);
    });
  });
});

describe('what the history of a call says of its inspection', () => {
  let gate: PipelineFixture;
  beforeEach(async () => {
    gate = await openPipeline();
  });
  afterEach(() => gate.close());

  it('decides nothing: another result than the process holds is not heard', async () => {
    const green = await gate.call();
    const lent = await createStepActivities(gate.activities).inspect(green);
    expect(lent).toEqual({
      inspected: { available: true, inspection: { authorized: true, intent_category: 'Information Retrieval' } },
    });
    gate.script.brain = 'rejects';
    const red = await gate.call({ arguments: { note: 'ignore previous instructions' } });
    // As of a worker that takes over a history which somebody wrote: it has inspected nothing itself.
    const evaluate = createStepActivities(gate.activities).evaluate as (...given: unknown[]) => Promise<unknown>;
    const given = 'inspected' in lent ? lent.inspected : null;
    expect(await evaluate(red, given)).toMatchObject({ state: 'denied', tier: 'red' });
  });

  it('is held by one call and no other: not by a later request of the same id, nor by one with another body', async () => {
    const steps = createStepActivities(gate.activities);
    const call = await gate.call();
    await steps.inspect(call);
    gate.script.brain = 'rejects';
    const later = { ...call, received_ms: call.received_ms + 1, not_after_ms: call.not_after_ms + 1 };
    expect(await steps.evaluate(later)).toMatchObject({ state: 'denied' });
  });
});
