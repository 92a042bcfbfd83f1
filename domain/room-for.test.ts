import { expect, it } from '@jest/globals';
import { LRUCache } from 'lru-cache';
import { roomFor } from './room-for.js';

const MOST = 1_000_000;

it('has room for so many, and forgets who was not asked for the longest', () => {
  const cache = new LRUCache<string, number>(roomFor(3));
  for (const name of ['a', 'b', 'c']) cache.set(name, 1);
  cache.get('a');
  cache.set('b', 2);
  cache.set('d', 1);
  expect([...cache.keys()].sort()).toEqual(['a', 'b', 'd']);
  cache.clear();
  for (const name of ['e', 'f', 'g', 'h']) cache.set(name, 1);
  expect([...cache.keys()].sort()).toEqual(['f', 'g', 'h']);
});

it('forgets what is too old too', () => {
  let nowMs = 1;
  const cache = new LRUCache<string, number>({ ...roomFor(2), ttl: 10, ttlResolution: 0, perf: { now: () => nowMs } });
  for (const name of ['a', 'b', 'c']) cache.set(name, 1);
  nowMs += 9;
  expect(['a', 'b', 'c'].map((name) => cache.has(name))).toEqual([false, true, true]);
  nowMs += 2;
  expect(['a', 'b', 'c'].map((name) => cache.has(name))).toEqual([false, false, false]);
});

it('takes no memory for what is not there yet', () => {
  const before = process.memoryUsage();
  const caches = Array.from({ length: 20 }, () => new LRUCache<string, number>(roomFor(MOST)));
  const after = process.memoryUsage();
  // Arrays of that length would be 20 times 16 MB and more.
  const taken = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers;
  expect([caches.length, taken < MOST]).toEqual([20, true]);
});
