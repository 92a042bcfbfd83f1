import { z } from 'zod';
import { jsonObject } from '../../contracts/json.js';
import { sha256Hex } from '../crypto/digest.js';
import { errorText } from '../errors.js';
import { cosine } from './embedding.js';
import type { EmbeddingProvider } from './lanes.js';

/**
 * The content of `<agent_id>.vector.json`. A persona covers several kinds of calls, and the mean of different vectors resembles none of
 * them. So `exemplars` holds the vector of each example call, and drift is measured to the nearest. `vector` is their mean.
 */
export const storedVector = z.strictObject({
  provider: z.string().min(1),
  model: z.string().min(1),
  dimensions: z.number().int().positive(),
  persona_sha256: z.string().regex(/^[0-9a-f]{64}$/),
  vector: z.array(z.number()),
  exemplars: z.array(z.array(z.number())).min(1),
  created_at: z.iso.datetime(),
});
export type StoredVector = z.infer<typeof storedVector>;

/** One agent's persona: its purpose in its owner's words, and example calls. */
export interface Persona {
  readonly text: string;
  readonly sha256: string;
  /** Null when no usable vector is stored; `fault` says why. */
  readonly stored: StoredVector | null;
  readonly fault: string | null;
}

export interface Personas {
  /** `personas/<tenant>/<agent_id>.md`, otherwise `personas/<agent_id>.md`, otherwise null. */
  find(tenant: string | null | undefined, agentId: string): Persona | null;
  /** `tenant/agent` or `agent` of every persona, sorted; for readiness and logs. */
  readonly names: readonly string[];
}

const exampleCall = z.strictObject({ tool: z.string().min(1), arguments: jsonObject.default({}) });
export type ExampleCall = z.infer<typeof exampleCall>;

const OPENS = /^```(?:json|jsonl)[ \t]+example-calls[ \t]*$/;
const CLOSES = /^```[ \t]*$/;

/**
 * The example calls of a persona file, from every fenced block that opens with "```jsonl example-calls", one call per line:
 * `{"tool":"read_file","arguments":{"path":"a.txt"}}`. Throws, quoting the line, when one does not parse; throws when there are none.
 */
export function exampleCalls(markdown: string): ExampleCall[] {
  const calls: ExampleCall[] = [];
  for (const line of exampleLines(markdown)) {
    try {
      calls.push(exampleCall.parse(JSON.parse(line)));
    } catch (error) {
      throw new Error(`example call ${line.trim().slice(0, 120)}: ${errorText(error)}`, { cause: error });
    }
  }
  if (calls.length === 0) throw new Error('no example call; write a block opened by "```jsonl example-calls"');
  return calls;
}

/** The lines inside closed blocks. A block that is never closed is prose. */
function exampleLines(markdown: string): string[] {
  const found: string[] = [];
  let block: string[] | null = null;
  for (const line of markdown.replaceAll('\r\n', '\n').split('\n')) {
    if (block === null) {
      if (OPENS.test(line)) block = [];
    } else if (CLOSES.test(line)) {
      found.push(...block);
      block = null;
    } else if (line.trim() !== '') block.push(line);
  }
  return found;
}

export const callParams = (call: ExampleCall) => ({ name: call.tool, arguments: call.arguments });

/** The vector file of a persona: the embedding of each example call, and their mean. */
export async function embedPersona(
  markdown: string,
  embedding: EmbeddingProvider,
  createdAt: Date,
): Promise<StoredVector> {
  const exemplars: number[][] = [];
  for (const call of exampleCalls(markdown)) {
    const vector = await embedding.embed({ method: 'call_tool', tool: call.tool, params: callParams(call) });
    exemplars.push(vector.map(rounded));
  }
  const vector = Array.from({ length: embedding.dimensions }, (_, at) =>
    rounded(exemplars.reduce((sum, one) => sum + (one[at] as number), 0) / exemplars.length),
  );
  return {
    provider: embedding.provider,
    model: embedding.model,
    dimensions: embedding.dimensions,
    persona_sha256: sha256Hex(markdown),
    vector,
    exemplars,
    created_at: createdAt.toISOString(),
  };
}

const rounded = (value: number): number => Math.round(value * 1e4) / 1e4 + 0;

const NAME = /^[A-Za-z0-9._-]{1,63}$/;

/** Whether a tenant or an agent can have this name, as part of a path. */
export const isPersonaName = (name: string): boolean => NAME.test(name);

/** Personas by `tenant/agent` or `agent`. */
export function personasOf(known: ReadonlyMap<string, Persona>): Personas {
  return {
    find(tenant, agentId) {
      // An agent id is a single name: "acme/support-bot" must not reach another tenant's persona.
      if (!NAME.test(agentId)) return null;
      return (
        (tenant && NAME.test(tenant) ? known.get(`${tenant}/${agentId}`) : undefined) ?? known.get(agentId) ?? null
      );
    },
    names: [...known.keys()].sort(),
  };
}

export const noPersonas: Personas = personasOf(new Map());

/** Why a stored vector cannot be used for a persona; `null` when it can. */
export function vectorFault(stored: StoredVector, sha256: string): string | null {
  if (stored.persona_sha256 !== sha256)
    return 'the persona was edited after its vector was made; run `npm run personas`';
  if ([stored.vector, ...stored.exemplars].some((vector) => vector.length !== stored.dimensions))
    return 'a stored vector does not have the stated number of dimensions';
  return null;
}

export interface Drift {
  readonly score: number;
  readonly available: boolean;
}
const UNAVAILABLE: Drift = { score: 0, available: false };

/**
 * How far a call is from what its agent does: 1 minus the cosine to the nearest example, 0 to 2. Unavailable, but never an error, without a
 * persona or vector, when provider, model or dimensions differ from the stored ones, or when the embedding fails.
 */
export async function personaDrift(
  persona: Persona | null,
  embedding: EmbeddingProvider,
  call: Parameters<EmbeddingProvider['embed']>[0],
): Promise<Drift> {
  const stored = persona?.stored ?? null;
  if (stored === null) return UNAVAILABLE;
  if (
    stored.provider !== embedding.provider ||
    stored.model !== embedding.model ||
    stored.dimensions !== embedding.dimensions
  )
    return UNAVAILABLE;
  let vector: readonly number[];
  try {
    vector = await embedding.embed(call);
  } catch {
    // The caller reports an embedding outage as degraded; the other lanes continue.
    return UNAVAILABLE;
  }
  if (vector.length !== stored.dimensions) return UNAVAILABLE;
  let nearest: number | null = null;
  for (const exemplar of stored.exemplars) {
    const similarity = cosine(vector, exemplar);
    if (similarity !== null && (nearest === null || similarity > nearest)) nearest = similarity;
  }
  return nearest === null ? UNAVAILABLE : { score: Math.min(2, Math.max(0, 1 - nearest)), available: true };
}
