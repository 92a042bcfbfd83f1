import type { LabResult } from '../../contracts/policy-studies.js';

const msOf = (us: number): string => `${(us / 1_000).toLocaleString('en', { maximumSignificantDigits: 3 })} ms`;

/** What an evaluation costs by the candidate, and by the rules of now. */
export const costTold = ({ now, candidate }: LabResult['cost']): string =>
  `an evaluation takes ${msOf(candidate.p50_us)} (p99 ${msOf(candidate.p99_us)}); now ${msOf(now.p50_us)} (p99 ${msOf(now.p99_us)})`;
