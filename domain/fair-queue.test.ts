import { describe, expect, it } from '@jest/globals';
import { createFairQueue, type FairQueue } from './fair-queue.js';

/** Takes one item after the other and finishes each before the next, as a single thread does. */
function taken(queue: FairQueue<string>, count = Infinity): string[] {
  const items: string[] = [];
  while (items.length < count) {
    const next = queue.take();
    if (next === undefined) break;
    items.push(next.item);
    queue.done(next.who);
  }
  return items;
}
const filled = (...items: readonly string[]): FairQueue<string> => {
  const queue = createFairQueue<string>();
  for (const item of items) queue.add(item[0] as string, item);
  return queue;
};

describe('what waits is taken in turns of those who asked', () => {
  it('however many of one wait', () => {
    expect(taken(filled('a1', 'a2', 'a3', 'b1', 'a4', 'c1', 'b2'))).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
  });

  it('one of each at a time: what comes while one of another is under way is next', () => {
    const queue = filled('a1', 'a2', 'a3');
    expect(queue.take()?.item).toBe('a1');
    expect([queue.ready, queue.take()]).toEqual([0, undefined]);
    queue.add('b', 'b1');
    expect(queue.ready).toBe(1);
    queue.done('a');
    expect(taken(queue)).toEqual(['b1', 'a2', 'a3']);
  });

  it('and whoever comes again and again passes by nobody who waits', () => {
    const queue = filled('a1', 'b1', 'a2', 'b2');
    expect(taken(queue, 2)).toEqual(['a1', 'b1']);
    queue.add('c', 'c1');
    expect(taken(queue, 2)).toEqual(['a2', 'b2']);
    queue.add('d', 'd1');
    expect(taken(queue)).toEqual(['c1', 'd1']);
  });

  it('less what was taken out', () => {
    const queue = filled('a1', 'a2', 'b1');
    queue.remove('b', 'b1');
    queue.remove('b', 'b1');
    queue.remove('a', 'a1');
    expect([queue.size, queue.waitingOf('a'), queue.waitingOf('b'), queue.ready]).toEqual([1, 1, 0, 1]);
    expect(taken(queue)).toEqual(['a2']);
    expect([queue.size, queue.ready]).toEqual([0, 0]);
    queue.add('b', 'b2');
    expect(queue.clear()).toEqual(['b2']);
    expect([queue.size, queue.ready, queue.take()]).toEqual([0, 0, undefined]);
  });

  it('of a group no more at once than it may, however many owners it has', () => {
    const queue = createFairQueue<string>({ of: (who) => who[0] as string, most: 2 });
    for (const who of ['a1', 'a2', 'a3', 'b1']) queue.add(who, who);
    expect([queue.ready, queue.waitingIn('a'), queue.heldBack('a')]).toEqual([3, 3, undefined]);
    expect([1, 2, 3].map(() => queue.take()?.item)).toEqual(['a1', 'a2', 'b1']);
    expect([queue.ready, queue.next, queue.take()]).toEqual([0, undefined, undefined]);
    expect([queue.heldBack('a'), queue.heldBack('b')]).toEqual(['a3', undefined]);
    queue.done('b1');
    expect(queue.take()).toBeUndefined();
    queue.done('a1');
    expect(queue.take()?.item).toBe('a3');
  });
});
