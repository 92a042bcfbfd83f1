import { beforeEach, describe, expect, it } from '@jest/globals';
import { createParkedRoom, type ParkedRoom } from './parked-room.js';

const TOGETHER = 16;
let now: number;
let room: ParkedRoom;
beforeEach(() => {
  now = 1_000_000;
  room = createParkedRoom(() => now);
});
const ids = (count: number, of = 'call') => Array.from({ length: count }, (_, n) => `${of}-${n}`);
const entered = (count: number, of?: string) => ids(count, of).map((id) => room.enter(id));

describe('docs/decisions/continue-as-new-at-park: who may move to the parked queue', () => {
  it('every call at once, while few are on their way', () => {
    for (const id of ids(100)) {
      expect(room.enter(id)).toBe(0);
      now += 20;
      room.arrived(id);
    }
  });

  it('no more than sixteen are on their way, the next one when one has arrived', () => {
    expect(entered(TOGETHER)).toEqual(Array(TOGETHER).fill(0));
    const wait = room.enter('one-more');
    expect(wait).toBeGreaterThanOrEqual(200);
    now += wait;
    expect(room.ask('one-more')).toBeGreaterThanOrEqual(200);
    room.arrived('call-0');
    expect(room.ask('one-more')).toBe(0);
    expect(room.ask('another')).toBeGreaterThanOrEqual(200);
  });

  it('one that has arrived here tells that those which left before it have arrived at another worker', () => {
    entered(TOGETHER);
    room.arrived('call-9');
    now += 2_000;
    expect(ids(10, 'next').map((id) => room.ask(id))).toEqual(Array(10).fill(0));
    expect(room.ask('one-more')).toBeGreaterThan(0);
    // What left later than it is still on its way.
    room.arrived('call-15');
    expect(room.ask('one-more')).toBe(0);
  });

  it('those that ask in one moment, as after a stop, stand in line again instead of asking together', () => {
    const answers = ids(1_000, 'woken').map((id) => room.ask(id));
    expect(answers.slice(0, TOGETHER)).toEqual(Array(TOGETHER).fill(0));
    const waits = answers.slice(TOGETHER);
    expect(waits).toEqual(waits.toSorted((one, other) => one - other));
    expect(Math.max(...waits)).toBeGreaterThan(30_000);
  });

  it('the others stand in line: each asks later than the one before, and a newcomer does not pass them', () => {
    entered(TOGETHER);
    const waits = entered(50, 'waiting');
    expect(waits).toEqual(waits.toSorted((one, other) => one - other));
    expect(new Set(waits).size).toBe(waits.length);
    for (const id of ids(TOGETHER)) room.arrived(id);
    expect(room.enter('newcomer')).toBeGreaterThan(waits.at(-1) ?? 0);
  });

  it('the line is as fast as runs arrive', () => {
    const lengthAfter = (wayMs: number) => {
      room = createParkedRoom(() => now);
      for (let round = 0; round < 20; round += 1) {
        const some = ids(TOGETHER, `round-${round}`);
        for (const id of some) room.enter(id);
        now += wayMs;
        for (const id of some) room.arrived(id);
      }
      entered(TOGETHER, 'last');
      return Math.max(...entered(160, 'in-line')) - 200;
    };
    expect(lengthAfter(100)).toBeLessThanOrEqual(1_100);
    expect(lengthAfter(4_000)).toBeGreaterThan(30_000);
  });

  it('a run that never arrives holds its place for ten seconds, and nobody waits longer than a quarter of an hour', () => {
    entered(TOGETHER);
    const waits = entered(20_000, 'waiting');
    expect(Math.max(...waits)).toBe(900_000);
    now += 9_999;
    expect(room.ask('waiting-0')).toBeGreaterThan(0);
    now += 1;
    expect(room.ask('waiting-0')).toBe(0);
  });

  it('asked twice for one run, it counts once', () => {
    entered(TOGETHER - 1);
    expect(room.ask('again')).toBe(0);
    room.arrived('call-0');
    expect(room.ask('again')).toBe(0);
    expect(room.ask('one-more')).toBe(0);
    expect(room.ask('too-many')).toBeGreaterThan(0);
  });
});
