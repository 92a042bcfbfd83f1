import { foreignText } from '../domain/text.js';

/** The engine limits a summary to 400 bytes, sealed; a longer one would make it refuse the whole call. */
const LONGEST_PART = 40;

/**
 * A line for people who look at a run: who, what, how far. Never an argument of a call. Names come from agents and upstreams, so they are
 * clipped, and characters that would break the line or are invisible become dots.
 */
export const lineOf = (...parts: readonly string[]): string =>
  parts.map((part) => foreignText(part, LONGEST_PART).replaceAll(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, '.')).join(' · ');

/** The line of a call: its agent and its tool. */
export const callLine = ({ agent, tool }: { readonly agent: string; readonly tool: string }): string =>
  lineOf(agent, tool);
