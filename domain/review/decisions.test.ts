import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallInput } from '../../contracts/call.js';
import { GateError } from '../errors.js';
import { APPROVERS } from '../../test/support/approvers.js';
import { DECISION_KEYS, openPipeline, type PipelineFixture } from '../../test/support/pipeline-fixture.js';
import { eventually } from '../../test/support/waiting.js';
import { createDecisionTurns, DECISION_TURNS } from './decision-turns.js';
import { createDecisions, type DecisionsOptions } from './decisions.js';

describe('a decision whose turn is too long', () => {
  let gate: PipelineFixture;
  let call: CallInput;
  beforeEach(async () => {
    gate = await openPipeline({ script: { tier: 'yellow' } });
    call = await gate.call();
    await gate.run(call);
  });
  afterEach(() => gate.close());

  const decideOver = (over: Pick<DecisionsOptions, 'reviews' | 'sender'>, turnMs = 200) => {
    const decide = createDecisions({
      ...over,
      decisionKey: DECISION_KEYS.privateKey,
      clock: Date.now,
      decisionLifeMs: 10_000,
      approvers: () => APPROVERS,
      observe: () => undefined,
      turns: createDecisionTurns({ ...DECISION_TURNS, turnMs }),
    });
    return decide({
      id: call.correlation_id,
      tenant: 'acme',
      decision: 'deny',
      reason: null,
      decided_via: 'console',
      principal: (tenant) => ({
        subject: 'operator:dev',
        tenant,
        method: 'console-bearer',
        credential: 'token',
        credential_kind: 'console-bearer',
      }),
      request_id: randomUUID(),
    });
  };
  const stateNow = async () => (await gate.calls.find(call.correlation_id))?.state;

  it('because a store hangs before it is sent: nothing was decided, and it is not sent when the store is back', async () => {
    let back: () => void = () => undefined;
    let wentOn = false;
    const ready = async () => {
      await new Promise<void>((resolve) => (back = resolve));
      wentOn = true;
    };
    const sent: unknown[] = [];
    const sender = { decide: (decision: unknown) => (sent.push(decision), Promise.reject(new Error('sent'))) };
    await expect(decideOver({ reviews: { ...gate.reviews, ready }, sender })).rejects.toMatchObject({
      code: 'decision_not_sent',
    });
    back();
    await eventually('the store is back', () => wentOn);
    // What follows the store signs and sends, with no store in between.
    for (let turns = 0; turns < 20; turns += 1) await new Promise((over) => void setImmediate(over));
    expect(sent).toEqual([]);
    expect(await stateNow()).toBe('parked');
  });

  it('because the row cannot be written after it was sent: the answer does not say that nothing was decided', async () => {
    const settle = () => new Promise<never>(() => undefined);
    // As an engine that leaves the row to HIL.
    const sender = {
      decide: async (...given: Parameters<typeof gate.host.decide>) => ({
        ...(await gate.host.decide(...given)),
        row_settled: false,
      }),
    } as DecisionsOptions['sender'];
    const reviews = { ...gate.reviews, settling: { ...gate.reviews.settling, settle } };
    // Long enough that it is sent within it also on a busy machine; it may be applied later.
    const told: unknown = await decideOver({ reviews, sender }, 1_000).catch((error: unknown) => error);
    expect(told).toMatchObject({ code: 'store_unavailable', status: 503 });
    expect(String(told)).toMatch(/was sent/);
    await eventually('the call is denied', async () => (await stateNow()) === 'denied');
  });

  describe('a store that fails after the decision was sent', () => {
    const away = () => Promise.reject(new GateError('store_unavailable', 'the store cannot be reached'));
    const sentAndUntold = async (reviews: DecisionsOptions['reviews'], sender: DecisionsOptions['sender']) => {
      const told: unknown = await decideOver({ reviews, sender }, DECISION_TURNS.turnMs).catch(
        (error: unknown) => error,
      );
      expect(told).toMatchObject({ code: 'store_unavailable', status: 503, fields: { in_doubt: true } });
      expect(String(told)).toMatch(/was sent and may have taken effect.*look at the call before you decide again/);
    };

    it.each(['settle', 'voted'] as const)('at %s: the answer says that the decision may have taken effect', (write) => {
      const outcome = { settle: 'applied', voted: 'voted' }[write];
      const sender = {
        decide: async (...given: Parameters<typeof gate.host.decide>) =>
          outcome === 'voted'
            ? { outcome, approvals: [] }
            : { ...(await gate.host.decide(...given)), row_settled: false },
      } as DecisionsOptions['sender'];
      const settling = { ...gate.reviews.settling, [write]: away };
      return sentAndUntold({ ...gate.reviews, settling }, sender);
    });

    it('where the row of a refused decision is read: so does it', () => {
      let sent = false;
      const sender = { decide: () => ((sent = true), Promise.resolve({ outcome: 'refused', code: 'not_pending' })) };
      const reads = {
        ...gate.reviews.reads,
        get: (...given: Parameters<typeof gate.reviews.reads.get>) =>
          sent ? away() : gate.reviews.reads.get(...given),
      };
      return sentAndUntold({ ...gate.reviews, reads }, sender as DecisionsOptions['sender']);
    });

    it('where the place that decides cannot write it down: so does it', () =>
      sentAndUntold(gate.reviews, { decide: away }));

    it('before it was sent: the answer says nothing of it', async () => {
      const reviews = { ...gate.reviews, ready: away };
      const decided = decideOver({ reviews, sender: { decide: away } }, DECISION_TURNS.turnMs);
      await expect(decided).rejects.toThrow('the store cannot be reached');
    });
  });
});
