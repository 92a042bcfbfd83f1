import {
  QUALIFIED_FOR_DAYS,
  type QualificationReport,
  qualificationReport,
} from '../../../contracts/brain-qualification.js';
import type { Json } from '../../../contracts/json.js';
import { canonicalJson } from '../../crypto/digest.js';
import type { HeuristicLevel } from '../../inspection/texts.js';
import type { Routing } from '../routing.js';
import { checksOf, violationsOf } from './floors.js';
import { digestOf, roundsOf, targetOf } from './run.js';

const DAY_MS = 86_400_000;
/** How far the clock of the machine that made the report may be ahead. */
const AHEAD_MS = 300_000;

const same = (one: unknown, other: unknown): boolean => canonicalJson(one as Json) === canonicalJson(other as Json);

/**
 * The report, where it says that the models of this routing passed: by the floors of this Gate, over its corpus, with its prompts and rules, not longer
 * ago than thirty days. Throws with the field that differs. Whoever can write the report can write a passing one; it is trusted as the file of
 * models beside it is.
 */
export function qualifiedBy(
  json: unknown,
  {
    routing,
    level,
    corpusSha256,
    now,
  }: {
    readonly routing: Routing;
    readonly level: HeuristicLevel;
    readonly corpusSha256: string;
    readonly now: number;
  },
): QualificationReport {
  const read = qualificationReport.safeParse(json);
  if (!read.success) {
    const [issue] = read.error.issues;
    throw new Error(`${issue?.path.join('.') || 'the file'}: is no report of \`gate brain qualify\``);
  }
  const { report_sha256: digest, ...body } = read.data;
  if (digestOf(body) !== digest) throw new Error('report_sha256: the report was edited');
  const { target, corpus, rounds, checks, violations, result } = body;
  for (const [field, value] of Object.entries(targetOf(routing, level)))
    if (!same(target[field as keyof typeof target], value))
      throw new Error(`target.${field}: the report is about another one`);
  if (corpus.sha256 !== corpusSha256) throw new Error('corpus.sha256: the report is about another corpus');
  const derived = checksOf(body);
  if (!same(checks, derived)) throw new Error('checks: are not those of this Gate over what was counted');
  if (!same(violations, violationsOf(derived))) throw new Error('violations: are not those of the checks');
  if (violations.length > 0 || result !== 'pass')
    throw new Error(`result: the models did not pass (${violations[0] ?? result})`);
  if (body.only !== null) throw new Error('only: one lane was asked, not all');
  if (rounds.length !== roundsOf(routing).length) throw new Error('rounds: not every model of the file was asked');
  const age = now - Date.parse(body.made_at);
  if (age > QUALIFIED_FOR_DAYS * DAY_MS)
    throw new Error(`made_at: the report is older than ${QUALIFIED_FOR_DAYS} days`);
  if (age < -AHEAD_MS) throw new Error('made_at: the report is from the future');
  return read.data;
}
