import { foreignText } from '../domain/text.js';

/** The engine takes 400 bytes of a summary, sealed; what is beyond them would refuse the whole call. */
const LONGEST_PART = 40;

/**
 * A line for people who look at a run: who, what, how far. Never an argument of a call. Names are an agent's and an upstream's own words, so
 * they are clipped, and what would break the line or cannot be seen stands as a dot.
 */
export const lineOf = (...parts: readonly string[]): string =>
  parts.map((part) => foreignText(part, LONGEST_PART).replaceAll(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, '.')).join(' · ');

/** The line of a call: whose it is, and of which tool. */
export const callLine = ({ agent, tool }: { readonly agent: string; readonly tool: string }): string =>
  lineOf(agent, tool);
