/** Requests of up to this many characters are inspected on the calling thread, because sending them to another thread would take longer. */
export const LOOKED_AT_IN_PLACE = 16_384;
/**
 * Arguments of up to this many characters are judged on the calling thread. Reading a text as SQL and shell commands costs up to some ms
 * per 1,000 characters.
 */
export const JUDGED_IN_PLACE = 4_096;

/** The size of a value: characters of keys and texts, plus one for each value. Stops counting beyond the limit. */
export function sizeOf(value: unknown, limit = LOOKED_AT_IN_PLACE): number {
  let size = 0;
  const open: unknown[] = [value];
  for (let at = 0; at < open.length && size <= limit; at += 1) {
    const part = open[at];
    size += typeof part === 'string' ? part.length : 1;
    if (Array.isArray(part)) {
      if (open.length + part.length > limit) return limit + 1;
      for (const item of part as unknown[]) open.push(item);
    } else if (typeof part === 'object' && part !== null) {
      const object = part as Record<string, unknown>;
      for (const key in object) {
        size += key.length;
        if (size > limit || open.length > limit) return limit + 1;
        open.push(object[key]);
      }
    }
  }
  return size;
}

const MOST_COUNTED = 1 << 20;
/** What may be spent on a value: so many times its size, and at least so much. */
export const budgetFor = (value: unknown, timesItsSize: number, least: number): number =>
  Math.max(least, timesItsSize * sizeOf(value, MOST_COUNTED));
