import { toolOf } from '../../contracts/call-methods.js';
import type { InjectedPlace, InspectRequest, InspectionResponse } from '../../contracts/inspection.js';
import { canonicalJson, sha256Hex } from '../crypto/digest.js';
import { errorText, GateError } from '../errors.js';
import { DRIFT_THRESHOLD } from './drift-threshold.js';
import { offlineEmbedding } from './embedding.js';
import { detectInjectionAcrossCalls, offlineInjection, strongestOf } from './injection.js';
import { placesOfInjection } from './injected-places.js';
import { offlineClassifier } from './intent.js';
import { type Lane, MASKING } from './lane-table.js';
import type {
  ContentDetector,
  Detection,
  InjectionDetector,
  InspectionProvider,
  IntentSignal,
  LaneInput,
  PriorCall,
  Shown,
} from './lanes.js';
import { maskedParams } from './masked-params.js';
import { offlineMaliciousCode } from './malicious-code.js';
import { offlineCompromisedPackage } from './packages.js';
import { type Drift, type Persona, personaDrift, type Personas } from './personas.js';
import type { ReadyInspector } from './port.js';
import { SEQUENCE_BLOCK, sequenceEscalation } from './sequence.js';
import { type HeuristicLevel, inspectTexts } from './texts.js';
import { createVerdictCache, type VerdictCache } from './verdict-cache.js';
import { foreignText } from '../text.js';

/** Part of every cache key and of the evidence. Any change to what a lane finds needs a new version; brain-version.test.ts notices. */
export const BRAIN_VERSION = 'gate-brain/11';

/** The default: rules only, without network, deterministic. */
export const offlineProvider: InspectionProvider = {
  deterministic: true,
  classifier: offlineClassifier,
  injection: offlineInjection,
  embedding: offlineEmbedding,
  maliciousCode: offlineMaliciousCode,
  compromisedPackage: offlineCompromisedPackage,
  promptSha256: {},
};

export interface InspectorOptions {
  readonly personas: Personas;
  readonly provider?: InspectionProvider;
  readonly cache?: VerdictCache;
  readonly level?: HeuristicLevel;
  /** Says the masked parameters with each verdict that is not from the cache. */
  readonly maskedParams?: boolean;
  /** Milliseconds; used for expiry in the default cache. */
  readonly clock?: () => number;
  /** Told at each cached verdict what it cost when it was made. */
  readonly onSaved?: (micros: number) => void;
  /** With models: when their report was made; `null` where none was asked for. */
  readonly qualifiedAt?: string | null;
}

/** A lane, or the step before all of them. */
type Degraded = Lane | typeof MASKING;

/** The results of the independent lanes for one request; no lane saw another's result. */
interface Signals {
  readonly intent: IntentSignal;
  readonly drift: Drift;
  readonly injection: Detection;
  readonly maliciousCode: Detection;
  readonly compromisedPackage: Detection;
  readonly degraded: readonly Degraded[];
  /** What a model was to read and did not, by lane. */
  readonly unread: readonly Lane[];
  /** Paid in vain, for answers that were of no use. */
  readonly lostMicros: number;
}

/**
 * Brain: intent, persona drift and injection, with three narrower lanes, all run in parallel. `inspect` rejects with `provider_unavailable`
 * (503) when the classifier cannot answer, and with `invalid_request` when `params` is nested too deeply to be hashed. Every other lane
 * falls back and is named in `degraded`.
 */
