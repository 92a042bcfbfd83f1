import { rm } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallInput } from '../../contracts/call.js';
import { createDecisions } from '../../domain/review/decisions.js';
import type { RowSettler } from '../../domain/review/ports.js';
import { APPROVERS } from '../../test/support/approvers.js';
import { ENGINE_START_LIMIT_MS } from '../../test/support/engine.js';
import { until } from '../../test/support/kill-host-driver.js';
import {
  DECISION_KEYS,
  fixtureFolder,
  openPipeline,
  type PipelineFixture,
} from '../../test/support/pipeline-fixture.js';
import { copyOfStore } from '../../test/support/put-back.js';
import { openWorkflowEnvironment, type WorkflowEnvironment } from '../../test/support/workflow-environment.js';

describe("a decision on a row that HIL's store has from a copy: its call is over", () => {
  let engine: WorkflowEnvironment;
  let gate: PipelineFixture;
  let folder: string;
  let call: CallInput;
  const reopened = async (between: () => void): Promise<void> => {
    await gate.close();
    between();
    gate = await openPipeline({ folder, script: { tier: 'yellow' } });
  };
  beforeAll(async () => {
    folder = await fixtureFolder();
    gate = await openPipeline({ folder, script: { tier: 'yellow' } });
    engine = await openWorkflowEnvironment(() => gate.activities);
  }, ENGINE_START_LIMIT_MS);
  afterAll(async () => {
    await engine?.close();
    await gate.close();
    await rm(folder, { recursive: true, force: true });
  });

  const decide = (decision: 'approve' | 'deny', by: string, settleRow: RowSettler = engine.settleRow) =>
    createDecisions({
      reviews: gate.reviews,
      sender: engine.sender,
      settleRow,
      decisionKey: DECISION_KEYS.privateKey,
      clock: Date.now,
      decisionLifeMs: 10_000,
      approvers: () => APPROVERS,
      observe: () => undefined,
    })({
      id: call.correlation_id,
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
      request_id: by,
    });
  const status = async () => (await gate.reviews.byCorrelation(call.correlation_id))?.status;

  beforeEach(async () => {
    call = await gate.call();
    expect(await engine.runner.start(call, Date.now() + 10_000)).toMatchObject({ state: 'parked' });
    let copy: ReturnType<typeof copyOfStore> | undefined;
    await reopened(() => (copy = copyOfStore(folder, 'hil.db')));
    await decide('deny', 'dev');
    await until(
      'its run has ended',
      () => engine.client.workflow.getHandle(call.correlation_id).describe(),
      (run) => run.status.name === 'COMPLETED',
    );
    expect(await status()).toBe('denied');
    await reopened(() => copy?.putBack());
    expect(await status()).toBe('pending');
  });
  afterEach(async () => {
    const settling = engine.client.workflow.getHandle(`settle-row/${call.correlation_id}`);
    const history = await settling.fetchHistory().catch(() => null);
    if (history) await engine.replay(history);
  });

  it('is told how the call ended, and the row says so from then on', async () => {
    await expect(decide('approve', 'ada')).rejects.toMatchObject({
      code: 'already_decided',
      fields: { status: 'denied', decided_by: 'operator:dev' },
    });
    expect(await status()).toBe('denied');
    // Now the row itself answers.
    await expect(decide('approve', 'ada', () => Promise.reject(new Error('unused')))).rejects.toMatchObject({
      code: 'already_decided',
    });
  });

  it('of two at once each is told so; who had decided it has his result', async () => {
    const [other, own] = await Promise.allSettled([decide('approve', 'ada'), decide('deny', 'dev')]);
    expect(other).toMatchObject({ status: 'rejected', reason: { code: 'already_decided' } });
    expect(own).toMatchObject({ status: 'fulfilled', value: { status: 'denied', decided_by: 'operator:dev' } });
  });

  it('is told that the call does not wait where nobody can settle the row now', async () => {
    await expect(decide('approve', 'ada', () => Promise.reject(new Error('no worker')))).rejects.toMatchObject({
      code: 'not_pending',
      fields: { status: 'pending' },
    });
  });
});
