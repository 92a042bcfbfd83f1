import { sum } from './numbers.js';

/** How hard to press, and for how long. */
export interface Pressure {
  readonly concurrency: number;
  readonly forMs: number;
  readonly maxCalls: number;
}

/** What came of it. `latencies` in milliseconds, in the order of the answers. */
export interface Pressed {
  readonly latencies: number[];
  /** From the first call to the last answer. */
  readonly tookMs: number;
  /** Answers by what they were, `202` for example; errors by their text. */
  readonly answers: Record<string, number>;
}

/** Callers that each wait for their answer before they ask again, until the time or the count is used up. An error is an answer, too. */
export async function press({ concurrency, forMs, maxCalls }: Pressure, call: () => Promise<string>): Promise<Pressed> {
  const latencies: number[] = [];
  const answers: Record<string, number> = {};
  let left = maxCalls;
  const begun = performance.now();
  const caller = async () => {
    while (left > 0 && performance.now() - begun < forMs) {
      left -= 1;
      const asked = performance.now();
      const answer = await call().catch((error: unknown) => String(error).slice(0, 160));
      latencies.push(performance.now() - asked);
      answers[answer] = (answers[answer] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, caller));
  return { latencies, tookMs: performance.now() - begun, answers };
}

/** Several rounds as one sample. */
export const together = (rounds: readonly Pressed[]): Pressed => ({
  latencies: rounds.flatMap(({ latencies }) => latencies),
  tookMs: sum(rounds.map(({ tookMs }) => tookMs)),
  answers: rounds
    .flatMap(({ answers }) => Object.entries(answers))
    .reduce<Record<string, number>>((all, [answer, count]) => ({ ...all, [answer]: (all[answer] ?? 0) + count }), {}),
});

/** Answers that were none: an outage, or an error in place of one. */
export const unanswered = (answers: Pressed['answers']): number =>
  sum(Object.entries(answers).map(([answer, count]) => (/^[24]/.test(answer) ? 0 : count)));