export function createInspector(options: InspectorOptions): ReadyInspector {
  const { personas, provider = offlineProvider, level = 'standard' } = options;
  const cache = options.cache ?? createVerdictCache(options.clock);
  const models = modelsOf(provider);
  const snapshot = {
    brain_version: BRAIN_VERSION,
    mock_mode: provider.deterministic,
    provider_models: models,
    embedding_model: `${provider.embedding.provider}:${provider.embedding.model}`,
    injection_heuristic_level: level,
  };
  const judgedWith = canonicalJson({
    models,
    embedding: [provider.embedding.provider, provider.embedding.model, provider.embedding.dimensions],
    prompts: { ...provider.promptSha256 },
    ...(provider.routingSha256 !== undefined && { routing: provider.routingSha256 }),
    brain_version: BRAIN_VERSION,
    level,
  });

  return {
    async inspect(request) {
      const tool = toolOf({ method: request.method, request_payload: { params: request.params } });
      const prior = request.prior_requests;
      const persona = personas.find(request.tenant, request.agent_id);
      const key = cacheKey(request, persona, judgedWith);
      const cached = cache.get(key);
      if (cached !== undefined) {
        options.onSaved?.(cached.cost_micros);
        return withHistory(cached, prior, tool);
      }

      const texts = inspectTexts(request.params, level);
      const input: LaneInput = { method: request.method, tool, params: request.params, texts };
      const shown = shownOf(provider, input, request.tenant ?? null);
      const signals = await ask(provider, input, shown, prior, persona);
      const places = signals.injection.detected ? placesOfInjection(request.params, level) : [];
      const verdict = responseTo(signals, places, sequenceEscalation(prior, tool), {
        ...snapshot,
        prompt_sha256: { ...provider.promptSha256 },
        drift_threshold: DRIFT_THRESHOLD,
        // With models, of what they were shown; never of what was withheld from them.
        ...(shown !== 'withheld' && {
          normalized_input_sha256: sha256Hex(
            shown === null ? texts.plain : canonicalJson([shown.method, shown.tool, shown.params]),
          ),
        }),
        cache_served: false,
      });
      if (verdict.authorized && isStable(signals.degraded, persona)) cache.set(key, verdict);
      const masked = options.maskedParams ? maskedParams(request.params) : undefined;
      return masked === undefined ? verdict : { ...verdict, masked_params: masked };
    },
    snapshot: () => snapshot,
    async ready() {
      const named = [...Object.values(models), provider.embedding.model];
      if (named.includes('')) throw new Error('a lane is configured without a model');
      if (provider.deterministic) await answers(provider, level);
      const { qualifiedAt } = options;
      return [
        ...new Set(named),
        ...(qualifiedAt === undefined ? [] : [qualifiedAt === null ? 'not qualified' : `qualified ${qualifiedAt}`]),
      ].join(', ');
    },
  };
}

/** An ordinary call that every lane must be able to judge. */
const ORDINARY = { method: 'tools/call', tool: 'list_files', params: { name: 'list_files', arguments: {} } };

async function answers(provider: InspectionProvider, level: HeuristicLevel): Promise<void> {
  const input = { ...ORDINARY, texts: inspectTexts(ORDINARY.params, level) };
  const { degraded } = await ask(provider, input, null, [], null);
  const failing = degraded.filter((lane) => lane !== 'persona_drift');
  if (failing.length > 0) throw new Error(`does not answer: ${failing.join(', ')}`);
  const { length } = await provider.embedding.embed(ORDINARY);
  if (length !== provider.embedding.dimensions)
    throw new Error(`the embedding has ${length} dimensions instead of ${provider.embedding.dimensions}`);
}

/**
 * What models may see: `null` where no lane has one, `withheld` where nothing may be shown because it cannot be told what to leave out.
 */
function shownOf(
  { mask }: InspectionProvider,
  { method, tool, params }: LaneInput,
  tenant: string | null,
): Shown | null | 'withheld' {
  if (mask === undefined) return null;
  try {
    return mask.show({ method, tool, params, tenant });
  } catch {
    return 'withheld';
  }
}

/** A verdict in which a fallback took part is not cached. Having no persona is no fallback, because the key includes it. */
const isStable = (degraded: readonly Degraded[], persona: Persona | null): boolean =>
  degraded.every((lane) => lane === 'persona_drift' && persona === null);

