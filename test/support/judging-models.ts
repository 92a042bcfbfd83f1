import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { modelMetrics } from '../../api/brain/metrics.js';
import { openModels } from '../../api/brain/models.js';
import { readModels } from '../../config/brain-models.js';
import type { InspectRequest } from '../../contracts/inspection.js';
import type { JsonObject } from '../../contracts/json.js';
import { createInspector } from '../../domain/inspection/inspector.js';
import { noPersonas, type Personas } from '../../domain/inspection/personas.js';
import { modelLanes } from '../../domain/models/model-lanes.js';

export const KEY = 'sk-test-4711-never-to-be-seen';
export const ENV = { GATE_BRAIN_TEST_KEY: KEY };
const PRICE = { inputMicrosPerMillionTokens: 1_000_000, outputMicrosPerMillionTokens: 4_000_000 };
const route = { primary: 'fast', fallback: { policy: 'disabled', models: [] } };

export interface Places {
  /** The provider of the models `fast` and `deep`. */
  readonly url: string;
  /** The provider of the model `spare`. */
  readonly spareUrl?: string;
  readonly timeoutMs?: number;
  readonly spareTimeoutMs?: number;
  readonly budget?: object;
  readonly workloads?: object;
}

/** A file of models as an operator writes it. */
export const modelsFile = ({
  url,
  spareUrl = url,
  timeoutMs = 60_000,
  spareTimeoutMs = timeoutMs,
  budget,
  workloads = {},
}: Places) => ({
  contract: 'gate.brain-provider-routing/v2',
  schemaVersion: 2,
  credentials: { key: { source: 'environment', variable: 'GATE_BRAIN_TEST_KEY' } },
  providers: {
    main: { kind: 'openai', credential: 'key', baseUrl: url, timeoutMs, ...(budget && { budget }) },
    other: { kind: 'openai', credential: 'key', baseUrl: spareUrl, timeoutMs: spareTimeoutMs },
  },
  models: {
    fast: {
      provider: 'main',
      model: 'fast-1',
      maxOutputTokens: 200,
      requiredCapabilities: ['prompted_json_text'],
      price: PRICE,
    },
    deep: {
      provider: 'main',
      model: 'deep-1',
      maxOutputTokens: 200,
      requiredCapabilities: ['prompted_json_text'],
      price: PRICE,
    },
    spare: {
      provider: 'other',
      model: 'spare-1',
      maxOutputTokens: 200,
      requiredCapabilities: ['prompted_json_text'],
      price: PRICE,
    },
  },
  workloads: {
    classifier: { fast: route, deep: { ...route, primary: 'deep' } },
    injection: route,
    maliciousCode: route,
    compromisedPackage: route,
    ...workloads,
  },
});

/** The text as a file, for as long as `use` takes. */
export function written<Value>(content: unknown, use: (file: string) => Value): Value {
  const folder = mkdtempSync(join(tmpdir(), 'gate-models-'));
  try {
    const file = join(folder, 'models.yaml');
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
    return use(file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** An inspector whose lanes ask the models of a file, as Brain opens it. */
export async function judgingModels(places: Places, { personas = noPersonas }: { readonly personas?: Personas } = {}) {
  const file = written(modelsFile(places), readModels);
  const registry = new Registry();
  const metrics = modelMetrics(registry);
  const { models, close } = await openModels(file, { env: ENV, metrics });
  const inspector = createInspector({
    personas,
    provider: modelLanes(models, file.routing),
    onSaved: metrics.saved,
  });
  return { inspector, models, close, metrics: async () => (await registry.metrics()).split('\n') };
}

export const callOf = (tool: string, args: JsonObject = {}, more: Partial<InspectRequest> = {}): InspectRequest => ({
  agent_id: 'bot',
  tenant: 'acme',
  method: 'tools/call',
  params: { name: tool, arguments: args },
  prior_requests: [],
  ...more,
});
