import { z } from 'zod';
import { intentCategory } from '../../contracts/inspection.js';
import type { JsonObject } from '../../contracts/json.js';
import { strongestOf } from '../inspection/injection.js';
import { offlineProvider } from '../inspection/inspector.js';
import {
  type ContentDetector,
  type Detection,
  type InspectionProvider,
  type LaneInput,
  nothingFound,
  type Shown,
} from '../inspection/lanes.js';
import { installedBy } from '../inspection/packages.js';
import { isShellShaped, isWriteShaped, toolShape, toolTokens } from '../tool-shape.js';
import { askBound } from './bound-question.js';
import { maskByRules } from './mask.js';
import { type Completion, ModelFailure, type Models, type Workload } from './port.js';
import { type Prompt, PROMPT_SHA256, systemPrompt } from './prompts.js';
import { nameOfTarget, type Routing } from './routing.js';

const nonce = z.string().max(128);
const confidence = z.number().min(0).max(1);
const judged = { nonce, instructs_judge: z.boolean() };
const kinds = <const Name extends string>(...names: readonly Name[]) => z.array(z.enum(names)).max(16);
/** An answer that names what it found and says that it found nothing says neither. */
const agrees = ({ found, kinds: named }: { readonly found: boolean; readonly kinds: readonly string[] }): boolean =>
  found || named.length === 0;

const ORDINARY = 'ordinary';
const classified = z.strictObject({
  ...judged,
  category: intentCategory,
  authorized: z.boolean(),
  ground: z.enum([
    ORDINARY,
    'destruction',
    'exfiltration',
    'fraud',
    'privilege_escalation',
    'switching_off_controls',
    'deception',
    'outside_purpose',
    'other',
  ]),
});
export const injected = z
  .strictObject({
    ...judged,
    injected: z.boolean(),
    confidence,
    kinds: kinds('override', 'role_change', 'prompt_disclosure', 'tool_order', 'data_disclosure', 'other'),
  })
  .refine(({ injected: found, kinds: named }) => agrees({ found, kinds: named }));
const maliciousCode = z.strictObject({
  ...judged,
  malicious: z.boolean(),
  confidence,
  kinds: kinds(
    'reverse_shell',
    'download_and_run',
    'hidden_execution',
    'credential_theft',
    'ransomware',
    'destruction',
    'back_door',
    'persistence',
    'other',
  ),
});
const compromisedPackage = z.strictObject({
  ...judged,
  compromised: z.boolean(),
  confidence,
  kinds: kinds('known_malicious', 'typosquat', 'dependency_confusion', 'untrusted_source', 'other'),
});

/** A text that tries to steer the judge was written by somebody who has a reason to. The lane that knows quotation denies it; another one parks. */
export const STEERS = 'model:instructs_the_judge';
const STEERING: Detection = { detected: true, confidence: 0.9, found: [STEERS] };

/** Verbs whose calls the deep model judges. */
const FAR_REACHING =
  / (?:delete|deletes|deleting|drop|drops|dropping|plan|plans|remove|removes|wipe|erase|destroy|purge|truncate|revoke|disable|terminate|overwrite) /;
const FAR_REACHING_SHAPES: ReadonlySet<string> = new Set(['delete', 'money', 'identity', 'execute', 'deploy']);
export const isFarReaching = ({ tool, texts }: Pick<LaneInput, 'tool' | 'texts'>): boolean =>
  FAR_REACHING_SHAPES.has(toolShape(toolTokens(tool))) || FAR_REACHING.test(` ${texts.words} `);

/**
 * The lanes with models behind them. In each lane the rules are asked first, and what they find stands: a model can add a finding and take none
 * away. A lane whose model gives no answer that fits fails; the inspector says what then (docs/architecture/models.md).
 */