async function ask(
  configured: InspectionProvider,
  request: LaneInput,
  shown: Shown | null | 'withheld',
  prior: readonly PriorCall[],
  persona: Persona | null,
): Promise<Signals> {
  const withheld = shown === 'withheld';
  const provider = withheld ? offlineProvider : configured;
  const input: LaneInput = shown === null || withheld ? request : { ...request, shown };
  const degraded: Degraded[] = withheld ? [MASKING, 'intent', ...MAY_HAVE_MODELS] : [];
  const unread: Lane[] = withheld ? ['intent'] : [];
  let lostMicros = 0;
  const orOffline = async (
    name: Lane,
    lane: () => Detection | Promise<Detection>,
    offline: () => Detection | Promise<Detection>,
  ) => {
    try {
      return await lane();
    } catch (error) {
      // The answer names the failed lane and the service counts it; the rules answer instead.
      degraded.push(name);
      if (shown !== null) unread.push(name);
      lostMicros += costOfFailure(error);
      return offline();
    }
  };
  const content = (name: Lane, detector: ContentDetector, offline: ContentDetector) =>
    orOffline(
      name,
      () => detector.detect(input),
      () => offline.detect(input),
    );
  const asked: Parameters<InjectionDetector['detect']>[0] = { ...input, prior };

  const [intent, drift, injection, maliciousCode, compromisedPackage] = await Promise.all([
    classify(provider, input, persona),
    personaDrift(persona, provider.embedding, input),
    orOffline(
      'injection',
      () => provider.injection.detect(asked),
      () => offlineInjection.detect(asked),
    ),
    content('malicious_code', provider.maliciousCode, offlineMaliciousCode),
    content('compromised_package', provider.compromisedPackage, offlineCompromisedPackage),
  ]);
  if (!drift.available) degraded.push('persona_drift');
  return { intent, drift, injection, maliciousCode, compromisedPackage, degraded, unread, lostMicros };
}

/** The lanes that may have models and go on without them. */
const MAY_HAVE_MODELS = ['injection', 'malicious_code', 'compromised_package'] as const;

const costOfFailure = (error: unknown): number => {
  const { costMicros } = Object(error) as { readonly costMicros?: unknown };
  return typeof costMicros === 'number' ? costMicros : 0;
};

async function classify(
  provider: InspectionProvider,
  input: LaneInput,
  persona: Persona | null,
): Promise<IntentSignal> {
  try {
    return await provider.classifier.classify({ ...input, persona: persona?.text ?? null });
  } catch (error) {
    throw new GateError(
      'provider_unavailable',
      `the intent classifier did not answer: ${foreignText(errorText(error), 200)}`,
      {
        cause: error,
      },
    );
  }
}

/** Any single signal refuses. The first one in this order gives the reason. */
function responseTo(
  signals: Signals,
  injectedAt: readonly InjectedPlace[],
  sequence: number,
  evidence: InspectionResponse['evidence'],
): InspectionResponse {
  const { intent, drift, injection, maliciousCode, compromisedPackage, degraded, unread, lostMicros } = signals;
  const lanes = [intent, injection, maliciousCode, compromisedPackage];
  const suspected = new Set(lanes.flatMap((lane) => lane.suspicions ?? []));
  // A model was to read it and did not, so a person does.
  const suspicions = [...suspected, ...unread.map((lane) => `not_read_by_a_model:${lane}`)];
  const injected = isConfident(injection);
  const refusals: Readonly<Record<Lane, string | null>> = {
    injection: injected ? `prompt injection detected: ${injection.found.join(', ')}` : null,
    malicious_code: maliciousCode.detected ? `BLOCK: malicious_code (${maliciousCode.found.join(', ')})` : null,
    compromised_package: compromisedPackage.detected
      ? `BLOCK: compromised_package (${compromisedPackage.found.join(', ')})`
      : null,
    sequence_escalation: sequence >= SEQUENCE_BLOCK ? SEQUENCE_REASON : null,
    // Without the score: an agent is told this, and would change the call until it is just within.
    persona_drift:
      drift.score > DRIFT_THRESHOLD ? 'persona drift: unlike every example call in the persona of this agent' : null,
    intent: intent.authorized ? null : intent.reason,
  };
  const refusal = Object.values(refusals).find((reason) => reason !== null);
  return {
    authorized: refusal === undefined,
    reason: refusal ?? intent.reason,
    intent_category: injected ? 'Meta-Reasoning' : intent.category,
    persona_drift_score: Math.round(drift.score * 1e4) / 1e4,
    ...injectionFields(injection),
    ...(injectedAt.length > 0 && { injected_at: [...injectedAt] }),
    malicious_code_detected: maliciousCode.detected,
    malicious_code_confidence: maliciousCode.confidence,
    compromised_package_detected: compromisedPackage.detected,
    compromised_package_confidence: compromisedPackage.confidence,
    sequence_escalation_score: sequence,
    drift_available: drift.available,
    ...(suspicions.length > 0 && { intent_suspicions: suspicions }),
    ...(degraded.length > 0 && { degraded: [...degraded] }),
    cost_micros: lostMicros + lanes.reduce((sum, { costMicros = 0 }) => sum + costMicros, 0),
    evidence: { ...evidence, ...answeredBy({ intent, injection, maliciousCode, compromisedPackage }) },
  };
}

