import { QUALIFIED_FOR_DAYS, type QualificationReport } from '../../contracts/brain-qualification.js';
import type { ModelStanding } from '../../contracts/inspection.js';
import type { Workload } from './port.js';
import { RECORDED_MINUTES } from './provider-record.js';
import type { ProviderStanding } from './router.js';
import type { Routing } from './routing.js';

/** Which models judge and how their providers stand, as one tenant may see it. Asks no model. */
export interface ModelStandings {
  of(tenant: string | null): ModelStanding;
}

/** Where the rules judge alone. */
export const noModels: ModelStandings = {
  of: () => ({ minutes: RECORDED_MINUTES, providers: [], lanes: [], qualification: null }),
};

/** What each workload belongs to; a lane of two has a fast model and a deep one. */
const LANE_OF: Readonly<Record<Workload, readonly [lane: ModelStanding['lanes'][number]['lane'], tier: Tier]>> = {
  classifierFast: ['intent', 'fast'],
  classifierDeep: ['intent', 'deep'],
  injection: ['injection', null],
  maliciousCode: ['malicious_code', null],
  compromisedPackage: ['compromised_package', null],
  scanResponse: ['answers', null],
  explainPattern: ['explain_pattern', null],
  narrateDecision: ['narrate_decision', null],
};
type Tier = 'fast' | 'deep' | null;

const DAY_MS = 86_400_000;
const isoOf = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

/** Of models that a file names. No address, no key and no name of a key's place is in it. */
export function modelStandings({
  models,
  routing,
  kinds,
  report,
}: {
  readonly models: { standing(tenant: string | null): readonly ProviderStanding[] };
  readonly routing: Routing;
  /** The protocol of each provider, by its alias. */
  readonly kinds: Readonly<Record<string, { readonly kind: string }>>;
  /** By which they may judge; `null` where none is required. */
  readonly report: QualificationReport | null;
}): ModelStandings {
  const lanes = Object.entries(routing.workloads).map(([workload, { targets, hedgeAfterMs }]) => {
    const [lane, tier] = LANE_OF[workload as Workload];
    return {
      lane,
      tier,
      models: targets.map(({ alias, provider, model }) => ({ alias, provider, model })),
      hedge_after_ms: hedgeAfterMs ?? null,
    };
  });
  const qualification = report && qualificationTold(report);
  return {
    of: (tenant) => ({
      minutes: RECORDED_MINUTES,
      providers: models.standing(tenant).map((one) => providerTold(one, kinds[one.name]?.kind ?? '')),
      lanes,
      qualification,
    }),
  };
}

const providerTold = (
  { name, circuit, ofTenant, againMs, budget, asked, failed, notAsked, lastFailure, lastAnswerMs }: ProviderStanding,
  kind: string,
): ModelStanding['providers'][number] => ({
  name,
  kind,
  circuit,
  circuit_of_tenant: ofTenant,
  again_at: isoOf(againMs),
  asked,
  failed,
  not_asked: notAsked,
  last_failure: lastFailure && { failure: lastFailure.failure, at: new Date(lastFailure.atMs).toISOString() },
  last_answer_at: isoOf(lastAnswerMs),
  budget: budget && { used_percent: budget.usedPercent, used_by_tenant_percent: budget.usedByTenantPercent },
});

const qualificationTold = ({
  made_at,
  report_sha256,
  target,
  corpus,
  runs,
  rounds,
  checks,
  result,
}: QualificationReport): NonNullable<ModelStanding['qualification']> => ({
  made_at,
  counts_until: new Date(Date.parse(made_at) + QUALIFIED_FOR_DAYS * DAY_MS).toISOString(),
  report_sha256,
  gate_version: target.gate_version,
  cases: corpus.cases,
  runs,
  rounds: rounds.length,
  result,
  checks,
});
