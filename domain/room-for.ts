/**
 * Options of an LRU cache for up to `most` entries that takes memory as it fills. With `max` the cache sets aside and fills arrays of that
 * length when it is made: 4 ms of the processor for 50,000 entries, in every process and store, before the first one is kept.
 */
export const roomFor = (most: number): { readonly maxSize: number; readonly sizeCalculation: () => number } => ({
  maxSize: most,
  sizeCalculation: () => 1,
});
