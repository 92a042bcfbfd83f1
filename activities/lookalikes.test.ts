import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createNameWatch } from '../domain/tool-definitions/name-watch.js';
import { rulesScanner } from '../test/support/definition-scanner.js';
import { openPipeline, type PipelineFixture } from '../test/support/pipeline-fixture.js';
import { createActivities } from '../workers/activities.js';

let gate: PipelineFixture;
let isUp: boolean;
const degraded: unknown[] = [];

beforeEach(async () => {
  isUp = true;
  gate = await openPipeline({
    compose: (ports) =>
      createActivities({
        ...ports,
        names: createNameWatch({
          pins: { listed: async () => ({ names: new Set(['write_file', 'pay']), complete: true }) },
          scanner: {
            scanToolName: (request) =>
              isUp ? rulesScanner.scanToolName(request) : Promise.reject(new Error('Brain is away')),
          },
          onDegraded: (error) => degraded.push(error),
          limitMs: 60_000,
        }),
      }),
  });
});
afterEach(() => gate.close());

async function verdictRow(tool: string, suspended?: 'not_listed') {
  gate.script.classes = suspended ? { [tool]: { suspended } } : {};
  const call = await gate.call({ tool });
  await gate.run(call);
  return (await gate.rows(call.correlation_id)).find(({ event_kind: kind }) => kind === 'proxy.verdict');
}

describe('a called name that no list has', () => {
  it('stands in the row of its verdict with the one that it is taken for, and changes nothing of the verdict', async () => {
    const like = await verdictRow('writ_file', 'not_listed');
    expect(like).toMatchObject({
      signal: 'tool_name_lookalike',
      policy_decision: {
        lookalikes: [
          { called: 'writ_file', nearest: 'write_file', distance: 1, confidence: 0.8, signals: ['edit_distance'] },
        ],
      },
    });
    const other = await verdictRow('delete_all', 'not_listed');
    expect(other).toMatchObject({ signal: null, authorized: like?.authorized });
    expect(other?.policy_decision).not.toHaveProperty('lookalikes');
  });

  it('is not looked at where a list has it, and holds up no call where Brain is away', async () => {
    expect(await verdictRow('writ_file')).toMatchObject({ signal: null });
    isUp = false;
    expect(await verdictRow('writ_file', 'not_listed')).toMatchObject({ signal: null });
    expect(degraded).toHaveLength(1);
  });
});
