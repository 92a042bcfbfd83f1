import { readFileSync } from 'node:fs';
import type { BrainModels, ModelProvider } from '../../config/brain-models.js';
import type { Env } from '../../config/env.js';
import { StartError } from '../../config/start-error.js';
import { anthropicClient } from '../../adapters/models/anthropic.js';
import { openAiClient } from '../../adapters/models/openai.js';
import type { Log } from '../../domain/log.js';
import type { ModelClient } from '../../domain/models/port.js';
import { createModels, type RoutedModels } from '../../domain/models/router.js';
import type { Routing } from '../../domain/models/routing.js';
import type { ModelMetrics } from './metrics.js';

export interface OpenedModels {
  readonly models: RoutedModels;
  /** The same providers under another routing of the file, with budgets and circuits of its own. */
  modelsOver(routing: Routing): RoutedModels;
  close(): Promise<void>;
}

/** The models of the file, with their keys. Asks none of them. Throws StartError with every key that is missing. */
export async function openModels(
  { routing, providers, keyVariables }: BrainModels,
  { env, metrics, log }: { readonly env: Env; readonly metrics: ModelMetrics; readonly log?: Log },
): Promise<OpenedModels> {
  const missing: string[] = [];
  const clients: Record<string, ModelClient & { close(): Promise<void> }> = {};
  for (const [alias, provider] of Object.entries(providers)) {
    const variable = keyVariables[alias];
    const key = variable === undefined ? undefined : keyFrom(variable, env, log);
    try {
      key?.();
    } catch (error) {
      missing.push((error as Error).message);
    }
    clients[alias] =
      provider.kind === 'anthropic' && key
        ? await anthropicClient({ ...endpointOf(provider), key })
        : await openAiClient({ ...endpointOf(provider), ...(key && { key }) });
  }
  if (missing.length > 0) throw new StartError(`GATE_BRAIN_MODELS_FILE: ${[...new Set(missing)].join('; ')}`);
  const modelsOver = (over: Routing): RoutedModels =>
    createModels({ routing: over, clients, observe: metrics.attempt });
  return {
    models: modelsOver(routing),
    modelsOver,
    close: async () => void (await Promise.all(Object.values(clients).map((client) => client.close()))),
  };
}

/** Where each kind is when the file says nothing; a server of one's own has an address always. */
const PUBLIC = { openai: 'https://api.openai.com/v1', anthropic: 'https://api.anthropic.com', ollama: '' } as const;

/** An address that the operator wrote may be inside the network; any other one must be public. */
function endpointOf({ kind, baseUrl: written, timeoutMs }: ModelProvider) {
  const baseUrl = written ?? PUBLIC[kind];
  const { hostname, port, protocol } = new URL(baseUrl);
  const pair = `${hostname}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}`;
  return { baseUrl, timeoutMs, ...(written !== undefined && { allowPrivate: pair }) };
}

/** What HTTP takes in the value of a header (RFC 9110, section 5.5). */
const HEADER_TEXT = /^[\x21-\x7e]{1,4096}$/;

/** A key as it is now: a variable, or the file that `<variable>_FILE` names, read at each use. What was found is never told. */
function keyFrom(variable: string, env: Env, log: Log | undefined): () => string {
  const file = env[`${variable}_FILE`];
  const where = file ? `${variable}_FILE` : variable;
  const now = (): string => {
    let text: string | undefined;
    try {
      text = file ? readFileSync(file, 'utf8').trim() : env[variable];
    } catch (error) {
      throw new Error(`${where}: cannot be read (${(error as NodeJS.ErrnoException).code ?? 'error'})`, {
        cause: error,
      });
    }
    if (!text) throw new Error(`${where}: is not set, or empty`);
    if (!HEADER_TEXT.test(text)) throw new Error(`${where}: is no key, which is one word of printable characters`);
    return text;
  };
  // Told once, and not for each question.
  let isThere = true;
  return () => {
    try {
      const key = now();
      isThere = true;
      return key;
    } catch (error) {
      if (isThere) log?.error({ fault: (error as Error).message }, 'models are not asked: their key cannot be had');
      isThere = false;
      throw error;
    }
  };
}
