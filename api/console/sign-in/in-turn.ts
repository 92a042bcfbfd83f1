import { GateError } from '../../../domain/errors.js';
import { within } from '../../../domain/within.js';

type InTurn = <Value>(work: () => Promise<Value>) => Promise<Value>;

type InTurnFor = <Value>(key: string, work: () => Promise<Value>) => Promise<Value>;

interface Patience {
  /** How long work keeps the others waiting. */
  readonly turnMs: number;
  /** How long somebody waits for a turn: longer than one takes, and less than two, so that of those behind work that hangs one comes in. */
  readonly waitMs: number;
}
const PATIENCE: Patience = { turnMs: 10_000, waitMs: 15_000 };

/**
 * Does one thing after the other: each begins when the one before it ended, however that one did. Work that takes longer than a turn goes on
 * by itself, and the next one begins. Throws `sign_in_busy` for work that gets no turn in time; it is not begun.
 */
export function oneAfterTheOther({ turnMs, waitMs } = PATIENCE): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const before = last;
    const begun = within(waitMs, before, () => new GateError('sign_in_busy'));
    const done = begun.then(work);
    const isOver = done.then(
      () => undefined,
      () => undefined,
    );
    // Who got no turn leaves the place to whoever has it still.
    last = begun.then(
      () => within(turnMs, isOver, () => new Error('the turn is over')).catch(() => undefined),
      () => before,
    );
    return done;
  };
}

/** The same for each key by itself. */
export function inTurnFor(patience = PATIENCE): InTurnFor {
  const lines = new Map<string, { readonly inTurn: InTurn; inside: number }>();
  return async (key, work) => {
    const line = lines.get(key) ?? { inTurn: oneAfterTheOther(patience), inside: 0 };
    lines.set(key, line);
    line.inside += 1;
    try {
      return await line.inTurn(work);
    } finally {
      line.inside -= 1;
      if (line.inside === 0) lines.delete(key);
    }
  };
}

/** One thing after the other over all keys, in a line where each key stands once: whatever one of them wants, another waits for one turn of it. */
export function inFairTurn(patience = PATIENCE): InTurnFor {
  const [ofKey, ofAll] = [inTurnFor(patience), oneAfterTheOther(patience)];
  return (key, work) => ofKey(key, () => ofAll(work));
}
