/** Settles with the first signal that asks this process to stop. */
export const untilAsked = () =>
  new Promise<string>((asked) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => asked(signal));
  });
