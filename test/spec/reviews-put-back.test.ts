import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { backupOfStore } from '../support/put-back.js';
import { STACK_START_LIMIT_MS, startStack, type TestStack } from '../support/stack.js';
import { eventually } from '../support/waiting.js';

describe("the stack, with HIL's store put back from before its calls were decided", () => {
  let stateDir: string;
  let gate: TestStack;
  let denied: string;
  let approved: string;
  let waits: string;
  /** No pass of reconciliation comes by itself while the test lasts. */
  const start = async () => {
    const env = { GATE_RECONCILE_EVERY_SECS: '3600', GATE_RECONCILE_GRACE_SECS: '1' };
    gate = await startStack({ stateDir, env });
  };
  const statusOf = async (correlationId: string) => (await gate.operator.rowOf(correlationId)).status;
  const answer = async (correlationId: string, decision: 'approve' | 'deny') => {
    const { status, text } = await gate.operator.decide(correlationId, decision, 'looked at it');
    return { status, body: JSON.parse(text) as Record<string, unknown> };
  };

  beforeAll(async () => {
    stateDir = await mkdtemp(join(tmpdir(), 'gate-put-back-'));
    await start();
    const agent = await gate.agent('support-bot');
    const parked = async () =>
      (await agent.call('wire_transfer', { from: 'operating', to: 'vendor', amount: 1 })).correlationId;
    [denied, approved, waits] = [await parked(), await parked(), await parked()];
    const copy = await backupOfStore(join(stateDir, 'data'), 'hil.db');
    expect(await answer(denied, 'deny')).toMatchObject({ status: 200 });
    expect(await answer(approved, 'approve')).toMatchObject({ status: 200 });
    await gate.kinds(approved, 'upstream.outcome');
    await gate.stop();
    copy.putBack();
    await start();
  }, STACK_START_LIMIT_MS);
  afterAll(async () => {
    await gate?.stop();
    await rm(stateDir, { recursive: true, force: true });
  });

  it('tells whoever decides an ended call how it ended, and shows that from then on', async () => {
    expect(await statusOf(denied)).toBe('pending');
    expect(await answer(denied, 'approve')).toMatchObject({
      status: 409,
      body: { error: 'already_decided', status: 'denied' },
    });
    expect(await statusOf(denied)).toBe('denied');
    expect(await statusOf(approved)).toBe('pending');
  });

  it('shows with the next pass what the others came to, and what waits can be decided', async () => {
    const { address, namespace } = gate.development.temporal;
    const connection = await Connection.connect({ address });
    await new Client({ connection, namespace }).schedule.getHandle('gate-reconcile').trigger();
    await connection.close();
    await eventually('the row says approved', async () => (await statusOf(approved)) === 'approved');
    expect((await gate.operator.pending()).map(({ correlation_id: id }) => id)).toEqual([waits]);
    expect(await answer(waits, 'deny')).toMatchObject({ status: 200 });
    expect(await gate.operator.pending()).toEqual([]);
  }, 120_000);
});
