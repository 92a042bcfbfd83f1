import type { Json, JsonObject } from '../../contracts/json.js';
import { mask } from '../masking/mask.js';
import { sizeOf } from '../large.js';
import { clipped } from '../text.js';
import { compareWithHistory } from './behaviour/compare.js';
import {
  type AgentProfile,
  agentLearned,
  NO_AGENT,
  NO_CALLS,
  toolLearned,
  type ToolProfile,
} from './behaviour/profile.js';
import type { TraitsReader } from './behaviour/traits.js';
import { DRIFT_THRESHOLD } from './drift-threshold.js';
import type { EmbeddingProvider } from './lanes.js';
import { ON_PERSONA_BELOW } from './persona-cases.js';
import { callParams, personaDrift, type StoredVector } from './personas.js';

/** A call as the ledger has it. */
export interface PastCall {
  readonly at: string;
  readonly correlation_id: string;
  readonly tool: string;
  readonly arguments: JsonObject;
  /** It was allowed, or a person approved it. */
  readonly ran: boolean;
}

const EXAMPLES_PER_TOOL = 4;
const MOST_EXAMPLES = 64;
const LONGEST_TEXT = 80;
const LARGEST_EXAMPLE = 1_024;

/** A tool as it is listed. */
export interface ListedTool {
  readonly name: string;
  /** What its calls look like, where that is known. */
  readonly inputSchema?: Json | undefined;
}

/**
 * A persona to start from: the calls of an agent that were allowed, one of each tool and set of arguments, the frequent ones first; then the tools that are
 * listed and in none of them, for somebody to decide about. Of an agent none of whose calls ran, one example of each listed tool, made from what
 * its definition says of its arguments. Secrets and personal data are masked and long texts shortened. What the agent is for is left to its owner's
 * words. Throws when no call ran and no tool is listed.
 */
export function draftPersona(agent: string, calls: readonly PastCall[], listed: readonly ListedTool[]): string {
  const kinds = new Map<string, { readonly tool: string; readonly line: string; count: number }>();
  for (const { tool, arguments: given, ran } of calls) {
    if (!ran) continue;
    const key = JSON.stringify([tool, Object.keys(given).toSorted()]);
    const known = kinds.get(key);
    if (known) known.count += 1;
    else kinds.set(key, { tool, line: exampleLine(tool, given), count: 1 });
  }
  const made = kinds.size === 0;
  if (made)
    for (const { name, inputSchema } of listed)
      kinds.set(name, { tool: name, line: exampleLine(name, argumentsFor(inputSchema)), count: 1 });
  if (kinds.size === 0) throw new Error(`no call of ${agent} ran in this window, and no tool is listed for it`);
  const byTool = new Map<string, number>();
  const examples = [...kinds.values()]
    .toSorted((one, other) => other.count - one.count || (one.line < other.line ? -1 : 1))
    .filter(({ tool }) => {
      const count = (byTool.get(tool) ?? 0) + 1;
      byTool.set(tool, count);
      return count <= EXAMPLES_PER_TOOL;
    })
    .slice(0, MOST_EXAMPLES);
  const never = made
    ? []
    : listed
        .map(({ name }) => name)
        .filter((tool) => !calls.some((call) => call.tool === tool && call.ran))
        .toSorted();
  return [
    `# ${oneWord(agent)}`,
    '',
    'Say here in your own words what this agent is for, and what it has no business with.',
    '',
    '## Example calls',
    '',
    ...(made ? ['Made from the list of its tools, not from calls: take out what it has no business with.', ''] : []),
    '```jsonl example-calls',
    ...examples.map(({ line }) => line),
    '```',
    ...(never.length === 0
      ? []
      : ['', '## Listed, and in none of these calls', '', ...never.map((tool) => `- ${oneWord(tool)}`)]),
    '',
  ].join('\n');
}

/** More of a schema is not gone into. */
const MOST_LEVELS = 4;
const MOST_ARGUMENTS = 16;

