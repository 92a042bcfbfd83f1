import { LRUCache } from 'lru-cache';

/** One input that blocks the event loop for longer is slow. An ordinary one takes about 1 ms. */
const SLOW_MS = 25;
/** So many slow inputs within the time below. The first of a process may be slow by itself, as may any one on a busy machine. */
const SLOW_INPUTS = 2;
const REMEMBERED_MS = 5_000;
const REMEMBERED_AGENTS = 1_000;

/** Agents whose recent inputs blocked the event loop for long: their next ones are judged in a thread. */
export interface SlowAgents {
  has(agent: string): boolean;
  /** An input of this agent has blocked the event loop for so many ms. */
  took(agent: string, ms: number): void;
}

/**
 * Remembers a bounded number of agents, each for some seconds after its last slow input. After that, one is judged in place again, so that
 * an agent whose inputs have become quick is not kept waiting.
 */
export function createSlowAgents({ slowMs = SLOW_MS, rememberedMs = REMEMBERED_MS } = {}): SlowAgents {
  const inputs = new LRUCache<string, number>({ max: REMEMBERED_AGENTS, ttl: rememberedMs });
  return {
    has: (agent) => (inputs.get(agent) ?? 0) >= SLOW_INPUTS,
    took(agent, ms) {
      if (ms > slowMs) inputs.set(agent, (inputs.get(agent) ?? 0) + 1);
    },
  };
}
