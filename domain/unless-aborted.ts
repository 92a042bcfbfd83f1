/** What the work comes to. Once the signal aborts, its reason is thrown, and what the work still comes to is given to `late`. */
export async function unlessAborted<Result>(
  signal: AbortSignal,
  work: Promise<Result>,
  late: (result: Result) => void,
): Promise<Result> {
  let abort: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => {
      reject(signal.reason as Error);
      work.then(late, () => undefined);
    };
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort);
  });
  try {
    return await Promise.race([aborted, work]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
