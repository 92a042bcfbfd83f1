import type { Failure } from './port.js';

const MINUTE_MS = 60_000;
/** Of so many minutes is told how often a provider was asked; the one that runs is among them. */
export const RECORDED_MINUTES = 10;

/** What came of an attempt at a provider. */
export type AttemptOutcome = 'answered' | 'abandoned' | Failure;

/** Gate itself did not ask: that says something of Gate, and hides why the provider failed before. */
const NOT_ASKED: ReadonlySet<AttemptOutcome> = new Set(['held_back', 'over_budget', 'no_key']);

interface Minute {
  minute: number;
  asked: number;
  failed: number;
  notAsked: number;
}

/** What a provider was asked lately and what came of it, of all tenants together: numbers and words of a list, and no text of anybody. */
export function createProviderRecord(now: () => number) {
  const minutes: Minute[] = [];
  let lastFailure: { readonly failure: Failure; readonly atMs: number } | null = null;
  let lastAnswerMs: number | null = null;
  const recent = (): readonly Minute[] => {
    const oldest = Math.floor(now() / MINUTE_MS) - RECORDED_MINUTES;
    return minutes.filter(({ minute }) => minute > oldest);
  };
  const current = (): Minute => {
    const minute = Math.floor(now() / MINUTE_MS);
    const known = minutes.at(-1);
    if (known?.minute === minute) return known;
    const fresh = { minute, asked: 0, failed: 0, notAsked: 0 };
    minutes.push(fresh);
    if (minutes.length > RECORDED_MINUTES) minutes.shift();
    return fresh;
  };
  return {
    add(outcome: AttemptOutcome): void {
      const at = current();
      if (NOT_ASKED.has(outcome)) {
        at.notAsked += 1;
        // A key that cannot be had is for somebody to mend, and nothing else tells of it.
        if (outcome === 'no_key') lastFailure = { failure: outcome, atMs: now() };
        return;
      }
      at.asked += 1;
      // Nobody waited for it any more: that says nothing against the provider.
      if (outcome === 'abandoned') return;
      if (outcome === 'answered') lastAnswerMs = now();
      else {
        at.failed += 1;
        lastFailure = { failure: outcome, atMs: now() };
      }
    },
    told() {
      const sum = (of: (minute: Minute) => number): number => recent().reduce((total, one) => total + of(one), 0);
      return {
        asked: sum(({ asked }) => asked),
        failed: sum(({ failed }) => failed),
        notAsked: sum(({ notAsked }) => notAsked),
        lastFailure,
        lastAnswerMs,
      };
    },
  };
}
export type ProviderRecord = ReturnType<typeof createProviderRecord>;