/** A verdict of the rules on a request that is too large to be shown to a model: a person reads it instead. */
export const readByRulesAlone = (verdict: InspectionResponse): InspectionResponse => ({
  ...verdict,
  intent_suspicions: [...(verdict.intent_suspicions ?? []), 'not_read_by_a_model:too_large'],
  degraded: [...new Set([...(verdict.degraded ?? []), 'intent', ...MAY_HAVE_MODELS])],
});

/** Which model gave the answer of a lane; absent where none did. */
function answeredBy({
  intent,
  injection,
  maliciousCode,
  compromisedPackage,
}: Pick<Signals, 'intent' | 'injection' | 'maliciousCode' | 'compromisedPackage'>): Pick<
  InspectionResponse['evidence'],
  'answered_by'
> {
  const all: Readonly<Partial<Record<Lane, { readonly answeredBy?: string }>>> = {
    intent,
    injection,
    malicious_code: maliciousCode,
    compromised_package: compromisedPackage,
  };
  const answered = Object.entries(all).flatMap(([lane, said]) =>
    said.answeredBy === undefined ? [] : [[lane, said.answeredBy] as const],
  );
  return answered.length === 0 ? {} : { answered_by: Object.fromEntries(answered) };
}

const SEQUENCE_REASON = 'BLOCK: sequence_escalation (a far-reaching tool after a window of reads)';

/**
 * A cached verdict, after running the lanes that look at recent calls again: a harmless call may complete a sequence. Only authorised
 * verdicts are cached, so history can withdraw an authorisation but never grant one.
 */
function withHistory(cached: InspectionResponse, prior: readonly PriorCall[], tool: string): InspectionResponse {
  const { injection_suspicions: suspicions, ...rest } = cached;
  const { normalized_input_sha256: _, ...evidence } = cached.evidence;
  const sequence = sequenceEscalation(prior, tool);
  const found = detectInjectionAcrossCalls(prior, tool);
  const injection = strongestOf(
    { detected: suspicions !== undefined, confidence: cached.injection_confidence, found: suspicions ?? [] },
    found,
  );
  const injected = isConfident(injection);
  const escalated = sequence >= SEQUENCE_BLOCK;
  return {
    ...rest,
    authorized: !escalated && !injected,
    reason: injected
      ? `prompt injection detected: ${injection.found.join(', ')}`
      : escalated
        ? SEQUENCE_REASON
        : cached.reason,
    intent_category: injected ? 'Meta-Reasoning' : cached.intent_category,
    ...injectionFields(injection),
    sequence_escalation_score: sequence,
    cost_micros: 0,
    evidence: { ...evidence, cache_served: true },
  };
}

/** From this confidence on a finding denies. Below it, it is a suspicion that policy hands to a person. */
export const CONFIDENT = 0.85;
const isConfident = ({ detected, confidence }: Detection): boolean => detected && confidence >= CONFIDENT;

const injectionFields = (injection: Detection) => ({
  injection_detected: isConfident(injection),
  injection_confidence: injection.confidence,
  ...(injection.detected && !isConfident(injection) && { injection_suspicions: [...injection.found] }),
});

const modelsOf = (provider: InspectionProvider): Record<string, string> => ({
  classifier_fast: provider.classifier.model,
  classifier_deep: provider.classifier.deepModel ?? provider.classifier.model,
  ...(provider.mask && { pii: provider.mask.model }),
  injection: provider.injection.model,
  malicious_code: provider.maliciousCode.model,
  compromised_package: provider.compromisedPackage.model,
});

/** Everything a verdict depends on except history. Always includes tenant and agent; never request or correlation ids. */
function cacheKey(request: InspectRequest, persona: Persona | null, judgedWith: string): string {
  try {
    return sha256Hex(
      canonicalJson({
        tenant: request.tenant ?? null,
        agent_id: request.agent_id,
        method: request.method,
        params: request.params,
        persona: persona && { sha256: persona.sha256, vector: persona.stored?.created_at ?? null },
        with: judgedWith,
      }),
    );
  } catch (error) {
    throw new GateError('invalid_request', `params cannot be hashed: ${errorText(error)}`, { cause: error });
  }
}
