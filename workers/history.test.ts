import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import proto from '@temporalio/proto';
import { PROJECT_ROOT } from '../config/project-root.js';
import { CALLBACK_HISTORIES, decodeHistory, HISTORIES, type RecordedHistory } from '../test/replay/histories.js';
import { TEST_PAYLOAD_KEYS } from '../test/support/engine-keys.js';
import { stepsOf } from './history.js';

const { EventType } = proto.temporal.api.enums.v1;
type Timestamp = proto.google.protobuf.ITimestamp;

const FILES = [HISTORIES, CALLBACK_HISTORIES].flatMap((folder) =>
  readdirSync(join(PROJECT_ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.pb'))
    .map((file) => join(folder, file)),
);
const recorded = (file: string): RecordedHistory => decodeHistory(readFileSync(join(PROJECT_ROOT, file)));
const msOf = (at: Timestamp | null | undefined): number =>
  Number(at?.seconds ?? 0) * 1000 + Math.floor((at?.nanos ?? 0) / 1_000_000);

/** A task with local steps, in milliseconds after its start: scheduled by the worker, complete by the workflow's clock. */
function task(
  { startMs = 0, endMs }: { startMs?: number; endMs: number },
  ...local: readonly { name: string; scheduledMs?: number; completeMs?: number }[]
): RecordedHistory {
  const at = (ms: number) => ({ seconds: 1_000, nanos: ms * 1_000_000 }) as unknown as Timestamp;
  return {
    events: [
      { eventType: EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, eventTime: at(startMs) },
      { eventType: EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED, eventTime: at(startMs) },
      { eventType: EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, eventTime: at(endMs) },
      ...local.map(({ name, scheduledMs, completeMs }) => ({
        eventType: EventType.EVENT_TYPE_MARKER_RECORDED,
        eventTime: at(endMs),
        markerRecordedEventAttributes: {
          markerName: 'core_local_activity',
          details: {
            data: {
              payloads: [
                {
                  data: Buffer.from(
                    JSON.stringify({
                      activity_type: name,
                      ...(completeMs !== undefined && { complete_time: at(completeMs) }),
                      ...(scheduledMs !== undefined && { original_schedule_time: at(scheduledMs) }),
                    }),
                  ),
                },
              ],
            },
          },
        },
      })),
    ],
  };
}
const timesOf = async (history: RecordedHistory) =>
  (await stepsOf(history, null)).map(({ at, step }) => `${step} ${at.slice(20, 23)}`);

describe('the times of a history', () => {
  it.each(FILES)('%s: no line stands behind a later one', async (file) => {
    const times = (await stepsOf(recorded(file), TEST_PAYLOAD_KEYS)).map(({ at }) => at);
    expect(times).toEqual(times.toSorted());
  });

  it.each(FILES)('%s: no local step ends before the worker began it, nor after its task', async (file) => {
    const history = recorded(file);
    const steps = await stepsOf(history, TEST_PAYLOAD_KEYS);
    for (const { eventTime, markerRecordedEventAttributes: marker } of history.events ?? []) {
      const data = marker?.markerName === 'core_local_activity' ? marker.details?.['data']?.payloads?.[0]?.data : null;
      if (!data) continue;
      const { activity_type: name, original_schedule_time: begun } = JSON.parse(Buffer.from(data).toString()) as {
        activity_type: string;
        original_schedule_time: Timestamp;
      };
      const within = steps.filter(
        ({ step, at }) => step === name && Date.parse(at) >= msOf(begun) && Date.parse(at) <= msOf(eventTime),
      );
      expect({ name, found: within.length > 0 }).toEqual({ name, found: true });
    }
  });

  it('a step ends as long after it was scheduled as it took, whatever the clock of the workflow shows by then', async () => {
    const two = task(
      { endMs: 190 },
      { name: 'one', scheduledMs: 100, completeMs: 20 },
      { name: 'two', scheduledMs: 130, completeMs: 60 },
    );
    expect(await timesOf(two)).toEqual(['begins 000', 'one 120', 'two 170']);
  });

  it.each([
    ['is behind', -500],
    ['is ahead', 400],
  ])('a worker whose clock %s puts no step outside its task', async (_name, off) => {
    const [begins, one] = await timesOf(
      task({ startMs: 500, endMs: 600 }, { name: 'one', scheduledMs: 520 + off, completeMs: 510 }),
    );
    expect([begins, one]).toEqual(['begins 500', off < 0 ? 'one 500' : 'one 600']);
  });

  it('a marker that says nothing of it stands at the end of its task', async () => {
    expect(await timesOf(task({ endMs: 90 }, { name: 'one' }))).toEqual(['begins 000', 'one 090']);
  });
});
