import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { z } from 'zod';
import type { Json } from '../contracts/json.js';
import { canonicalJson, sha256Hex } from '../domain/crypto/digest.js';
import type { Workload } from '../domain/models/port.js';
import { judgingRoutes, type ProviderRules, type Route, type Routing, type Target } from '../domain/models/routing.js';
import { isLoopback } from '../domain/outbound/loopback.js';
import { setting } from './env.js';
import { parsedBy } from './shared.js';

/** Read where there is a file of models: no other start loads the parser. */
const yaml = (): typeof import('yaml') => createRequire(import.meta.url)('yaml') as typeof import('yaml');

const ALIAS = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/;
const alias = z
  .string()
  .max(64)
  .regex(ALIAS, 'must be lower-case letters and digits, with single hyphens between them');
const byAlias = <Entry extends z.ZodType>(entry: Entry) =>
  z.record(alias, entry).refine((entries) => Object.keys(entries).length > 0, 'must not be empty');

const credential = z.discriminatedUnion('source', [
  z.strictObject({
    source: z.literal('environment'),
    variable: z
      .string()
      .regex(/^GATE_BRAIN_[A-Z][A-Z0-9_]{0,95}$/, 'must be the name of a variable that begins with GATE_BRAIN_'),
  }),
  z.strictObject({ source: z.literal('none') }),
]);

/** A key and an agent's words go there, so it must be encrypted wherever others could listen. */
const baseUrl = z
  .url({ protocol: /^https?$/, message: 'must be an http(s):// URL' })
  .refine((text) => {
    const { username, password, hash, search } = new URL(text);
    return username === '' && password === '' && hash === '' && search === '';
  }, 'must not carry user info, a query or a fragment')
  .refine((text) => {
    const { protocol, hostname } = new URL(text);
    return protocol === 'https:' || isLoopback(hostname);
  }, 'must be https, unless it is on this machine');
const micros = z.number().int().min(0).max(1_000_000_000_000);
/** Ten thousand dollars for a million tokens, so that no sum of costs leaves the numbers that a row can hold. */
const price = z.number().int().min(0).max(10_000_000_000);
const budget = z.strictObject({ microsPerHour: micros, microsPerTenantAndHour: micros });
const common = {
  credential: alias,
  timeoutMs: z.number().int().min(100).max(120_000),
  budget: budget.optional(),
};
const provider = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('openai'), ...common, baseUrl: baseUrl.optional() }),
  z.strictObject({ kind: z.literal('anthropic'), ...common, baseUrl: baseUrl.optional() }),
  z.strictObject({ kind: z.literal('ollama'), ...common, baseUrl }),
]);

const model = z.strictObject({
  provider: alias,
  model: z.string().min(1).max(256).regex(/^\S+$/, 'must not hold blanks'),
  maxOutputTokens: z.number().int().min(1).max(65_536).default(1_024),
  requiredCapabilities: z.tuple([z.literal('prompted_json_text')]),
  price: z.strictObject({ inputMicrosPerMillionTokens: price, outputMicrosPerMillionTokens: price }).optional(),
});

const workload = z.strictObject({
  primary: alias,
  fallback: z.discriminatedUnion('policy', [
    z.strictObject({ policy: z.literal('disabled'), models: z.array(alias).max(0) }),
    z.strictObject({ policy: z.literal('transient_only'), models: z.array(alias).min(1).max(2) }),
  ]),
  hedgeAfterMs: z.number().int().min(50).max(60_000).optional(),
});
const file = z.strictObject({
  contract: z.literal('gate.brain-provider-routing/v2'),
  schemaVersion: z.literal(2),
  credentials: byAlias(credential),
  providers: byAlias(provider),
  models: byAlias(model),
  workloads: z.strictObject({
    classifier: z.strictObject({ fast: workload, deep: workload }),
    injection: workload,
    maliciousCode: workload,
    compromisedPackage: workload,
    scanResponse: workload.optional(),
    explainPattern: workload.optional(),
    narrateDecision: workload.optional(),
  }),
});
type File = z.infer<typeof file>;

export type ModelProvider = z.infer<typeof provider>;

