import type { PriorCall } from './lanes.js';
import { isShellShaped, toolShape, toolTokens } from '../tool-shape.js';

/** A call with this score or more is refused. */
export const SEQUENCE_BLOCK = 0.7;
const ESCALATION = 0.9;
const READS_BEFORE = 3;

const MANY = new Set(['bulk', 'mass', 'batch']);
const OUTWARD = new Set(['dump', 'exfiltrate']);
const sameTool = (a: readonly string[], b: readonly string[]): boolean => a.join(' ') === b.join(' ');

/**
 * Tools whose single call has wide effects: command lines, and bulk copying or sending. Single writes, deletions and payments are not among
 * them: policy judges those each time, and reading three files before writing one is normal work.
 */
function isHighBlast(tokens: readonly string[]): boolean {
  if (isShellShaped(tokens) || tokens.some((token) => OUTWARD.has(token))) return true;
  return tokens.some((token) => MANY.has(token)) && toolShape(withoutMany(tokens)) !== 'retrieve';
}

const withoutMany = (tokens: readonly string[]): string[] => tokens.filter((token) => !MANY.has(token));

/**
 * 0.9 when a tool with wide effects appears for the first time after at least three calls that only read; otherwise 0. Looks only at names.
 */
export function sequenceEscalation(prior: readonly PriorCall[], tool: string): number {
  const tokens = toolTokens(tool);
  if (prior.length < READS_BEFORE || !isHighBlast(tokens)) return 0;
  const before = prior.map((call) => toolTokens(call.tool || call.method));
  if (before.some((other) => sameTool(other, tokens))) return 0;
  return before.every((other) => toolShape(other) === 'retrieve' && !isHighBlast(other)) ? ESCALATION : 0;
}
