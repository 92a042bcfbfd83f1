import { toolOf } from '../../contracts/call-methods.js';
import type { InspectRequest, InspectionResponse } from '../../contracts/inspection.js';
import { canonicalJson, sha256Hex } from '../crypto/digest.js';
import { errorText, GateError } from '../errors.js';
import { DRIFT_THRESHOLD } from './drift-threshold.js';
import { offlineEmbedding } from './embedding.js';
import { detectInjectionAcrossCalls, offlineInjection, strongestOf } from './injection.js';
import { offlineClassifier } from './intent.js';
import type { Lane } from './lane-table.js';
import type {
  ContentDetector,
  Detection,
  InjectionDetector,
  InspectionProvider,
  IntentSignal,
  LaneInput,
  PriorCall,
} from './lanes.js';
import { offlineMaliciousCode } from './malicious-code.js';
import { offlineCompromisedPackage } from './packages.js';
import { type Drift, type Persona, personaDrift, type Personas } from './personas.js';
import type { ReadyInspector } from './port.js';
import { SEQUENCE_BLOCK, sequenceEscalation } from './sequence.js';
import { type HeuristicLevel, inspectTexts } from './texts.js';
import { createVerdictCache, type VerdictCache } from './verdict-cache.js';
import { foreignText } from '../text.js';

/** Part of every cache key and of the evidence. Any change to what a lane finds needs a new version; brain-version.test.ts notices. */
export const BRAIN_VERSION = 'gate-brain/7';

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
  /** Milliseconds; used for expiry in the default cache. */
  readonly clock?: () => number;
}

/** The results of the independent lanes for one request; no lane saw another's result. */
interface Signals {
  readonly intent: IntentSignal;
  readonly drift: Drift;
  readonly injection: Detection;
  readonly maliciousCode: Detection;
  readonly compromisedPackage: Detection;
  readonly degraded: readonly Lane[];
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
  const judgedWith = canonicalJson({
    models,
    embedding: [provider.embedding.provider, provider.embedding.model, provider.embedding.dimensions],
    prompts: { ...provider.promptSha256 },
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
      if (cached !== undefined) return withHistory(cached, prior, tool);

      const texts = inspectTexts(request.params, level);
      const input: LaneInput = { method: request.method, tool, params: request.params, texts };
      const signals = await ask(provider, input, prior, persona);
      const verdict = responseTo(signals, sequenceEscalation(prior, tool), {
        brain_version: BRAIN_VERSION,
        mock_mode: provider.deterministic,
        provider_models: models,
        prompt_sha256: { ...provider.promptSha256 },
        embedding_model: `${provider.embedding.provider}:${provider.embedding.model}`,
        drift_threshold: DRIFT_THRESHOLD,
        injection_heuristic_level: level,
        normalized_input_sha256: sha256Hex(texts.plain),
        cache_served: false,
      });
      if (verdict.authorized && isStable(signals.degraded, persona)) cache.set(key, verdict);
      return verdict;
    },
    async ready() {
      const named = [...Object.values(models), provider.embedding.model];
      if (named.includes('')) throw new Error('a lane is configured without a model');
      if (provider.deterministic) await answers(provider, level);
      return [...new Set(named)].join(', ');
    },
  };
}

/** An ordinary call that every lane must be able to judge. */
const ORDINARY = { method: 'tools/call', tool: 'list_files', params: { name: 'list_files', arguments: {} } };

async function answers(provider: InspectionProvider, level: HeuristicLevel): Promise<void> {
  const input = { ...ORDINARY, texts: inspectTexts(ORDINARY.params, level) };
  const { degraded } = await ask(provider, input, [], null);
  const failing = degraded.filter((lane) => lane !== 'persona_drift');
  if (failing.length > 0) throw new Error(`does not answer: ${failing.join(', ')}`);
  const { length } = await provider.embedding.embed(ORDINARY);
  if (length !== provider.embedding.dimensions)
    throw new Error(`the embedding has ${length} dimensions instead of ${provider.embedding.dimensions}`);
}

/** A verdict in which a fallback took part is not cached. Having no persona is no fallback, because the key includes it. */
const isStable = (degraded: readonly Lane[], persona: Persona | null): boolean =>
  degraded.every((lane) => lane === 'persona_drift' && persona === null);

async function ask(
  provider: InspectionProvider,
  input: LaneInput,
  prior: readonly PriorCall[],
  persona: Persona | null,
): Promise<Signals> {
  const degraded: Lane[] = [];
  const orOffline = async (
    name: Lane,
    lane: () => Detection | Promise<Detection>,
    offline: () => Detection | Promise<Detection>,
  ) => {
    try {
      return await lane();
    } catch {
      // The answer names the failed lane and the service counts it; the rules answer instead.
      degraded.push(name);
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
  return { intent, drift, injection, maliciousCode, compromisedPackage, degraded };
}

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
function responseTo(signals: Signals, sequence: number, evidence: InspectionResponse['evidence']): InspectionResponse {
  const { intent, drift, injection, maliciousCode, compromisedPackage, degraded } = signals;
  const injected = isConfident(injection);
  const refusals: Readonly<Record<Lane, string | null>> = {
    injection: injected ? `prompt injection detected: ${injection.found.join(', ')}` : null,
    malicious_code: maliciousCode.detected ? `BLOCK: malicious_code (${maliciousCode.found.join(', ')})` : null,
    compromised_package: compromisedPackage.detected
      ? `BLOCK: compromised_package (${compromisedPackage.found.join(', ')})`
      : null,
    sequence_escalation: sequence >= SEQUENCE_BLOCK ? SEQUENCE_REASON : null,
    persona_drift:
      drift.score > DRIFT_THRESHOLD
        ? `persona drift ${drift.score.toFixed(2)} is over ${DRIFT_THRESHOLD}: unlike every example call in the persona of this agent`
        : null,
    intent: intent.authorized ? null : intent.reason,
  };
  const refusal = Object.values(refusals).find((reason) => reason !== null);
  return {
    authorized: refusal === undefined,
    reason: refusal ?? intent.reason,
    intent_category: injected ? 'Meta-Reasoning' : intent.category,
    persona_drift_score: Math.round(drift.score * 1e4) / 1e4,
    ...injectionFields(injection),
    malicious_code_detected: maliciousCode.detected,
    malicious_code_confidence: maliciousCode.confidence,
    compromised_package_detected: compromisedPackage.detected,
    compromised_package_confidence: compromisedPackage.confidence,
    sequence_escalation_score: sequence,
    drift_available: drift.available,
    ...(intent.suspicions && intent.suspicions.length > 0 && { intent_suspicions: [...intent.suspicions] }),
    ...(degraded.length > 0 && { degraded: [...degraded] }),
    cost_micros: 0,
    evidence,
  };
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
const CONFIDENT = 0.85;
const isConfident = ({ detected, confidence }: Detection): boolean => detected && confidence >= CONFIDENT;

const injectionFields = (injection: Detection) => ({
  injection_detected: isConfident(injection),
  injection_confidence: injection.confidence,
  ...(injection.detected && !isConfident(injection) && { injection_suspicions: [...injection.found] }),
});

const modelsOf = (provider: InspectionProvider): Record<string, string> => ({
  classifier_fast: provider.classifier.model,
  classifier_deep: provider.classifier.model,
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
