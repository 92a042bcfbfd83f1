/** Counts the commits of this process. */
export interface Commits {
  readonly note: () => void;
  readonly count: () => number;
  /** Resolves when the count exceeds `seen`, after `limitMs`, or when the signal fires. */
  readonly after: (seen: number, limitMs: number, signal: AbortSignal) => Promise<void>;
}

export function countCommits(): Commits {
  const sleepers = new Set<() => void>();
  let noted = 0;
  return {
    note() {
      noted += 1;
      for (const up of sleepers) up();
    },
    count: () => noted,
    after: (seen, limitMs, signal) =>
      new Promise((resolve) => {
        if (noted > seen || signal.aborted) return resolve();
        const up = () => {
          clearTimeout(timer);
          sleepers.delete(up);
          signal.removeEventListener('abort', up);
          resolve();
        };
        const timer = setTimeout(up, limitMs);
        sleepers.add(up);
        signal.addEventListener('abort', up);
      }),
  };
}
