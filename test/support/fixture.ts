import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';

/** What opening a store or a server may take on a busy machine. */
const OPEN_LIMIT_MS = 60_000;

/**
 * A fixture that each test has anew. Where `sharedHere()` is called, the tests of that `describe` have one between them: for tables of
 * refusals, each of which says that nothing was stored, so that one that leaves something fails those after it too.
 */
export function fixture(
  open: () => Promise<unknown>,
  close: () => Promise<unknown> = () => Promise.resolve(),
): {
  readonly sharedHere: () => void;
} {
  let shared = false;
  beforeEach(async () => {
    if (!shared) await open();
  }, OPEN_LIMIT_MS);
  afterEach(async () => {
    if (!shared) await close();
  });
  return {
    sharedHere() {
      beforeAll(async () => {
        shared = true;
        await open();
      }, OPEN_LIMIT_MS);
      afterAll(async () => {
        shared = false;
        await close();
      });
    },
  };
}
