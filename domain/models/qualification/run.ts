import {
  QUALIFICATION_CONTRACT,
  type QualificationBody,
  type QualificationCase,
  type QualificationReport,
  type QualificationRound,
  type QualifiedLane,
} from '../../../contracts/brain-qualification.js';
import type { Json } from '../../../contracts/json.js';
import { canonicalJson, sha256Hex } from '../../crypto/digest.js';
import { BRAIN_VERSION, offlineProvider } from '../../inspection/inspector.js';
import type { InspectionProvider } from '../../inspection/lanes.js';
import type { Personas } from '../../inspection/personas.js';
import type { HeuristicLevel } from '../../inspection/texts.js';
import { maskByRules } from '../mask.js';
import { PROMPT_SHA256 } from '../prompts.js';
import { judgingRoutes, nameOfTarget, type Route, type Routing } from '../routing.js';
import { checksOf, mostCostMicros, violationsOf } from './floors.js';
import { judged, type Told } from './judged.js';
import { countsOf, type Judgement } from './measure.js';

export interface Corpus {
  readonly sha256: string;
  readonly cases: readonly QualificationCase[];
}

/** So many failures end a round: it cannot pass any more, and a provider that is away costs its timeout at each question. */
const MOST_FAILURES = 10;
/** Cases that are judged at once. */
const AT_ONCE = 4;

/**
 * The file once for each place of its routes: in the first round each lane asks its first model alone, in the next one the model that stands
 * in for it. So nobody's failure is hidden by who stands in, and whoever may be asked one day was asked here. A provider's budget of the hour
 * holds, and a tenant's share of it does not: no tenant asks.
 */
export function roundsOf(routing: Routing): Routing[] {
  const routes = judgingRoutes(routing);
  const most = Math.max(...routes.map(([, { targets }]) => targets.length));
  return Array.from({ length: most }, (_, at) => ({
    ...routing,
    providers: Object.fromEntries(
      Object.entries(routing.providers).map(([name, { budget }]) => [
        name,
        { budget: budget && { ...budget, microsPerTenantAndHour: budget.microsPerHour } },
      ]),
    ),
    workloads: Object.fromEntries(
      routes.map(([workload, { targets }]): [string, Route] => [
        workload,
        { targets: [targets[Math.min(at, targets.length - 1)] ?? targets[0]] },
      ]),
    ),
  }));
}

export interface Progress {
  readonly round: number;
  readonly rounds: number;
  readonly judged: number;
  readonly of: number;
  readonly costMicros: number;
}
export interface Qualifying {
  readonly routing: Routing;
  /** The lanes of Brain over one routing, which asks no model yet. */
  readonly lanesOver: (routing: Routing) => InspectionProvider;
  readonly corpus: Corpus;
  readonly personas: Personas;
  /** How the rules look for instructions, as `GATE_INJECTION_HEURISTIC_LEVEL` says. */
  readonly level: HeuristicLevel;
  readonly runs: number;
  readonly only?: QualifiedLane | undefined;
  readonly gateVersion: string;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  readonly onProgress?: (progress: Progress) => void;
}

/** Runs the corpus through the lanes and measures them against the floors. Rejects for a fault of Gate alone; a model's failure is counted. */
export async function qualify(asked: Qualifying): Promise<QualificationReport> {
  const { routing, lanesOver, corpus, personas, level, runs, only, gateVersion, now = Date.now, onProgress } = asked;
  const cases = corpus.cases.filter(({ lanes }) => only === undefined || lanes.includes(only));
  const byRules: Told[] = [];
  for (const one of cases) byRules.push(await judged(one, { provider: offlineProvider, personas, level, now }));
  const wanted = Array.from({ length: runs }, () =>
    cases.map((one, at) => ({ one, rules: byRules[at] as Told })),
  ).flat();

  const routings = roundsOf(routing);
  const rounds: QualificationRound[] = [];
  let costMicros = 0;
  for (const [at, alone] of routings.entries()) {
    const provider = lanesOver(alone);
    const judgements: Judgement[] = [];
    let failures = 0;
    let costOfRound = 0;
    let endedEarly: QualificationRound['ended_early'] = null;
    const waiting = wanted.values();
    const work = async (): Promise<void> => {
      for (const { one, rules } of waiting) {
        const told = await judged(one, { provider, personas, level, now });
        judgements.push({ one, rules, told });
        failures += [...told.lanes.values()].filter(({ failed }) => failed !== undefined).length;
        costMicros += told.costMicros;
        costOfRound += told.costMicros;
        onProgress?.({
          round: at + 1,
          rounds: routings.length,
          judged: judgements.length,
          of: wanted.length,
          costMicros,
        });
        if (costOfRound > mostCostMicros(runs)) endedEarly = 'cost';
        else if (failures >= MOST_FAILURES) endedEarly ??= 'failures';
        if (endedEarly !== null) return;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    rounds.push({ ...countsOf(judgements, modelsOf(alone)), ended_early: endedEarly });
    if (endedEarly !== null) break;
  }

  const { sha256, cases: all } = corpus;
  const measured = { runs, rounds, corpus: { sha256, cases: all.length } };
  const checks = checksOf(measured);
  const violations = violationsOf(checks);
  return sealed({
    contract: QUALIFICATION_CONTRACT,
    made_at: new Date(now()).toISOString(),
    target: { ...targetOf(routing, level), gate_version: gateVersion },
    ...measured,
    only: only ?? null,
    checks,
    violations,
    result: violations.length === 0 && rounds.length === routings.length ? 'pass' : 'fail',
  });
}

const modelsOf = (routing: Routing): Record<string, string> =>
  Object.fromEntries(judgingRoutes(routing).map(([workload, { targets }]) => [workload, nameOfTarget(targets[0])]));

/** What a report is about: who judges, by which words. */
export const targetOf = (
  routing: Routing,
  level: HeuristicLevel,
): Omit<QualificationBody['target'], 'gate_version'> => ({
  routing_sha256: routing.sha256,
  models: Object.fromEntries(
    judgingRoutes(routing).map(([workload, { targets }]) => [workload, targets.map(nameOfTarget)]),
  ),
  prompt_sha256: { ...PROMPT_SHA256 },
  masking: maskByRules.model,
  brain_version: BRAIN_VERSION,
  injection_heuristic_level: level,
});

export const digestOf = (body: QualificationBody): string => sha256Hex(canonicalJson(body as unknown as Json));
export const sealed = (body: QualificationBody): QualificationReport => ({ ...body, report_sha256: digestOf(body) });
