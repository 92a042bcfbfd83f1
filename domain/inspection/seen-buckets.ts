/**
 * Which of so many buckets a text was seen in, without emptying them before the next: each text has a number of its own, which stands where it was
 * seen. Reading is never interrupted by reading.
 */
export function seenBuckets(buckets: number) {
  const stamps = new Uint32Array(buckets);
  let stamp = 0;
  return {
    stamps,
    /** The number of the next text. */
    next(): number {
      stamp = (stamp + 1) >>> 0;
      if (stamp === 0) {
        stamps.fill(0);
        stamp = 1;
      }
      return stamp;
    },
  };
}
export type SeenBuckets = ReturnType<typeof seenBuckets>;
