import type { Json, JsonObject } from '../../contracts/json.js';
import type { PolicyDecision } from '../../contracts/policy.js';
import { canonicalJson } from '../crypto/digest.js';
import { heldAgainst, keptReasons } from '../masking/kept-reasons.js';
import type { NamedSecrets } from '../masking/named-secrets.js';
import type { Verdict } from '../call/verdict.js';

/** One fact of a verdict, as the rows have it and as it is derived now. `then` is undefined where the row does not say it. */
export type Comparison = readonly [at: string, then: unknown, now: unknown];

export interface Difference {
  readonly at: string;
  readonly recorded: string;
  readonly now: string;
}

export interface Compared {
  /** The first difference, in the order in which the facts were made; `null` without one. */
  readonly difference: Difference | null;
  /** How many of the comparisons differ. */
  readonly differences: number;
  readonly compared: number;
}

/** Values are the same when they are the same canonical JSON. What a row does not say is not compared. */
export function comparedIn(comparisons: readonly Comparison[]): Compared {
  const said = comparisons.filter(([, then]) => then !== undefined);
  const different = said.filter(([, then, now]) => shown(then) !== shown(now));
  const [first] = different;
  return {
    difference: first ? { at: first[0], recorded: shown(first[1]), now: shown(first[2]) } : null,
    differences: different.length,
    compared: said.length,
  };
}

export const shown = (value: unknown): string => (value === undefined ? 'nothing' : canonicalJson(value as Json));

/** What the row `policy.evaluated` says, beside a decision of now. */
export const decisionCompared = (
  then: JsonObject,
  now: PolicyDecision,
  secrets: NamedSecrets,
): readonly Comparison[] => [
  ['policy.evaluated.allow', then['allow'], now.allow],
  ['policy.evaluated.reasons', then['reasons'], reasonsOf(then['reasons'], now.reasons, secrets)],
  [
    'policy.evaluated.review_reasons',
    then['review_reasons'],
    reasonsOf(then['review_reasons'], now.review_reasons, secrets),
  ],
  ['policy.evaluated.approval_tier', then['approval_tier'], now.approval_tier],
];

/** What the row `proxy.verdict` says, beside what inspection and a decision of now are folded into. */
export const verdictCompared = (then: JsonObject, now: Verdict, secrets: NamedSecrets): readonly Comparison[] => [
  ['proxy.verdict.tier', then['tier'], now.tier],
  ['proxy.verdict.outcome', then['outcome'], now.outcome],
  ['proxy.verdict.would', then['would'], now.would],
  ['proxy.verdict.layer', then['layer'], now.layer],
  ['proxy.verdict.reasons', then['reasons'], reasonsOf(then['reasons'], now.reasons, secrets)],
  [
    'proxy.verdict.review_reasons',
    then['review_reasons'],
    reasonsOf(then['review_reasons'], now.review_reasons, secrets),
  ],
];

const reasonsOf = (then: unknown, now: readonly string[], secrets: NamedSecrets): readonly string[] =>
  heldAgainst(then, now, keptReasons, secrets);
