import { errorText, GateError } from '../errors.js';

/** Waits until the ledger has what waits for it, so long at most. Throws `operation_unfinished` with the cause: the rows wait on, and are sent. */
export async function soonToldTo(flushed: Promise<void>, limitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`it did not take them within ${limitMs} ms`)), limitMs);
  });
  try {
    await Promise.race([flushed, late]);
  } catch (cause) {
    throw new GateError('operation_unfinished', `rows wait for the ledger: ${errorText(cause)}`, { cause });
  } finally {
    clearTimeout(timer);
  }
}
