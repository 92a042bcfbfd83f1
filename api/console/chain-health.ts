import type { ChainHealth } from '../../console/services.js';
import { verifyResult } from '../../contracts/ledger.js';
import { parseCheckpoint } from '../../domain/ledger/tlog/checkpoint.js';
import { namedWitnesses } from '../../domain/ledger/tlog/note.js';
import { within } from '../../domain/within.js';
import type { AskLimits } from './ask-limits.js';
import { type Neighbour, neighbourOf, type NeighbourOver } from './neighbour.js';

const FRESH_MS = 300_000;
/** How long a page waits for a walk: that of a long chain takes many seconds, and the page shows everything else within one. */
const PATIENCE_MS = 300;

export interface ChainWatch {
  health(): Promise<ChainHealth | 'walking'>;
  /** What the last walk found, where the chain did not hold. Nobody waits for it, and it begins none. */
  broken(): ChainHealth | null;
}

/**
 * Asks the ledger to verify its chain, at most one walk at a time and one in five minutes, however many people look. While a walk goes on, the last
 * result stands, with its time; without one it is `walking`. Throws `console_neighbour_away`.
 */
export function chainHealth(
  over: NeighbourOver,
  clock: () => number,
  limits: Pick<AskLimits, 'readMs' | 'walkMs'>,
): ChainWatch {
  // The chain is everybody's.
  const ledger = neighbourOf('ledger', over, { tenant: null, limits });
  let known: ChainHealth | null = null;
  let walking: Promise<ChainHealth> | null = null;
  const walk = async (): Promise<ChainHealth> => {
    // A walk since the last checkpoint would not see that an older row was edited.
    const verified = await ledger.ask(verifyResult, { method: 'GET', path: '/verify' }, limits.walkMs);
    known = {
      valid: verified.valid,
      entries_checked: verified.entries_checked,
      length: verified.commitment?.length ?? verified.entries_checked,
      head_hash: verified.commitment?.head_hash ?? null,
      checked_at: new Date(clock()).toISOString(),
      checkpoint: verified.valid ? await checkpointOf(ledger, limits.walkMs) : null,
    };
    return known;
  };
  const health = async (): Promise<ChainHealth | 'walking'> => {
    // A chain without rows is walked in no time, and says nothing of the rows that come.
    if (known !== null && known.length > 0 && clock() - Date.parse(known.checked_at) < FRESH_MS) return known;
    if (walking === null) {
      walking = walk().finally(() => {
        walking = null;
      });
      walking.catch(() => undefined);
    }
    try {
      return await within(PATIENCE_MS, walking, () => new StillWalking());
    } catch (error) {
      if (known !== null && walking !== null) return known;
      if (error instanceof StillWalking) return 'walking';
      throw error;
    }
  };
  return { health, broken: () => (known?.valid === false ? known : null) };
}

class StillWalking extends Error {}

/** The newest checkpoint; `null` where the ledger signs none. */
async function checkpointOf(ledger: Neighbour, limitMs: number): Promise<ChainHealth['checkpoint']> {
  const { status, text } = await ledger.pass({ method: 'GET', path: '/checkpoint' }, limitMs);
  if (status !== 200) return null;
  const { origin, size, root, note } = parseCheckpoint(text);
  // The ledger keeps a witness's line only where it holds.
  const witnesses = namedWitnesses(note, origin).map(({ name, time }) => ({
    name,
    signed_at: new Date(time * 1_000).toISOString(),
  }));
  return { origin, size, root: root.toString('hex'), witnesses };
}
