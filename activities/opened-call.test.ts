import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { CallInput } from '../contracts/call.js';
import { fixtureFolder, openPipeline, type PipelineFixture } from '../test/support/pipeline-fixture.js';
import { judgedInSteps } from '../test/support/judged-in-steps.js';
import { createStepActivities } from './steps.js';
import { eventually } from '../test/support/waiting.js';

/** How the staged request comes to be another one, by whoever can write the call store. */
const EDITS: Readonly<Record<string, string>> = {
  'has a changed byte':
    "update call_requests set sealed = substr(sealed, 1, length(sealed) - 1) || x'00' where correlation_id = ?1",
  'is empty': "update call_requests set sealed = x'' where correlation_id = ?1",
  'is that of another call':
    'update call_requests set sealed = (select o.sealed from call_requests o where o.correlation_id <> ?1) where correlation_id = ?1',
};

/** The hosts' roads to a verdict: the engine's two steps, and the in-process host. */
const ROADS: Readonly<Record<string, (gate: PipelineFixture, call: CallInput) => Promise<unknown>>> = {
  async 'the steps of the engine'(gate, call) {
    const steps = createStepActivities(gate.activities);
    const summary = await judgedInSteps(steps, call);
    await steps.appendLedger(call.correlation_id, 'at_once');
    return summary;
  },
  'the in-process host': (gate, call) => gate.run(call),
};

describe.each(Object.keys(ROADS))('a staged request that was changed in the store before it was judged: %s', (road) => {
  let folder: string;
  let gate: PipelineFixture;
  let told: string[];
  const open = async () => {
    gate = await openPipeline({ folder, onAlarm: (id, reason, kind) => told.push(`${kind} ${id}: ${reason}`) });
  };
  beforeEach(async () => {
    told = [];
    folder = await fixtureFolder();
    await open();
  });
  afterEach(async () => {
    await gate.close();
    await rm(folder, { recursive: true, force: true });
  });
  /** Changed while no process holds what was staged, as where the proxy stages and a worker apart judges. */
  async function changed(edit: string, change: Partial<CallInput> = {}): Promise<CallInput> {
    await gate.call();
    const call = await gate.call(change);
    await gate.close();
    const connection = new DatabaseSync(join(folder, 'calls.db'));
    connection.prepare(EDITS[edit] ?? '').run(call.correlation_id);
    connection.close();
    await open();
    return call;
  }
  const judged = (call: CallInput) => ROADS[road]?.(gate, call);
  /** Whoever finds it says so once its row is written, or owed. */
  const settled = () => eventually('the alarm', () => told.length > 0);

  it.each(Object.keys(EDITS))(
    '%s: the call is closed as tampered, with one alarm row, and nothing of it is judged or run',
    async (edit) => {
      const call = await changed(edit);
      const id = call.correlation_id;
      expect(await judged(call)).toMatchObject({ state: 'tampered' });
      await settled();
      expect(await gate.calls.find(id)).toMatchObject({
        state: 'tampered',
        digest: call.digest,
        outcome: {
          stage: 'tampered',
          error: expect.stringContaining('the staged request is not the one of its digest'),
        },
        evidence: { verdict: null, call: { tenant: 'acme', agent: 'support-bot' } },
      });
      const rows = await gate.rows(id);
      expect(rows).toMatchObject([{ event_kind: 'alarm.record_tampered', tenant: 'acme', authorized: false }]);
      expect(told).toEqual([`alarm.record_tampered ${id}: ${rows[0]?.reasoning ?? ''}`]);
      // The same call again, from the start or from its record, is answered by that.
      expect(await judged(call)).toMatchObject({ state: 'tampered' });
      expect(await gate.activities.callUpstream(call, Date.now() + 60_000)).toMatchObject({ state: 'tampered' });
      await gate.activities.appendRows(id);
      expect(await gate.kinds(id)).toEqual(['alarm.record_tampered']);
      expect(gate.executed).toEqual([]);
      expect(told).toHaveLength(1);
      expect(await gate.calls.oldestRowsDueMs()).toBeNull();
    },
  );

  it('also where it comes too late to be judged', async () => {
    const call = await changed('has a changed byte', { not_after_ms: Date.now() - 1 });
    expect(await judged(call)).toMatchObject({ state: 'tampered' });
  });

  it('also where its verdict stood already: the record is closed, and its rows from before stay', async () => {
    const call = await gate.call();
    const { activities } = gate;
    await activities.commitVerdict(
      call,
      await activities.inspect(call),
      await activities.evaluate(call, { available: false, reason: 'away' }),
    );
    await activities.appendRows(call.correlation_id);
    await gate.close();
    const connection = new DatabaseSync(join(folder, 'calls.db'));
    connection.prepare(EDITS['is empty'] ?? '').run(call.correlation_id);
    connection.close();
    await open();
    expect(await judged(call)).toMatchObject({ state: 'tampered' });
    await settled();
    expect((await gate.kinds(call.correlation_id)).filter((kind) => kind?.startsWith('alarm'))).toEqual([
      'alarm.record_tampered',
    ]);
    expect(gate.executed).toEqual([]);
  });

  it('where the ledger is away the alarm is owed, and comes with the rows that are due', async () => {
    const call = await changed('is empty');
    gate.script.ledger = 'down';
    expect(await judged(call)).toMatchObject({ state: 'tampered' });
    await settled();
    expect(await gate.calls.oldestRowsDueMs()).not.toBeNull();
    gate.script.ledger = 'up';
    await gate.activities.appendRows(call.correlation_id);
    expect(await gate.kinds(call.correlation_id)).toEqual(['alarm.record_tampered']);
  });

  it('while one that is not there any more is a 503 and leaves no record, as before', async () => {
    const call = await gate.call();
    await gate.close();
    const connection = new DatabaseSync(join(folder, 'calls.db'));
    connection.exec('delete from call_requests');
    connection.close();
    await open();
    await expect(judged(call)).rejects.toThrow();
    expect(await gate.calls.find(call.correlation_id)).toBeNull();
  });
});
