import { describe, expect, it } from '@jest/globals';
import { createProviderRecord } from './provider-record.js';

const recordAt = (clock: { ms: number }) => createProviderRecord(() => clock.ms);
const NOTHING = { asked: 0, failed: 0, notAsked: 0, lastFailure: null, lastAnswerMs: null };

describe('what a provider was asked lately', () => {
  it('is nothing at first', () => {
    expect(recordAt({ ms: 0 }).told()).toEqual(NOTHING);
  });

  it('counts answers and failures, and what nobody waited for as neither', () => {
    const clock = { ms: 5 };
    const record = recordAt(clock);
    record.add('answered');
    clock.ms = 7;
    for (const outcome of ['abandoned', 'parse', 'unavailable'] as const) record.add(outcome);
    expect(record.told()).toEqual({
      asked: 4,
      failed: 2,
      notAsked: 0,
      lastFailure: { failure: 'unavailable', atMs: 7 },
      lastAnswerMs: 5,
    });
  });

  it('keeps apart what Gate itself held back, which hides no failure', () => {
    const record = recordAt({ ms: 1 });
    for (const outcome of ['connect', 'held_back', 'over_budget'] as const) record.add(outcome);
    expect(record.told()).toMatchObject({ asked: 1, failed: 1, notAsked: 2, lastFailure: { failure: 'connect' } });
  });

  it('counts no question for which there was no key, and tells that there was none', () => {
    const record = recordAt({ ms: 3 });
    for (const outcome of ['connect', 'no_key'] as const) record.add(outcome);
    expect(record.told()).toMatchObject({
      asked: 1,
      failed: 1,
      notAsked: 1,
      lastFailure: { failure: 'no_key', atMs: 3 },
    });
  });

  it('forgets the counts after ten minutes, and the last failure and answer not', () => {
    const clock = { ms: 0 };
    const record = recordAt(clock);
    record.add('answered');
    record.add('refused');
    clock.ms = 599_999;
    record.add('answered');
    expect(record.told()).toMatchObject({ asked: 3, failed: 1 });
    clock.ms = 600_000;
    expect(record.told()).toMatchObject({ asked: 1, failed: 0, lastFailure: { failure: 'refused', atMs: 0 } });
    clock.ms = 6_000_000;
    expect(record.told()).toMatchObject({ asked: 0, failed: 0, lastAnswerMs: 599_999 });
  });

  it('holds ten minutes however long it is asked', () => {
    const clock = { ms: 0 };
    const record = recordAt(clock);
    for (; clock.ms < 3_600_000; clock.ms += 60_000) record.add('answered');
    clock.ms -= 60_000;
    expect(record.told()).toMatchObject({ asked: 10 });
  });
});
