/** Why an upstream is not asked: one word each, so that neither addresses nor secrets reach an agent. */
export type UpstreamFault = 'unreachable' | 'timeout' | 'invalid_answer' | 'refused' | 'no_credentials';

export interface UpstreamStanding {
  /** `unknown`: nobody asked it yet. `held`: it failed several times, and is asked again by one request after the pause. */
  readonly state: 'unknown' | 'answers' | 'failing' | 'held';
  readonly fault: UpstreamFault | null;
  /** Since when it fails. */
  readonly sinceMs: number | null;
}

/** Holds requests back from one upstream that fails, so that a hanging one costs its callers nothing. */
export interface UpstreamCircuit {
  /** What is wrong with the upstream where the request must not go to it; `null` where it may. */
  held(): UpstreamFault | null;
  answered(): void;
  /** `holds: false` where asking costs nobody time, or fails before the upstream: then it is named, and asked all the same. */
  failed(fault: UpstreamFault, how?: { readonly holds: boolean }): void;
  standing(): UpstreamStanding;
}

const FAILURES_BEFORE_HOLDING = 3;
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 30_000;
/** The request that tries again may be lost; after this time another one tries. */
const TRIAL_MS = 15_000;

export function createUpstreamCircuit(now: () => number = Date.now): UpstreamCircuit {
  let asked = false;
  let failures = 0;
  let fault: UpstreamFault | null = null;
  let sinceMs: number | null = null;
  let againMs = 0;
  const holds = () => failures >= FAILURES_BEFORE_HOLDING;
  return {
    held() {
      if (!holds()) return null;
      const waitMs = againMs - now();
      // A clock that was set back would otherwise hold it back for as long.
      if (waitMs > 0 && waitMs <= LONGEST_PAUSE_MS) return fault;
      againMs = now() + TRIAL_MS;
      return null;
    },
    answered() {
      asked = true;
      failures = 0;
      fault = null;
      sinceMs = null;
    },
    failed(why, { holds: counts } = { holds: true }) {
      asked = true;
      fault = why;
      sinceMs ??= now();
      if (!counts) return;
      failures += 1;
      const pauses = Math.max(0, failures - FAILURES_BEFORE_HOLDING);
      againMs = now() + Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(pauses, 10));
    },
    standing() {
      if (!asked) return { state: 'unknown', fault: null, sinceMs: null };
      if (fault === null) return { state: 'answers', fault: null, sinceMs: null };
      return { state: holds() ? 'held' : 'failing', fault, sinceMs };
    },
  };
}
