import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallInput } from '../contracts/call.js';
import { openPipeline, type PipelineFixture } from '../test/support/pipeline-fixture.js';
import { alarmRow, tenantOf } from './ledger.js';

describe('an alarm about a call', () => {
  let gate: PipelineFixture;
  beforeEach(async () => {
    gate = await openPipeline({ script: { tier: 'yellow' } });
  });
  afterEach(() => gate.close());

  const parked = async (): Promise<CallInput> => {
    const call = await gate.call({ tenant: 'globex' });
    await gate.run(call);
    await gate.activities.appendRows(call.correlation_id);
    return call;
  };
  const edit = (file: string, text: string, ...values: string[]) => {
    const connection = new DatabaseSync(join(gate.folder, file));
    connection.prepare(text).run(...values);
    connection.close();
  };
  /** What the tenant himself is shown: the same rows as in his bundle. */
  const alarmsOf = async (tenant: string, correlationId: string): Promise<(string | null)[]> => {
    const found: (string | null)[] = [];
    for await (const page of gate.ledger.pages({ tenant, correlationId }))
      for (const row of page) if (row.event_kind?.startsWith('alarm.')) found.push(row.event_kind);
    return found;
  };

  it.each<[string, (call: CallInput) => Promise<unknown>]>([
    [
      'alarm.forged_decision',
      async (call) => {
        const real = await gate.decision(call, 'approve');
        return gate.activities.applyDecision({ ...real, decision: 'deny' });
      },
    ],
    [
      'alarm.forged_decision',
      async (call) => gate.activities.applyDecision(await gate.decision(call, 'approve', { action_digest: 'other' })),
    ],
    ['alarm.forged_decision', (call) => gate.activities.reportForeignPayload(call.correlation_id)],
    [
      'alarm.review_tampered',
      async (call) => {
        edit('hil.db', "update reviews set risk_summary = 'harmless' where correlation_id = ?", call.correlation_id);
        await gate.activities.expireReview(call.correlation_id);
        await gate.activities.settleReviewRow(call.correlation_id);
      },
    ],
    ['alarm.call_stuck', (call) => gate.activities.reportStuck(call.correlation_id, 'rows', 'a reason')],
    ['alarm.reconciled', () => gate.activities.reconcileCalls()],
  ])('%s lies under the tenant of the call, however often it is raised', async (kind, raise) => {
    const call = await parked();
    await raise(call);
    expect(await alarmsOf('globex', call.correlation_id)).toContain(kind);
    expect(await alarmsOf('system', call.correlation_id)).toEqual([]);
    await raise(call);
    const all = await gate.kinds(call.correlation_id);
    expect(all).not.toContain('alarm.row_conflict');
  });

  it('lies under `system` where no such call is known', async () => {
    const id = randomUUID();
    expect(await tenantOf(gate.calls, id)).toBeNull();
    await gate.activities.reportStuck(id, 'rows', 'a reason');
    expect(await alarmsOf('system', id)).toEqual(['alarm.call_stuck']);
  });

  it('was raised also where it stands under `system`, because an earlier Gate or an unreadable record said so', async () => {
    const call = await parked();
    const { correlation_id } = call;
    const said = {
      correlation_id,
      kind: 'alarm.call_stuck',
      reasoning: 'the rows of the call cannot be appended: a reason',
    } as const;
    await gate.ledger.append([alarmRow({ ...said, detail: { duty: 'rows' }, tenant: null })]);
    expect(await gate.activities.reportStuck(correlation_id, 'rows', 'a reason')).toBe(true);
  });

  it('has an id that does not depend on the tenant', () => {
    const said = { correlation_id: randomUUID(), kind: 'alarm.call_stuck', reasoning: 'x', detail: {} } as const;
    expect(alarmRow({ ...said, tenant: 'acme' }).id).toBe(alarmRow({ ...said, tenant: null }).id);
  });
});
