import type { Json } from '../../../contracts/json.js';
import type { ExplainedVerdict } from '../../../contracts/policy-studies.js';
import type { PolicyDecision, PolicyInput } from '../../../contracts/policy.js';
import { decidedAgain, type RecordedCall } from '../judged-again.js';
import { wordsIn } from '../reason-words.js';
import { rulesOf } from '../rule-metadata.js';
import { type Fact, factsOf } from './facts.js';
import { hintsIn, type RuleText } from './hints.js';

export type Explanation = Pick<ExplainedVerdict, 'tier' | 'spoke' | 'changes' | 'tried' | 'complete'>;

export interface ExplainLimits {
  /** Variants of the call that are judged. */
  readonly most?: number;
  /** Called between two of them; false ends the search. */
  readonly goOn?: () => boolean;
}

type Tier = ExplainedVerdict['tier'];
const STRICTNESS: Readonly<Record<Tier, number>> = { green: 0, yellow: 1, red: 2 };
const tierOf = ({ allow, reasons }: PolicyDecision): Tier => (reasons.length > 0 ? 'red' : allow ? 'green' : 'yellow');
const reasonsOf = ({ reasons, review_reasons: asked }: PolicyDecision): readonly string[] => [...reasons, ...asked];

const MOST_VARIANTS = 2_000;
/** Values of one fact that are paired with those of others. */
const IN_PAIRS = 3;
const TOLD = 8;

/** One fact with another value, and what the rules say of the call then. */
interface Variant {
  readonly fact: Fact;
  readonly to: Json | undefined;
  readonly decision: PolicyDecision;
}

/**
 * Why a call was judged as it was: the rules that spoke, the facts without which each would not have, and the smallest sets of facts whose
 * change alters the verdict (to a milder one; of a call that ran, to a stricter one). All by judging the call again with other values of its
 * facts: each by itself, then two at a time, and where that is not enough, as many as it takes. `complete` says whether every single fact and
 * every pair was tried with the values that are known of it; another value, which no rule and no document names, may alter it too.
 */
export async function explained(
  call: RecordedCall,
  judge: (input: PolicyInput) => PolicyDecision,
  texts: readonly RuleText[],
  { most = MOST_VARIANTS, goOn = () => true }: ExplainLimits = {},
): Promise<Explanation> {
  const base = await decidedAgain(call, judge);
  const tier = tierOf(base);
  let tried = 0;
  const spent = (): boolean => tried >= most || !goOn();
  const judged = async (changes: readonly { readonly fact: Fact; readonly to: Json | undefined }[]) => {
    tried += 1;
    return decidedAgain(
      changes.reduce((variant, { fact, to }) => fact.with(variant, to), call),
      judge,
    );
  };
  const alters = (decision: PolicyDecision): boolean =>
    tier === 'green' ? tierOf(decision) !== 'green' : STRICTNESS[tierOf(decision)] < STRICTNESS[tier];

  const rules = attributed(texts);
  const spokenIn = new Set(reasonsOf(base).flatMap((reason) => rules(reason)?.file ?? []));
  const facts = factsOf(call, hintsIn(texts, spokenIn));

  const singles: Variant[] = [];
  let complete = true;
  for (const fact of facts)
    for (const to of fact.others) {
      if (spent()) complete = false;
      else singles.push({ fact, to, decision: await judged([{ fact, to }]) });
    }
  const spoke = [
    ...base.reasons.map((reason) => ({ effect: 'denies' as const, reason })),
    ...base.review_reasons.map((reason) => ({ effect: 'asks' as const, reason })),
  ].map((said) => ({
    ...said,
    rule: rules(said.reason),
    facts: [
      ...new Set(
        singles.filter(({ decision }) => !reasonsOf(decision).includes(said.reason)).map(({ fact }) => fact.name),
      ),
    ],
  }));

  const found = singles.filter(({ decision }) => alters(decision));
  // Of each fact the first value: nearest to what it was.
  const alone = found.filter(({ fact }, at) => found.findIndex((other) => other.fact === fact) === at);
  if (alone.length > 0) return { tier, spoke, changes: alone.map((one) => told([one], one.decision)), tried, complete };

  const pairs = await alteringPairs();
  if (pairs.length > 0) return { tier, spoke, changes: pairs, tried, complete };
  const several = await alteringSet();
  return { tier, spoke, changes: several ? [several] : [], tried, complete };

  /** Facts that moved something first: with one of them gone, another may decide alone. */
  function inOrder(): readonly Variant[] {
    const moved = ({ decision }: Variant): number => {
      const now = new Set(reasonsOf(decision));
      return reasonsOf(base).filter((reason) => !now.has(reason)).length;
    };
    const sorted = singles.toSorted((one, other) => moved(other) - moved(one));
    const perFact = new Map<Fact, number>();
    return sorted.filter(({ fact }) => {
      const before = perFact.get(fact) ?? 0;
      perFact.set(fact, before + 1);
      return before < IN_PAIRS;
    });
  }

  async function alteringPairs(): Promise<ExplainedVerdict['changes']> {
    const candidates = inOrder();
    const changes: ExplainedVerdict['changes'] = [];
    const known = new Set<string>();
    for (const [at, one] of candidates.entries())
      for (const other of candidates.slice(0, at)) {
        const names = JSON.stringify([other.fact.name, one.fact.name].toSorted());
        if (other.fact === one.fact || known.has(names)) continue;
        if (changes.length >= TOLD) return changes;
        if (spent()) {
          complete = false;
          return changes;
        }
        const decision = await judged([other, one]);
        if (!alters(decision)) continue;
        known.add(names);
        changes.push(told([other, one], decision));
      }
    return changes;
  }

  /** Everything that moved something, at once, and then without what is not needed: a small set, perhaps not the smallest. */
  async function alteringSet(): Promise<ExplainedVerdict['changes'][number] | null> {
    const best = inOrder().filter(({ fact }, at, all) => all.findIndex((other) => other.fact === fact) === at);
    let kept = best;
    let decision = await judged(kept);
    if (!alters(decision)) return null;
    for (const one of best.toReversed()) {
      const without = kept.filter((other) => other !== one);
      const said = await judged(without);
      if (alters(said)) [kept, decision] = [without, said];
    }
    return told(kept, decision);
  }
}

const told = (
  variants: readonly Pick<Variant, 'fact' | 'to'>[],
  decision: PolicyDecision,
): ExplainedVerdict['changes'][number] => ({
  tier: tierOf(decision),
  facts: variants.map(({ fact: { name, whose, from }, to }) => ({
    name,
    whose,
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  })),
});

/** The rule whose words a reason is; null for words that no text has as they stand. */
function attributed(texts: readonly RuleText[]): (reason: string) => ExplainedVerdict['spoke'][number]['rule'] {
  const rules = texts
    .filter(({ content_type: type }) => type === 'rego')
    .flatMap(({ name, body }) => rulesOf(body).map((rule) => ({ file: name, ...rule })));
  const wordsOf = wordsIn(rules.flatMap(({ reason }) => reason ?? []));
  return (said) => {
    const found = rules.find(({ reason }) => reason !== null && reason === wordsOf(said));
    return found ? { file: found.file, rule: found.rule, line: found.line, title: found.title } : null;
  };
}
