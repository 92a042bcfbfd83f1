import type { Json, JsonObject } from '../../contracts/json.js';
import { at } from '../json-pointer.js';
import type { Given, Probe, Sign } from './probes.js';

/** What a probe's answer says of the call it was asked about. */
export type Said = 'completed' | 'not_run' | 'nothing' | 'both';

/** Reads an answer by the signs of its probe. Whoever says both says nothing that can be acted on. */
export function readAnswer({ completed, not_run: notRun }: Pick<Probe, 'completed' | 'not_run'>, answer: Json): Said {
  const ran = holds(completed, answer);
  const didNot = notRun !== undefined && holds(notRun, answer);
  if (ran && didNot) return 'both';
  return ran ? 'completed' : didNot ? 'not_run' : 'nothing';
}

function holds(sign: Sign, answer: Json): boolean {
  const found = at(answer, sign.at);
  return found !== undefined && sign.is.some((value) => value === found);
}

/**
 * What the probe is asked with, taken from the call; `null` where a pointer leads nowhere. A value that is missing would make the question one
 * about other calls.
 */
export function asked(given: Readonly<Record<string, Given>>, call: JsonObject): JsonObject | null {
  const values: JsonObject = {};
  for (const [name, one] of Object.entries(given)) {
    const value = 'value' in one ? one.value : at(call, one.from);
    if (value === undefined || ('from' in one && (value === '' || value === null))) return null;
    Object.defineProperty(values, name, { value, enumerable: true, writable: true, configurable: true });
  }
  return values;
}

/**
 * The result of a tool as a probe's signs point into it: the members of the MCP result, and as `json` what its first text says, where that
 * is JSON.
 */
export function answerOfTool(text: string): Json | null {
  let reply: Json;
  try {
    reply = JSON.parse(text) as Json;
  } catch {
    return null;
  }
  const result = at(reply, '/result');
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return null;
  const first = at(result, '/content/0/text');
  return { ...result, json: typeof first === 'string' ? jsonOr(first) : null };
}

/** The answer of an address: its status, and its body where that is JSON. */
export const answerOfUrl = (status: number, body: string): Json => ({ status, body: jsonOr(body) });

function jsonOr(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return null;
  }
}
