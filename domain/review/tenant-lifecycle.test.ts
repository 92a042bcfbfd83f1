import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallInput } from '../../contracts/call.js';
import type { TenantReviewsReceipt } from '../../contracts/tenant-reviews.js';
import { DECISION_KEYS, openPipeline, type PipelineFixture } from '../../test/support/pipeline-fixture.js';
import { canonicalDigest } from '../crypto/digest.js';
import { GateError } from '../errors.js';
import type { DecisionSender } from './ports.js';
import { createTenantLifecycle } from './tenant-lifecycle.js';

describe('a tenant that leaves', () => {
  let gate: PipelineFixture;
  beforeEach(async () => {
    gate = await openPipeline({ script: { tier: 'yellow' } });
  });
  afterEach(() => gate.close());

  const park = async (tenant: string, over: Partial<CallInput> = {}): Promise<CallInput> => {
    const call = await gate.call({ tenant, ...over });
    expect(await gate.run(call)).toMatchObject({ state: 'parked' });
    return call;
  };
  const parts = () => ({
    reviews: gate.reviews,
    sender: gate.host,
    decisionKey: DECISION_KEYS.privateKey,
    clock: Date.now,
    decisionLifeMs: 10_000,
  });
  const lifecycle = (sender: DecisionSender = gate.host, limitMs?: number) =>
    createTenantLifecycle({
      ...parts(),
      sender,
      ...(limitMs !== undefined && { limitMs }),
    }).step;
  const operation = (kind: 'provision' | 'offboard', operation_id: string = randomUUID(), tenant = 'leaving') => ({
    tenant,
    kind,
    operation_id,
    asked_by: 'operator:dev',
  });

  it('has everything that waits denied, each by its own call, and other tenants wait on', async () => {
    const calls = [
      await park('leaving'),
      await park('leaving', { callback_url: 'https://agent.example.com/hook' } as never),
    ];
    const other = await park('staying');
    const asked = operation('offboard');
    const receipt = await lifecycle()(asked);
    expect(receipt).toMatchObject({
      tenant: 'leaving',
      kind: 'offboard',
      operation_id: asked.operation_id,
      state: 'offboarded',
      generation: 1,
      pending_denied: 2,
      rows_erased: 2,
      rows_held: 0,
    });
    const { receipt_sha256, ...rest } = receipt;
    expect(`sha256:${receipt_sha256}`).toBe(canonicalDigest(rest));
    await gate.host.idle();
    for (const call of calls) {
      expect(await gate.calls.find(call.correlation_id)).toMatchObject({
        state: 'denied',
        decision: {
          decided_by: 'system:tenant-offboard',
          decided_via: 'system:tenant-offboard',
          reason: 'the tenant is offboarded',
        },
      });
      expect(await gate.reviews.byCorrelation(call.correlation_id)).toBeNull();
      expect(await gate.kinds(call.correlation_id)).toContain('hil.denied');
    }
    expect((await gate.calls.find(other.correlation_id))?.state).toBe('parked');
    expect(await gate.reviews.byCorrelation(other.correlation_id)).toMatchObject({ status: 'pending' });
    expect(gate.executed).toEqual([]);
  });

  it('gets no new review: the call is refused, nothing of it stays, until the tenant is provisioned again', async () => {
    await lifecycle()(operation('offboard'));
    const call = await gate.call({ tenant: 'leaving' });
    await expect(gate.run(call)).rejects.toMatchObject({ code: 'tenant_offboarded', status: 409 });
    expect(await gate.reviews.byCorrelation(call.correlation_id)).toBeNull();
    expect(gate.executed).toEqual([]);
    await park('staying');
    expect(await lifecycle()(operation('provision'))).toMatchObject({
      state: 'active',
      generation: 2,
      pending_denied: 0,
    });
    await park('leaving');
  });

  it('has one receipt per operation, and an id means one thing', async () => {
    await park('leaving');
    const asked = operation('offboard');
    const first = await lifecycle()(asked);
    expect(await lifecycle()(asked)).toEqual(first);
    for (const changed of [
      operation('provision', asked.operation_id),
      operation('offboard', asked.operation_id, 'staying'),
    ])
      await expect(lifecycle()(changed)).rejects.toMatchObject({ code: 'operation_conflict' });
    expect(await lifecycle()(operation('offboard'))).toMatchObject({ generation: 2, pending_denied: 0 });
  });

  it.each([
    ['before it reached its call', false],
    ['after it was applied', true],
  ])('goes on under the same operation where a denial was lost %s', async (_when, applied) => {
    const calls = [await park('leaving'), await park('leaving')];
    let answered = 0;
    const lossy: DecisionSender = {
      async decide(decision) {
        answered += 1;
        if (answered === 1) return gate.host.decide(decision);
        if (applied) await gate.host.decide(decision);
        throw new GateError('orchestrator_unavailable');
      },
    };
    const asked = operation('offboard');
    if (applied) expect(await lifecycle(lossy)(asked)).toMatchObject({ pending_denied: 2 });
    else await expect(lifecycle(lossy)(asked)).rejects.toMatchObject({ code: 'operation_unfinished' });
    // The door is closed already.
    await expect(gate.run(await gate.call({ tenant: 'leaving' }))).rejects.toMatchObject({ code: 'tenant_offboarded' });
    expect(await lifecycle()(asked)).toMatchObject({ generation: 1, pending_denied: 2 });
    await gate.host.idle();
    for (const { correlation_id: id } of calls)
      expect((await gate.kinds(id)).filter((kind) => kind === 'hil.denied')).toHaveLength(1);
  });

  it('has calls whose time is over asked what they came to, and nobody is told of an approved one that it expired', async () => {
    const call = await park('leaving');
    const row = await gate.reviews.byCorrelation(call.correlation_id);
    const late = Date.now() + 86_400_000;
    const asked: string[] = [];
    const sender: DecisionSender = {
      decide(decision) {
        asked.push(decision.pending_id);
        return Promise.reject(new GateError('orchestrator_unavailable'));
      },
    };
    const { step } = createTenantLifecycle({ ...parts(), sender, clock: () => late });
    // While its call cannot be asked, nothing of it is deleted.
    await expect(step(operation('offboard'))).rejects.toMatchObject({ code: 'operation_unfinished' });
    expect(asked).toEqual([row?.id]);
    expect(await gate.reviews.byCorrelation(call.correlation_id)).not.toBeNull();
  });

  it('says that it is not finished where there is too much for one request', async () => {
    await park('leaving');
    const asked = operation('offboard');
    await expect(lifecycle(gate.host, 0)(asked)).rejects.toMatchObject({ code: 'operation_unfinished' });
    expect(await lifecycle()(asked)).toMatchObject({ pending_denied: 1 });
  });

  it('keeps the decisions that were first', async () => {
    const call = await park('leaving');
    const slow: DecisionSender = {
      async decide(decision) {
        const { principal } = await gate.decision(call, 'approve');
        const first = await gate.decision(call, 'approve', { principal: { ...principal, tenant: 'leaving' } });
        expect(await gate.host.decide(first)).toMatchObject({ outcome: 'applied' });
        return gate.host.decide(decision);
      },
    };
    expect(await lifecycle(slow)(operation('offboard'))).toMatchObject({ pending_denied: 0 });
    expect((await gate.calls.find(call.correlation_id))?.decision).toMatchObject({ status: 'approved' });
  });

  it('is not closed again by an operation that another one has overtaken', async () => {
    await park('leaving');
    const asked = operation('offboard');
    await expect(lifecycle(gate.host, 0)(asked)).rejects.toMatchObject({ code: 'operation_unfinished' });
    await lifecycle()(operation('provision'));
    await expect(lifecycle()(asked)).rejects.toMatchObject({ code: 'operation_conflict' });
    expect((await gate.reviews.list({ tenant: 'leaving' })).rows).toMatchObject([{ status: 'pending' }]);
  });

  it('has no review that was stored while the door was being closed', async () => {
    // The door closes between the look at it and the row.
    const calls = await Promise.all(Array.from({ length: 6 }, () => gate.call({ tenant: 'leaving' })));
    const asked = operation('offboard');
    const runs = calls.map((call) => gate.run(call).catch(() => null));
    const finish = async (): Promise<TenantReviewsReceipt> => {
      try {
        return await lifecycle()(asked);
      } catch (error) {
        if (error instanceof GateError && error.code === 'operation_unfinished') return finish();
        throw error;
      }
    };
    const receipt = await finish();
    await Promise.all(runs);
    await gate.host.idle();
    expect((await gate.reviews.list({ tenant: 'leaving' })).rows).toEqual([]);
    const states = await Promise.all(
      calls.map(async (call) => (await gate.calls.find(call.correlation_id))?.state ?? null),
    );
    expect(states.filter((state) => state === 'denied')).toHaveLength(receipt.pending_denied);
    expect(
      states.filter((state) => state !== 'denied' && state !== 'aborted' && state !== 'decided' && state !== null),
    ).toEqual([]);
  });

  it('leaves what is under a legal hold until that is released, and says how much', async () => {
    const calls = [await park('leaving'), await park('leaving')];
    const held = await gate.reviews.byCorrelation(calls[0]?.correlation_id ?? '');
    const hold = (action: 'apply' | 'release') =>
      gate.reviews.hold(
        held?.id ?? '',
        'leaving',
        { operation_id: randomUUID(), action, hold_id: HOLD, authority_reason_sha256: `sha256:${'0'.repeat(64)}` },
        () => 'operator:dev',
      );
    await hold('apply');
    expect(await lifecycle()(operation('offboard'))).toMatchObject({ pending_denied: 2, rows_erased: 1, rows_held: 1 });
    expect(await gate.reviews.get(held?.id ?? '')).toMatchObject({ status: 'denied' });
    expect(await hold('release')).toMatchObject({ state: 'released', deletion_disposition: 'deleted' });
    expect(await gate.reviews.get(held?.id ?? '')).toBeNull();
  });

  it('counts what it denied and deleted over an end between the two', async () => {
    await park('leaving');
    const asked = operation('offboard');
    const failing = createTenantLifecycle({
      ...parts(),
      reviews: {
        ...gate.reviews,
        retention: {
          ...gate.reviews.retention,
          erase: () => Promise.resolve({ deleted: 0, held: 0, complete: false }),
        },
      },
    });
    await expect(failing.step(asked)).rejects.toMatchObject({ code: 'operation_unfinished' });
    expect(await lifecycle()(asked)).toMatchObject({ pending_denied: 1, rows_erased: 1, rows_held: 0 });
  });

  it('has its demonstration cleaned up alone: what waits of it is denied, its rows are deleted, the rest stays', async () => {
    const demo = [await park('acme', { state_namespace: 'demo' }), await park('acme', { state_namespace: 'demo' })];
    const kept = [await park('acme'), await park('other', { state_namespace: 'demo' })];
    const { cleanUpDemo } = createTenantLifecycle(parts());
    expect(await cleanUpDemo('acme')).toMatchObject({
      contract: 'gate.namespace-cleanup-receipt/v1',
      namespace: 'demo',
      selected: 2,
      deleted: 2,
      retained_operator: 1,
      retained_legal_hold: 0,
    });
    expect(await cleanUpDemo('acme')).toMatchObject({ selected: 0, deleted: 0, retained_operator: 1 });
    await gate.host.idle();
    for (const { correlation_id: id } of demo) {
      expect(await gate.calls.find(id)).toMatchObject({
        state: 'denied',
        decision: { decided_by: 'system:demo-cleanup' },
      });
      expect(await gate.reviews.byCorrelation(id)).toBeNull();
    }
    for (const { correlation_id: id } of kept)
      expect(await gate.reviews.byCorrelation(id)).toMatchObject({ status: 'pending' });
  });
});

const HOLD = '20000000-0000-4000-8000-000000000001';