/** The file as it is understood. */
export interface BrainModels {
  readonly routing: Routing;
  readonly providers: Readonly<Record<string, ModelProvider>>;
  /** The variable of each provider that has a key. */
  readonly keyVariables: Readonly<Record<string, string>>;
}

/** Reads the file of models, in YAML or JSON. Throws with every fault in it and its place; values are not repeated. */
export function readModels(name: string): BrainModels {
  let content: string;
  try {
    content = readFileSync(name, 'utf8');
  } catch (error) {
    throw new Error(`the file cannot be read (${(error as NodeJS.ErrnoException).code ?? 'error'})`, { cause: error });
  }
  const read = file.safeParse(parsed(content));
  if (!read.success) throw new Error(read.error.issues.flatMap((issue) => faultsOf(issue)).join('; '));
  const faults = [...faultsBetween(read.data)];
  if (faults.length > 0) throw new Error(faults.join('; '));
  return understood(read.data);
}

function parsed(content: string): unknown {
  const { LineCounter, parseDocument } = yaml();
  const lines = new LineCounter();
  const document = parseDocument(content, { lineCounter: lines, uniqueKeys: true, merge: false });
  const [fault] = document.errors;
  // The message of the parser repeats the line, which may hold anything.
  if (fault)
    throw new Error(`line ${lines.linePos(fault.pos[0]).line}: the file is neither YAML nor JSON (${fault.code})`);
  return document.toJS({ maxAliasCount: 0 });
}

const placeOf = (path: readonly PropertyKey[]): string =>
  path.length === 0 ? 'the file' : path.map((part) => String(part)).join('.');
function faultsOf({ path, message, ...issue }: z.core.$ZodIssue): string[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => `${placeOf([...path, key])}: is not a field of this file`);
  return [`${placeOf(path)}: ${message}`];
}

const SOURCE_OF: Readonly<Record<ModelProvider['kind'], string>> = {
  openai: 'environment',
  anthropic: 'environment',
  ollama: 'none',
};

/** What must fit together: each name that is used stands in its list, and what it names is of the right kind. */
function* faultsBetween({ credentials, providers, models, workloads }: File): Generator<string> {
  for (const [name, { kind, credential: used }] of Object.entries(providers)) {
    const place = `providers.${name}.credential`;
    if (!Object.hasOwn(credentials, used)) yield `${place}: credentials has no ${used}`;
    else if (credentials[used]?.source !== SOURCE_OF[kind])
      yield `${place}: ${kind} takes a credential with the source ${SOURCE_OF[kind]}`;
  }
  for (const [name, { provider: used, price }] of Object.entries(models)) {
    if (!Object.hasOwn(providers, used)) yield `models.${name}.provider: providers has no ${used}`;
    else if (providers[used]?.kind !== 'ollama' && price === undefined)
      yield `models.${name}.price: is missing; without it nobody can say what a call cost`;
  }
  for (const [place, { primary, fallback, hedgeAfterMs }] of placesOf(workloads)) {
    const used = [primary, ...fallback.models];
    for (const one of used) if (!Object.hasOwn(models, one)) yield `workloads.${place}: models has no ${one}`;
    if (new Set(used).size < used.length)
      yield `workloads.${place}.fallback.models: names a model twice, or the primary`;
    if (hedgeAfterMs !== undefined && fallback.models.length === 0)
      yield `workloads.${place}.hedgeAfterMs: needs a model in fallback.models`;
  }
}

type Entry = z.infer<typeof workload>;
const placesOf = ({ classifier, ...others }: File['workloads']): (readonly [string, Entry])[] => [
  ['classifier.fast', classifier.fast],
  ['classifier.deep', classifier.deep],
  ...Object.entries(others).flatMap(([place, entry]) => (entry === undefined ? [] : [[place, entry] as const])),
];
const WORKLOAD_AT: Readonly<Record<string, Workload>> = {
  'classifier.fast': 'classifierFast',
  'classifier.deep': 'classifierDeep',
};
const FREE = { inputMicrosPerMillionTokens: 0, outputMicrosPerMillionTokens: 0 };

