import { LRUCache } from 'lru-cache';
import { LONGEST_URI, MOST_PER_AGENT } from '../domain/mcp/held-subscriptions.js';
import type { UpstreamCaller } from '../domain/upstream/upstream.js';
import { agentKey, type UpstreamSession } from './upstream-sessions.js';

/** The resources that agents subscribed to, each with the upstream session over which the upstream was asked for it last. */
export interface KeptSubscriptions {
  keep(caller: UpstreamCaller, uri: string, over: UpstreamSession): void;
  /** These are what the agent wants, as somebody says who knows better; the order is theirs. */
  know(caller: UpstreamCaller, uris: readonly string[]): void;
  drop(caller: UpstreamCaller, uri: string): void;
  has(caller: UpstreamCaller, uri: string): boolean;
  /** Those of the agent that the upstream was not asked for over this session, in the order in which they were asked for. */
  notOver(caller: UpstreamCaller, session: UpstreamSession): string[];
}

const MOST_AGENTS = 1_000;
/** Of all agents together; the subscriptions of the agent that used its own least recently are forgotten first. */
export const MOST_CHARACTERS = 8_000_000;

/**
 * In the memory of one process. Longer addresses, and those of an agent beyond `MOST_PER_AGENT`, are not kept: a session that is opened anew
 * begins with at most so many requests. Of an agent with more the oldest is forgotten: it ends with its session, as each did before.
 */
export function keptSubscriptions(): KeptSubscriptions {
  const kept = new LRUCache<string, ReadonlyMap<string, UpstreamSession | null>>({
    max: MOST_AGENTS,
    maxSize: MOST_CHARACTERS,
    sizeCalculation: (of) => [...of.keys()].reduce((sum, uri) => sum + uri.length, 1),
  });
  // Every process that takes a session from the store has an object of its own for it.
  const isSame = (one: UpstreamSession | null, other: UpstreamSession) =>
    one === other || (one !== null && one.id !== null && one.id === other.id);
  return {
    keep(caller, uri, over) {
      if (uri.length > LONGEST_URI) return;
      const key = agentKey(caller);
      const of = new Map(kept.get(key));
      const [oldest] = of.keys();
      if (oldest !== undefined && of.size >= MOST_PER_AGENT && !of.has(uri)) of.delete(oldest);
      kept.set(key, of.set(uri, over));
    },
    know(caller, uris) {
      const key = agentKey(caller);
      const before = kept.get(key);
      const wanted = uris.filter(({ length }) => length <= LONGEST_URI).slice(-MOST_PER_AGENT);
      if (wanted.length === 0) kept.delete(key);
      else kept.set(key, new Map(wanted.map((uri) => [uri, before?.get(uri) ?? null])));
    },
    drop(caller, uri) {
      const key = agentKey(caller);
      const of = new Map(kept.get(key));
      if (!of.delete(uri)) return;
      if (of.size > 0) kept.set(key, of);
      else kept.delete(key);
    },
    has: (caller, uri) => kept.get(agentKey(caller))?.has(uri) === true,
    notOver: (caller, session) =>
      [...(kept.get(agentKey(caller)) ?? [])].flatMap(([uri, over]) => (isSame(over, session) ? [] : [uri])),
  };
}