/** Arguments as a call of such a tool has them; none where its definition says nothing of them. */
function argumentsFor(schema: Json | undefined): JsonObject {
  const made = valueFor(schema, 0);
  return isObject(made) ? made : {};
}

function valueFor(schema: Json | undefined, level: number): Json {
  if (!isObject(schema) || level > MOST_LEVELS) return {};
  const { default: usual, examples, const: only, enum: all, type, properties, items } = schema;
  const given = [only, usual, ...listOf(examples), ...listOf(all)].find((value) => value !== undefined);
  if (given !== undefined) return given;
  switch (Array.isArray(type) ? type[0] : type) {
    case 'integer':
    case 'number':
      return 1;
    case 'boolean':
      return true;
    case 'array':
      return isObject(items) ? [valueFor(items, level + 1)] : [];
    case 'string':
      return 'example';
    default:
      return Object.fromEntries(
        Object.entries(isObject(properties) ? properties : {})
          .slice(0, MOST_ARGUMENTS)
          .map(([name, of]) => [name, valueFor(of, level + 1)]),
      );
  }
}

const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);
const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const oneWord = (name: string): string => clipped(name, 128).replaceAll(/[\p{Cc}`]/gu, ' ');

function exampleLine(tool: string, given: JsonObject): string {
  const shown = sizeOf(given, LARGEST_EXAMPLE) > LARGEST_EXAMPLE ? {} : shortened(mask(given));
  return JSON.stringify({ tool, arguments: shown });
}

function shortened(value: Json): Json {
  if (typeof value === 'string') return clipped(value, LONGEST_TEXT).replaceAll('`', "'");
  if (Array.isArray(value)) return value.slice(0, 3).map(shortened);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shortened(inner)]));
}

/** A recorded call that would not pass under a persona, and why. */
export interface Drifted {
  readonly at: string;
  readonly correlation_id: string;
  readonly tool: string;
  readonly would: 'be denied' | 'wait';
  readonly reasons: readonly string[];
}

const ASKED_FROM_BP = ON_PERSONA_BELOW * 10_000;

/**
 * Which of an agent's calls, in their order, would drift: from the persona, and from its own calls of the window before that ran. The first calls of
 * a window have little before them, and are measured by the persona alone.
 */
export async function checkPersona(
  stored: StoredVector,
  calls: readonly PastCall[],
  { embedding, readTraits, tenant }: { embedding: EmbeddingProvider; readTraits: TraitsReader; tenant: string },
): Promise<readonly Drifted[]> {
  const persona = { text: '', sha256: stored.persona_sha256, stored, fault: null };
  const tools = new Map<string, ToolProfile>();
  let agent: AgentProfile | null = null;
  let after: string | null = null;
  const drifted: Drifted[] = [];
  for (const call of calls) {
    const params = callParams(call);
    const { score, available } = await personaDrift(persona, embedding, {
      method: 'tools/call',
      tool: call.tool,
      params,
    });
    const traits = readTraits(tenant, call, after);
    const atMs = Date.parse(call.at);
    const behaviour = compareWithHistory(traits, { agent, tools }, atMs);
    const isOff = available && score > DRIFT_THRESHOLD;
    const reasons = [
      ...(available && score >= ON_PERSONA_BELOW ? [`${score.toFixed(2)} from the nearest example call`] : []),
      ...(behaviour.score_bp >= ASKED_FROM_BP ? behaviour.reasons.map(({ text }) => text) : []),
    ];
    const { at, correlation_id, tool } = call;
    if (reasons.length > 0) drifted.push({ at, correlation_id, tool, would: isOff ? 'be denied' : 'wait', reasons });
    if (!call.ran) continue;
    agent = agentLearned(agent ?? NO_AGENT, traits.tool, atMs);
    if (agent.tools.includes(traits.tool))
      tools.set(traits.tool, toolLearned(tools.get(traits.tool) ?? NO_CALLS, traits, atMs));
    after = call.tool;
  }
  return drifted;
}
