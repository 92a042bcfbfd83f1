import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallInput } from '../contracts/call.js';
import { fixtureFolder, openPipeline, type PipelineFixture, type Script } from '../test/support/pipeline-fixture.js';
import { copyOfStore } from '../test/support/put-back.js';
import { eventually } from '../test/support/waiting.js';

/** Much less than a call waits. */
const GRACE_MS = 60_000;

describe("HIL's store, put back from a copy of before its calls were decided", () => {
  let folder: string;
  let gate: PipelineFixture;
  let nowMs: number;
  let denied: CallInput;
  let approved: CallInput;
  let waiting: CallInput;

  const open = async (script: Partial<Script> = {}): Promise<void> => {
    gate = await openPipeline({
      folder,
      script: { tier: 'yellow', ...script },
      quorum: { strict: 2, risky: 1, destructive: 1 },
      clock: {
        now: () => nowMs,
        sleep: (_ms, signal) => new Promise((over) => signal.addEventListener('abort', () => over())),
      },
      runs: {
        status: (id) => Promise.resolve(id === waiting.correlation_id ? 'running' : 'closed'),
        end: () => Promise.resolve(),
      },
      reconcile: { graceMs: GRACE_MS },
    });
  };
  const decide = ({ correlation_id: id }: CallInput, decision: 'approve' | 'deny', by: string) =>
    gate.decide({
      id,
      tenant: 'acme',
      decision,
      reason: null,
      decided_via: 'console',
      principal: (tenant) => ({
        subject: `operator:${by}`,
        tenant,
        method: 'console-bearer',
        credential: 'token',
        credential_kind: 'console-bearer',
      }),
      request_id: `${by} of ${id}`,
    });
  const parked = async (): Promise<CallInput> => {
    const call = await gate.call();
    expect(await gate.run(call)).toMatchObject({ state: 'parked' });
    return call;
  };
  const stateOf = async ({ correlation_id }: CallInput) => (await gate.calls.find(correlation_id))?.state;
  const statusOf = async ({ correlation_id }: CallInput) => (await gate.reviews.byCorrelation(correlation_id))?.status;
  const statuses = () => Promise.all([denied, approved, waiting].map(statusOf));
  const pending = async () => (await gate.reviews.backlog()).pending;

  beforeEach(async () => {
    nowMs = Date.parse('2026-11-22T10:00:00.000Z');
    folder = await fixtureFolder();
    await open({ approvalTier: 'strict' });
    approved = await parked();
    gate.script.approvalTier = 'standard';
    denied = await parked();
    waiting = await parked();
    await gate.close();
    const copy = copyOfStore(folder, 'hil.db');
    await open();
    nowMs += 1_000;
    await gate.host.resume();
    await decide(denied, 'deny', 'dev');
    await decide(approved, 'approve', 'dev');
    await decide(approved, 'approve', 'ada');
    await eventually('the approved call has run', async () => (await stateOf(approved)) === 'completed');
    await gate.host.idle();
    expect(await statuses()).toEqual(['denied', 'approved', 'pending']);
    await gate.close();
    copy.putBack();
    await open();
    expect(await statuses()).toEqual(['pending', 'pending', 'pending']);
  });
  afterEach(async () => {
    await gate.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('is brought by a pass of reconciliation to what the records say; a row whose call waits goes on waiting', async () => {
    nowMs += GRACE_MS / 2;
    // Within the grace a run may still do it itself.
    await gate.activities.reconcileCalls();
    expect(await statuses()).toEqual(['pending', 'pending', 'pending']);
    nowMs += GRACE_MS;
    const before = gate.executed.length;
    expect(await gate.activities.reconcileCalls()).toMatchObject({ failed: 0 });
    expect(await statuses()).toEqual(['denied', 'approved', 'pending']);
    expect(await gate.reviews.byCorrelation(approved.correlation_id)).toMatchObject({
      decided_by: 'operator:ada',
      approvals: [{ by: 'operator:dev' }, { by: 'operator:ada' }],
    });
    expect(gate.executed).toHaveLength(before);
    expect(await gate.calls.followUpsDue('review', nowMs + 1, 10)).toEqual([]);
  });

  it('while HIL is away, a pass does everything else, and the next one settles the rows', async () => {
    nowMs += 2 * GRACE_MS;
    gate.script.hil = 'down';
    expect(await gate.activities.reconcileCalls()).toMatchObject({ failed: 0, next: null });
    gate.script.hil = 'up';
    await gate.activities.reconcileCalls();
    expect(await statuses()).toEqual(['denied', 'approved', 'pending']);
  });

  it('in lite is brought there when it starts', async () => {
    nowMs += 1_000;
    await gate.host.resume();
    await gate.host.idle();
    expect(await statuses()).toEqual(['denied', 'approved', 'pending']);
    expect(await pending()).toBe(1);
    await decide(waiting, 'deny', 'dev');
    expect(await pending()).toBe(0);
  });

  it('in lite tells whoever decides first how the call ended, and shows it from then on', async () => {
    await expect(decide(denied, 'approve', 'ada')).rejects.toMatchObject({
      code: 'already_decided',
      fields: { status: 'denied', decided_by: 'operator:dev' },
    });
    // The approval that counted, sent again, has its result.
    expect(await decide(approved, 'approve', 'ada')).toMatchObject({ status: 'approved' });
    await expect(decide(approved, 'deny', 'dev')).rejects.toMatchObject({ code: 'already_decided' });
    expect(await statuses()).toEqual(['denied', 'approved', 'pending']);
  });

  it('says nothing of a row whose call is not known any more, and takes it back 30 days after its deadline', async () => {
    const { row } = await gate.reviews.createOnce({
      agent_id: 'support-bot',
      correlation_id: randomUUID(),
      method: 'tools/call',
      request_payload: {},
      risk_summary: 'of a call that is gone',
      state_namespace: 'operator',
      ttl_seconds: 600,
      review_reasons: [],
      tenant: 'acme',
    });
    nowMs += 2 * GRACE_MS;
    expect(await gate.activities.reconcileCalls()).toMatchObject({ failed: 0 });
    expect((await gate.reviews.get(row.id))?.status).toBe('pending');
    nowMs += 600_000 + 30 * 86_400_000 - 3 * GRACE_MS;
    await gate.activities.reconcileCalls();
    expect((await gate.reviews.get(row.id))?.status).toBe('expired');
    nowMs += 3 * GRACE_MS;
    expect(await gate.activities.reconcileCalls()).toMatchObject({ failed: 0 });
    expect(await gate.reviews.get(row.id)).toBeNull();
  });

  it('takes a row back that was stored after its call had been closed, as where HIL hung meanwhile', async () => {
    const call = await gate.call();
    gate.script.hil = 'down';
    await expect(gate.run(call)).rejects.toMatchObject({ code: 'pipeline_unavailable' });
    await gate.activities.abortCall(call.correlation_id, 'the workflow is failed while the call is decided');
    gate.script.hil = 'up';
    const { row } = await gate.reviews.createOnce({
      agent_id: 'support-bot',
      correlation_id: call.correlation_id,
      method: 'tools/call',
      request_payload: {},
      risk_summary: 'carried out late',
      state_namespace: 'operator',
      ttl_seconds: 600,
      review_reasons: [],
      attempt_ms: nowMs,
      tenant: 'acme',
    });
    nowMs += 2 * GRACE_MS;
    expect(await gate.activities.reconcileCalls()).toMatchObject({ failed: 0 });
    expect(await gate.reviews.get(row.id)).toBeNull();
    expect(await gate.calls.followUpsDue('review', nowMs + 1, 10)).toEqual([]);
  });
});
