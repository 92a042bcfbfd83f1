import { LRUCache } from 'lru-cache';
import type { UpstreamCaller } from '../domain/upstream/upstream.js';
import type { Introduction } from './mcp-handshake.js';

/** A session with an MCP server. A server without sessions gives no id. */
export interface UpstreamSession extends Introduction {
  readonly id: string | null;
  /** Calls are sent in the revision without sessions (MCP 2026-07-28), where the server can ask the client something. */
  readonly stateless?: true;
}

/** Holds the sessions with an upstream, one per agent. */
export interface UpstreamSessions {
  /** The agent's session; opened once, however many calls ask for it at the same time. */
  of(caller: UpstreamCaller, open: () => Promise<UpstreamSession>): Promise<UpstreamSession>;
  /** Drops the session: the agent's next request opens a new one, unless another exists already. */
  drop(caller: UpstreamCaller, session: UpstreamSession): Promise<void>;
  /** Those that end with this process. */
  own(): Promise<UpstreamSession[]>;
}

export const agentKey = ({ tenant, agent, client_can: can = [] }: UpstreamCaller): string =>
  `${tenant}/${agent}${can.length > 0 ? `#${can.join('+')}` : ''}`;

/** Sessions of one process, for compositions in which only one process talks to the upstream. */
export function sessionsInMemory(max = 1_000): UpstreamSessions {
  const sessions = new LRUCache<string, Promise<UpstreamSession>>({ max });
  return {
    of(caller, open) {
      const key = agentKey(caller);
      const known = sessions.get(key);
      if (known) return known;
      const opened = open();
      sessions.set(key, opened);
      opened.catch(() => {
        if (sessions.peek(key) === opened) sessions.delete(key);
      });
      return opened;
    },
    async drop(caller, session) {
      const key = agentKey(caller);
      const kept = sessions.peek(key);
      if (kept && (await kept.catch(() => null)) === session && sessions.peek(key) === kept) sessions.delete(key);
    },
    async own() {
      const settled = await Promise.allSettled(sessions.values());
      return settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    },
  };
}
