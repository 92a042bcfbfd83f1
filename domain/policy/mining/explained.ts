import type { JsonObject } from '../../../contracts/json.js';
import type { ExplainPattern, PatternExplained } from '../../../contracts/narration.js';
import type { ArgumentBound } from '../../../contracts/policy-mining.js';
import type { Narrator } from '../../models/narrator.js';
import { clipped } from '../../text.js';
import type { KeptSuggestion } from '../library-ports.js';

/** Of a rule with more parts, or of a part with more arguments, the others are counted. */
const SHOWN_PARTS = 3;
const SHOWN_ARGUMENTS = 8;
const LONGEST_TOOL = 128;

/**
 * Asks a model for words about what was found. It is told of the tool, of how many decisions there were, and within which numbers arguments lie: no
 * agent, no call, and no name of an argument, which an agent may have chosen.
 */
export const explainedBy =
  (narrator: Pick<Narrator, 'explainPattern'>) =>
  async (found: KeptSuggestion): Promise<PatternExplained | null> => {
    try {
      return await narrator.explainPattern(questionOf(found));
    } catch {
      // The facts stand without them, and Brain has counted why there are none.
      return null;
    }
  };

export function questionOf({ tenant, tool, facts: { parts, evidence } }: KeptSuggestion): ExplainPattern {
  const shown = parts.slice(0, SHOWN_PARTS).map(({ agents, approvals, arguments: bounds }) => ({
    agents: agents.length,
    approvals,
    arguments: Object.fromEntries(
      bounds.slice(0, SHOWN_ARGUMENTS).map((bound, at) => [`argument ${at + 1}`, limitsOf(bound)]),
    ),
    further_arguments: Math.max(0, bounds.length - SHOWN_ARGUMENTS),
  }));
  const { approvals, denials, days, approvers } = evidence;
  return {
    tenant,
    kind: 'approved_calls',
    tool_type: clipped(tool, LONGEST_TOOL),
    threshold: {
      approvals,
      denials,
      days,
      approvers,
      parts: shown,
      further_parts: Math.max(0, parts.length - SHOWN_PARTS),
    },
    evidence_count: approvals.of + denials.of,
  };
}

function limitsOf({ is }: ArgumentBound): JsonObject {
  if ('from' in is) return { from: is.from, to: is.to };
  if ('one_of' in is) return { values: is.one_of.length };
  return 'like' in is ? { fixed_form: true } : { fixed: true };
}