export function modelLanes(models: Models, routing: Routing): InspectionProvider {
  const { classifier, injection, maliciousCode: codeRules, compromisedPackage: packageRules } = offlineProvider;
  const nameFor = (workload: Workload): string => {
    const target = routing.workloads[workload]?.targets[0];
    return target === undefined ? '' : nameOfTarget(target);
  };

  const ask = <Value extends { readonly nonce: string }>(
    workload: Workload,
    prompt: Prompt,
    schema: z.ZodType<Value>,
    { tenant, document, purpose = null }: { tenant: string | null; document: JsonObject; purpose?: string | null },
  ): Promise<Completion<Value>> =>
    askBound(models, {
      workload,
      tenant,
      schema,
      document,
      promptFor: (expected) => systemPrompt(prompt, expected, purpose),
    });
  const spent = ({ costMicros, model }: Completion<unknown>) => ({ costMicros, answeredBy: model });

  /** The rules, then the model where there is something to ask it and the rules are not sure already. */
  const content = (
    workload: Workload,
    prompt: Prompt,
    rules: ContentDetector,
    concerns: (input: LaneInput) => boolean,
    schema: z.ZodType<Judged>,
  ): ContentDetector => ({
    model: nameFor(workload),
    async detect(input) {
      const byRules = await rules.detect(input);
      if (byRules.detected || !concerns(input)) return byRules;
      const shown = shownOf(input);
      const said = await ask(workload, prompt, schema, { tenant: shown.tenant, document: documentOf(shown) });
      const found = strongestOf(byRules, detectionOf(said.value));
      return { ...found, ...(said.value.instructs_judge && { suspicions: [STEERS] }), ...spent(said) };
    },
  });

  return {
    deterministic: false,
    embedding: offlineProvider.embedding,
    mask: maskByRules,
    promptSha256: PROMPT_SHA256,
    routingSha256: routing.sha256,
    classifier: {
      model: nameFor('classifierFast'),
      deepModel: nameFor('classifierDeep'),
      async classify(input) {
        const byRules = await classifier.classify(input);
        if (!byRules.authorized) return byRules;
        const shown = shownOf(input);
        const workload = isFarReaching(input) ? 'classifierDeep' : 'classifierFast';
        const { persona: purpose } = input;
        const document = documentOf(shown);
        const said = await ask(workload, 'classifier', classified, { tenant: shown.tenant, document, purpose });
        const { authorized, category, ground, instructs_judge } = said.value;
        if (!authorized)
          return { authorized, category, reason: `the classifier refuses it: ${ground}`, ...spent(said) };
        const suspicions = [
          ...(byRules.suspicions ?? []),
          ...(instructs_judge ? [STEERS] : []),
          // It names a deed and lets it pass: a person reads which of the two holds.
          ...(ground === ORDINARY || ground === 'other' ? [] : [`model:${ground}`]),
        ];
        return {
          authorized,
          category: instructs_judge ? 'Meta-Reasoning' : category,
          reason: suspicions.length > 0 ? `${category}: suspected ${suspicions.join(', ')}` : `${category}: ${ground}`,
          ...(suspicions.length > 0 && { suspicions }),
          ...spent(said),
        };
      },
    },
    injection: {
      model: nameFor('injection'),
      async detect(input) {
        const byRules = await injection.detect(input);
        if (byRules.detected && byRules.confidence >= 0.85) return byRules;
        const shown = shownOf(input);
        const recent = input.prior.map(({ method, tool }) => `${method} ${tool}`);
        const document = {
          ...documentOf(shown),
          recent_calls: maskByRules.show({ ...shown, params: { recent } }).params,
        };
        const said = await ask('injection', 'injection', injected, { tenant: shown.tenant, document });
        return { ...strongestOf(byRules, injectionOf(said.value)), ...spent(said) };
      },
    },
    maliciousCode: content('maliciousCode', 'malicious_code', codeRules, storesText, codeSchema),
    compromisedPackage: content('compromisedPackage', 'compromised_package', packageRules, installs, packageSchema),
  };
}

/** What the two lanes about contents have in common. */
interface Judged {
  readonly nonce: string;
  readonly instructs_judge: boolean;
  readonly found: boolean;
  readonly confidence: number;
  readonly kinds: readonly string[];
}
const codeSchema = maliciousCode
  .transform(({ malicious: found, ...rest }): Judged => ({ found, ...rest }))
  .refine(agrees);
const packageSchema = compromisedPackage
  .transform(({ compromised: found, ...rest }): Judged => ({ found, ...rest }))
  .refine(agrees);

const storesText = ({ tool }: LaneInput): boolean => isWriteShaped(toolTokens(tool));
const installs = ({ tool, texts }: LaneInput): boolean =>
  isShellShaped(toolTokens(tool)) && installedBy(texts.plain).length > 0;

const named = (all: readonly string[]): string[] => (all.length > 0 ? all : ['unnamed']).map((kind) => `model:${kind}`);
const detectionOf = ({ found, confidence: sure, kinds: all }: Omit<Judged, 'nonce' | 'instructs_judge'>): Detection =>
  found ? { detected: true, confidence: sure, found: named(all) } : nothingFound;
const injectionOf = (said: z.infer<typeof injected>): Detection => {
  const found = detectionOf({ ...said, found: said.injected });
  return said.instructs_judge ? strongestOf(STEERING, found) : found;
};

/** Without a masked request nothing may be shown. */
function shownOf({ shown }: LaneInput): Shown {
  if (shown === undefined) throw new ModelFailure('invalid_input');
  return shown;
}
const documentOf = ({ method, tool, params }: Shown): JsonObject => ({ method, tool, params });
