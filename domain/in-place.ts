import { performance } from 'node:perf_hooks';

/** Synchronous work that took longer than the event loop may wait for it. It has no result; a thread can do it from the beginning. */
export class TookTooLong extends Error {
  override readonly name = 'TookTooLong';
}

/** Called by synchronous work between its pieces. Throws TookTooLong once the work may not go on. */
export type Checkpoint = () => void;

/** For work in a thread, which delays nobody. */
export const unlimited: Checkpoint = () => {};

/** A checkpoint for work that begins now and may take so many ms. */
export function lasting(ms: number, now: () => number = () => performance.now()): Checkpoint {
  const until = now() + ms;
  return () => {
    if (now() > until) throw new TookTooLong(`not done within ${ms} ms`);
  };
}
