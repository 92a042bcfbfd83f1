import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../../contracts/json.js';
import type { CallRecord } from '../../../domain/call/record.js';
import { GateError } from '../../../domain/errors.js';
import { eventually } from '../../../test/support/waiting.js';
import { createTaskNews } from './task-news.js';

const CALLER = { tenant: 'acme', agent: 'bot' } as never;
const ASKER = { caller: CALLER, consoleUrl: undefined };

/** News of one open task, whose call moves when the test says so. */
function newsOf(get: (reading: number) => Promise<JsonObject>) {
  const moves: CallRecord[] = [];
  const waits: ((record: CallRecord | null) => void)[] = [];
  let readings = 0;
  const news = createTaskNews({
    tasks: {
      get: () => get((readings += 1)),
      open: async () => [{ taskId: 'c', standing: 'working' }],
    },
    handler: {
      changed: () => {
        const next = moves.shift();
        return next ? Promise.resolve(next) : new Promise((resolve) => waits.push(resolve));
      },
    },
    now: () => 0,
  });
  const move = (state: string, version: number) => {
    const record = {
      state,
      version,
      decision: null,
      outcome: null,
      evidence: { call: { contract: 'gate.server-execution/v1' } },
    } as never as CallRecord;
    const waiting = waits.shift();
    if (waiting) waiting(record);
    else moves.push(record);
  };
  return { news, move, readings: () => readings };
}

describe('news of a task', () => {
  it('say how it stands once it waits for a person', async () => {
    const { news, move } = newsOf(async () => ({ taskId: 'c', status: 'working' }));
    const told: JsonObject[] = [];
    const gone = new AbortController();
    await news.listen(ASKER, (task) => void told.push(task), gone.signal);
    move('parked', 1);
    await eventually('it is told', () => told.length > 0);
    expect(told).toEqual([{ taskId: 'c', status: 'working' }]);
    gone.abort();
  });

  it('say nothing where it cannot be read, and go on with what is read next: no end that nobody saw', async () => {
    const { news, move, readings } = newsOf(async (reading) => {
      if (reading === 1) throw new GateError('pipeline_unavailable');
      return { taskId: 'c', status: 'working', statusMessage: 'is at its tool' };
    });
    const told: JsonObject[] = [];
    const gone = new AbortController();
    await news.listen(ASKER, (task) => void told.push(task), gone.signal);
    move('parked', 1);
    await eventually('it is read', () => readings() === 1);
    move('allowed', 2);
    await eventually('it is told', () => told.length > 0);
    expect(told).toEqual([{ taskId: 'c', status: 'working', statusMessage: 'is at its tool' }]);
    gone.abort();
  });
});
