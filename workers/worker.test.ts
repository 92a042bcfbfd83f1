import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { createStepActivities } from '../activities/steps.js';
import { PROJECT_ROOT } from '../config/project-root.js';
import { judgedInSteps } from '../test/support/judged-in-steps.js';
import { openPipeline, type PipelineFixture } from '../test/support/pipeline-fixture.js';
import { REFUSED_PAYLOAD } from './codec.js';
import { forEngine, streamsForEngine, tenantsForEngine } from './worker.js';

let gate: PipelineFixture;
beforeAll(async () => {
  gate = await openPipeline();
});
afterAll(() => gate.close());

describe('the activities of a worker', () => {
  const source = readdirSync(join(PROJECT_ROOT, 'workflows'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file) => readFileSync(join(PROJECT_ROOT, 'workflows', file), 'utf8'))
    .join('\n');

  it('are those that workflows call, and no other: whoever speaks to the engine could have any of them run', () => {
    const registered = Object.keys(forEngine(gate.activities));
    const called = (name: string) => new RegExp(`\\.${name}\\(|const \\{ ${name}(?:: \\w+)? \\} =`).test(source);
    expect(registered.filter((name) => !called(name))).toEqual([]);
    for (const raw of ['callUpstream', 'commitVerdict', 'openReview', 'reportStuck'])
      expect(registered).not.toContain(raw);
  });

  it('are all that workflows call', () => {
    const called = [
      ...source.matchAll(
        /export const \{ (\w+) \} =|\b(?:local|durable|appendingNow|appendingLater|settling|settlingLater)\.(\w+)\(/g,
      ),
    ]
      .map(([, alone, of]) => alone ?? of)
      // Of an earlier Gate: where nobody does it any more, the workflow goes on without.
      .filter((name) => name !== 'afterDecision');
    expect(called.length).toBeGreaterThan(12);
    expect(Object.keys(forEngine(gate.activities))).toEqual(expect.arrayContaining(called));
  });

  const POSITIONS = [0, 1, 2, 3, 4];
  it.each(POSITIONS)('refuse what no key of Gate has sealed as argument %i, before anything runs', async (at) => {
    const args = POSITIONS.map((position) => (position === at ? REFUSED_PAYLOAD : 'x'));
    let ran = 0;
    const runs = () => {
      ran += 1;
      return Promise.reject(new Error('it ran'));
    };
    const lists: readonly object[] = [
      forEngine(gate.activities),
      streamsForEngine({ sweepSink: runs }),
      tenantsForEngine({ lookAtTenant: runs, takeTenantStep: runs }),
    ];
    const activities = Object.assign({}, ...lists) as Record<string, (...args: unknown[]) => Promise<unknown>>;
    expect(Object.keys(activities)).toEqual(
      expect.arrayContaining(['judge', 'sweepSink', 'lookAtTenant', 'takeTenantStep']),
    );
    for (const [name, activity] of Object.entries(activities))
      expect([name, await activity(...args).catch((error: Error) => error)]).toEqual([
        name,
        expect.objectContaining({ type: 'unsealed_argument', nonRetryable: true }),
      ]);
    expect(ran).toBe(0);
  });

  it('let rows that are owed wait longer after each attempt, never two calls alike', async () => {
    const activities = forEngine(gate.activities);
    const call = await gate.call();
    await judgedInSteps(createStepActivities(gate.activities), call);
    const owed = () => activities.appendLedger(call.correlation_id, 'until_taken');
    gate.script.ledger = 'down';
    const pauseAfter = async (attempt: number): Promise<number> => {
      const failed: unknown = await new MockActivityEnvironment({ attempt }, { logger: new DefaultLogger('ERROR') })
        .run(owed)
        .catch((error: unknown) => error);
      expect(failed).toMatchObject({ type: 'ledger_store_unavailable', nonRetryable: false });
      return Number((failed as ApplicationFailure).nextRetryDelay);
    };
    expect(await pauseAfter(1)).toBeLessThanOrEqual(500);
    const late = await Promise.all(Array.from({ length: 8 }, () => pauseAfter(40)));
    for (const pause of late) expect([pause >= 7_500, pause <= 15_000]).toEqual([true, true]);
    expect(new Set(late).size).toBeGreaterThan(1);
    gate.script.ledger = 'up';
    expect(await new MockActivityEnvironment().run(owed)).toBe(true);
  });

  it('end at once where a call has no record: nothing holds a place among the tasks of parked calls', async () => {
    const activities = forEngine(gate.activities);
    for (const settled of [activities.settleExecution('unknown', 'lost'), activities.expire('unknown')])
      await expect(settled).rejects.toMatchObject({ type: 'not_found', nonRetryable: true });
  });
});
