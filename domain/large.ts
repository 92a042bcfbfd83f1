/** Up to this many characters a request is looked at where it is asked for: sending it to a thread would take longer. */
export const LOOKED_AT_IN_PLACE = 16_384;
/** Of the arguments of a call so many are judged in place: read as SQL and as a shell reads them, a text costs up to some ms per 1,000. */
export const JUDGED_IN_PLACE = 4_096;

/** How large a value is, counted as far as the limit: characters of keys and texts, and one for each value. */
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
