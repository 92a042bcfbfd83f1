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

/**
 * A persona to start from: the calls of an agent that ran, one of each tool and set of arguments, the frequent ones first; then the tools that are
 * listed and were never called, for somebody to decide about. Secrets and personal data are masked and long texts shortened. What the agent is for
 * is left to its owner's words. Throws when no call ran.
 */
export function draftPersona(agent: string, calls: readonly PastCall[], listed: readonly string[]): string {
  const kinds = new Map<string, { readonly tool: string; readonly line: string; count: number }>();
  for (const { tool, arguments: given, ran } of calls) {
    if (!ran) continue;
    const key = JSON.stringify([tool, Object.keys(given).toSorted()]);
    const known = kinds.get(key);
    if (known) known.count += 1;
    else kinds.set(key, { tool, line: exampleLine(tool, given), count: 1 });
  }
  if (kinds.size === 0) throw new Error(`no call of ${agent} ran in this window`);
  const byTool = new Map<string, number>();
  const examples = [...kinds.values()]
    .toSorted((one, other) => other.count - one.count || (one.line < other.line ? -1 : 1))
    .filter(({ tool }) => {
      const count = (byTool.get(tool) ?? 0) + 1;
      byTool.set(tool, count);
      return count <= EXAMPLES_PER_TOOL;
    })
    .slice(0, MOST_EXAMPLES);
  const never = listed.filter((tool) => !calls.some((call) => call.tool === tool && call.ran)).toSorted();
  return [
    `# ${oneWord(agent)}`,
    '',
    'Say here in your own words what this agent is for, and what it has no business with.',
    '',
    '## Example calls',
    '',
    '```jsonl example-calls',
    ...examples.map(({ line }) => line),
    '```',
    ...(never.length === 0
      ? []
      : ['', '## Listed, and never called', '', ...never.map((tool) => `- ${oneWord(tool)}`)]),
    '',
  ].join('\n');
}

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
