/** Does one thing after the other: each begins when the one before it ended, however that one did. */
export function oneAfterTheOther(): <Value>(work: () => Promise<Value>) => Promise<Value> {
  let turn: Promise<unknown> = Promise.resolve();
  return (work) => {
    const done = turn.then(work);
    turn = done.catch(() => undefined);
    return done;
  };
}

/** The same for each key by itself. */
export function inTurnFor(): <Value>(key: string, work: () => Promise<Value>) => Promise<Value> {
  const turns = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const done = (turns.get(key) ?? Promise.resolve()).then(work);
    const turn = done.catch(() => undefined);
    turns.set(key, turn);
    try {
      return await done;
    } finally {
      if (turns.get(key) === turn) turns.delete(key);
    }
  };
}
