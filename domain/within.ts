/** What the work comes to, if that is within the time; otherwise throws `late()`. Work that is late goes on, and its end is nobody's. */
export async function within<Result>(limitMs: number, work: Promise<Result>, late: () => Error): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  let begun: NodeJS.Immediate | undefined;
  try {
    return await Promise.race([
      work,
      new Promise<never>((_, reject) => {
        // Most work is done within this turn of the event loop, and a timer costs more than it.
        begun = setImmediate(() => {
          timer = setTimeout(() => reject(late()), limitMs);
        });
      }),
    ]);
  } finally {
    clearImmediate(begun);
    clearTimeout(timer);
  }
}
