import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Whether the value is given up by everybody. Whoever asks must hold it no more himself. */
export async function isCollected(of: WeakRef<object>): Promise<boolean> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // What was looked at in this turn stays until its end.
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  return of.deref() === undefined;
}
