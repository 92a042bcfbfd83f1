import type { QualificationCase, QualifiedLane } from '../../../contracts/brain-qualification.js';
import { type InspectRequest, inspectionResponse } from '../../../contracts/inspection.js';
import { DRIFT_THRESHOLD } from '../../inspection/drift-threshold.js';
import { CONFIDENT, createInspector } from '../../inspection/inspector.js';
import type { InspectionProvider, LaneInput, Spent } from '../../inspection/lanes.js';
import type { Personas } from '../../inspection/personas.js';
import type { HeuristicLevel } from '../../inspection/texts.js';
import { SEQUENCE_BLOCK } from '../../inspection/sequence.js';
import { isFarReaching } from '../model-lanes.js';
import { ModelFailure, type Workload } from '../port.js';

/** What one lane came to. */
export interface LaneTold {
  /** The lane alone would refuse the call. */
  readonly found: boolean;
  readonly answeredBy?: string | undefined;
  readonly failed?: { readonly reason: string; readonly workload: Workload } | undefined;
  readonly ms: number;
  readonly costMicros: number;
}
/** What the composition made of one case. */
export interface Told {
  readonly refused: boolean;
  /** A person would read it. */
  readonly held: boolean;
  readonly lanes: ReadonlyMap<QualifiedLane, LaneTold>;
  /** Less was judged than Brain judges, or nothing that policy would take. */
  readonly degraded: boolean;
  readonly ms: number;
  readonly costMicros: number;
}

export interface Judge {
  readonly provider: InspectionProvider;
  readonly personas: Personas;
  readonly level: HeuristicLevel;
  /** Milliseconds. */
  readonly now: () => number;
}

/** Judges one case as Brain does, from nothing: no verdict is from a cache. */
export async function judged(one: QualificationCase, { provider, personas, level, now }: Judge): Promise<Told> {
  const lanes = new Map<QualifiedLane, LaneTold>();
  const inspector = createInspector({ personas, level, provider: watched(provider, lanes, now) });
  const begun = now();
  // An answer that does not fit the contract would not reach policy either.
  const verdict = await inspector
    .inspect(requestOf(one))
    .then((said) => inspectionResponse.parse(said))
    .catch(() => null);
  const ms = now() - begun;
  if (verdict !== null) {
    const byRules = (found: boolean): LaneTold => ({ found, ms: 0, costMicros: 0 });
    lanes.set('persona_drift', byRules(verdict.persona_drift_score > DRIFT_THRESHOLD));
    lanes.set('sequence_escalation', byRules(verdict.sequence_escalation_score >= SEQUENCE_BLOCK));
  }
  const suspicions = [...(verdict?.intent_suspicions ?? []), ...(verdict?.injection_suspicions ?? [])];
  return {
    refused: verdict !== null && !verdict.authorized,
    held: suspicions.length > 0,
    lanes,
    // An agent without a persona has no drift; that is no failure.
    degraded: verdict === null || (verdict.degraded ?? []).some((lane) => lane !== 'persona_drift'),
    ms,
    costMicros: [...lanes.values()].reduce((sum, { costMicros }) => sum + costMicros, 0),
  };
}

const requestOf = ({ tool, arguments: args, agent, after = [] }: QualificationCase): InspectRequest => ({
  agent_id: agent ?? 'qualification',
  tenant: agent === undefined ? 'qualification' : 'acme',
  method: 'tools/call',
  params: { name: tool, arguments: args },
  prior_requests: after.map((before) => ({ method: 'tools/call', tool: before })),
});

/** The lanes of a provider, each noting what it said. */
function watched(
  provider: InspectionProvider,
  lanes: Map<QualifiedLane, LaneTold>,
  now: () => number,
): InspectionProvider {
  const noted =
    <Input extends LaneInput, Said extends Spent>(
      lane: QualifiedLane,
      workloadOf: (input: Input) => Workload,
      ask: (input: Input) => Said | Promise<Said>,
      found: (said: Said) => boolean,
    ) =>
    async (input: Input): Promise<Said> => {
      const begun = now();
      try {
        const said = await ask(input);
        const { answeredBy, costMicros = 0 } = said;
        lanes.set(lane, { found: found(said), answeredBy, ms: now() - begun, costMicros });
        return said;
      } catch (error) {
        const failure = error instanceof ModelFailure ? error : new ModelFailure('parse');
        const failed = { reason: failure.failure, workload: workloadOf(input) };
        lanes.set(lane, { found: false, failed, ms: now() - begun, costMicros: failure.costMicros });
        throw error;
      }
    };
  const { classifier, injection, maliciousCode, compromisedPackage } = provider;
  return {
    ...provider,
    classifier: {
      ...classifier,
      classify: noted(
        'intent',
        (input) => (isFarReaching(input) ? 'classifierDeep' : 'classifierFast'),
        (input: Parameters<typeof classifier.classify>[0]) => classifier.classify(input),
        ({ authorized }) => !authorized,
      ),
    },
    injection: {
      ...injection,
      detect: noted(
        'injection',
        () => 'injection',
        (input: Parameters<typeof injection.detect>[0]) => injection.detect(input),
        ({ detected, confidence }) => detected && confidence >= CONFIDENT,
      ),
    },
    maliciousCode: {
      ...maliciousCode,
      detect: noted(
        'malicious_code',
        () => 'maliciousCode',
        (input: LaneInput) => maliciousCode.detect(input),
        ({ detected }) => detected,
      ),
    },
    compromisedPackage: {
      ...compromisedPackage,
      detect: noted(
        'compromised_package',
        () => 'compromisedPackage',
        (input: LaneInput) => compromisedPackage.detect(input),
        ({ detected }) => detected,
      ),
    },
  };
}
