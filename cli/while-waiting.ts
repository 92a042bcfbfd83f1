const FIRST_MS = 2_000;

/** Does the work, and tells on stderr, after 2 s and then ever more seldom, what it waits for. */
export async function whileWaiting<Value>(
  what: () => string,
  work: () => Promise<Value>,
  {
    firstMs = FIRST_MS,
    write = (line: string): void => void process.stderr.write(line),
  }: { readonly firstMs?: number; readonly write?: (line: string) => void } = {},
): Promise<Value> {
  const beganMs = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const tellAfter = (pauseMs: number): void => {
    timer = setTimeout(() => {
      write(`${what()} (${Math.round((performance.now() - beganMs) / 1_000)} s)\n`);
      tellAfter(2 * pauseMs);
    }, pauseMs).unref();
  };
  tellAfter(firstMs);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}