function understood(read: File): BrainModels {
  const targetOf = (name: string): Target => {
    const { provider: of, model: id, maxOutputTokens, price = FREE } = read.models[name] as File['models'][string];
    return { alias: name, provider: of, model: id, maxOutputTokens, price };
  };
  const routeOf = ({ primary, fallback, hedgeAfterMs }: Entry): Route => ({
    targets: [targetOf(primary), ...fallback.models.map(targetOf)],
    ...(hedgeAfterMs !== undefined && { hedgeAfterMs }),
  });
  const { providers, credentials } = read;
  return {
    routing: {
      sha256: sha256Hex(canonicalJson(JSON.parse(JSON.stringify(read)) as Json)),
      providers: Object.fromEntries(
        Object.entries(providers).map(([name, { budget: own }]): [string, ProviderRules] => [name, { budget: own }]),
      ),
      workloads: Object.fromEntries(
        placesOf(read.workloads).map(([place, entry]) => [WORKLOAD_AT[place] ?? place, routeOf(entry)]),
      ),
    },
    providers,
    keyVariables: Object.fromEntries(
      Object.entries(providers).flatMap(([name, { credential: used }]) => {
        const found = credentials[used];
        return found?.source === 'environment' ? [[name, found.variable]] : [];
      }),
    ),
  };
}

export const modelsSetting = setting(
  'GATE_BRAIN_MODELS_FILE',
  parsedBy(readModels).optional(),
  'A file of models that judge beside the rules (docs/how-to/judge-with-models.md). Without it the rules judge alone, and nothing leaves this machine.',
);

export const requireQualifiedSetting = setting(
  'GATE_BRAIN_REQUIRE_QUALIFIED',
  z.string().min(1).optional(),
  'A report of `gate brain qualify`. With it Brain starts only where the models of GATE_BRAIN_MODELS_FILE passed, at most 30 days ago.',
);

/**
 * A report without models is about nobody. One is about the models that judge calls, so whoever reads answers must be among those that look for
 * instructions there.
 */
export function qualificationFault({
  models,
  requireQualified,
}: {
  readonly models?: BrainModels | undefined;
  readonly requireQualified?: string | undefined;
}): string | null {
  if (requireQualified === undefined) return null;
  if (models === undefined)
    return 'GATE_BRAIN_REQUIRE_QUALIFIED: needs the models that it is about (GATE_BRAIN_MODELS_FILE)';
  const { scanResponse, injection } = models.routing.workloads;
  const measured = new Set(injection?.targets.map(({ alias: name }) => name));
  const unmeasured = scanResponse?.targets.find(({ alias: name }) => !measured.has(name));
  return unmeasured === undefined
    ? null
    : `GATE_BRAIN_REQUIRE_QUALIFIED: no report is about workloads.scanResponse: ${unmeasured.alias} must be among the models of workloads.injection`;
}

/** What Brain and the proxies must agree on. */
export const inspectionTimeoutSetting = setting(
  'GATE_INSPECTION_TIMEOUT_SECS',
  z.coerce
    .number('must be a number of seconds')
    .int()
    .min(1, 'must be at least 1')
    .max(400, 'must be at most 400')
    .optional(),
  'How long Brain may take for a call where models judge (GATE_BRAIN_MODELS_FILE); the same at Brain and at every proxy. Without it Brain answers by rules, within two seconds.',
);

/** Whether a call waits long enough for its models: who stands in is asked after who was asked first. */
export function inspectionTimeoutFault(given: {
  readonly models?: BrainModels | undefined;
  readonly inspectionTimeoutSecs?: number | undefined;
}): string | null {
  const { models, inspectionTimeoutSecs: secs } = given;
  if (models === undefined) return null;
  const { routing, providers } = models;
  const longestMs = Math.max(
    ...judgingRoutes(routing).map(([, { targets }]) =>
      targets.reduce((sum, { provider: of }) => sum + (providers[of]?.timeoutMs ?? 0), 0),
    ),
  );
  const least = Math.ceil(longestMs / 1_000) + 1;
  if (secs !== undefined && secs >= least) return null;
  return `GATE_INSPECTION_TIMEOUT_SECS: must be at least ${least}, here and at every proxy: that long may the models of GATE_BRAIN_MODELS_FILE take, with those that stand in`;
}
