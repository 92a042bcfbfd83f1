/** Does one thing after the other: each begins when the one before it ended, however that one did. */
export function oneAfterTheOther(): <Value>(work: () => Promise<Value>) => Promise<Value> {
  let turn: Promise<unknown> = Promise.resolve();
  return (work) => {
    const done = turn.then(work);
    turn = done.catch(() => undefined);
    return done;
  };
}
