import { LRUCache } from 'lru-cache';
import type { VerdictEvidence } from '../call/record.js';
import { READ_METHODS } from '../mcp/read-methods.js';
import type { Upstream, UpstreamCaller } from '../upstream/upstream.js';
import { foreignText } from '../text.js';
import { heldBack, toolPageOf } from './definitions.js';
import { type ToolWatchOptions, watchToolDefinitions } from './watch.js';

/** Says which tools nobody may call now, whatever the verdict: their definitions wait for an operator. */
export interface Quarantine {
  /** Why the first of these tools that is held may not be called by this agent; `null` when none is. */
  held(caller: UpstreamCaller, tools: readonly string[]): Promise<string | null>;
}

/** Where definitions are not quarantined. */
export const noQuarantine: Quarantine = { held: () => Promise.resolve(null) };

/** The tools whose definitions a call rests on: each of a batch. What reads a resource or a prompt rests on none. */
export const definedToolsOf = ({
  call,
  sibling_tools: siblings,
}: Pick<VerdictEvidence, 'call' | 'sibling_tools'>): readonly string[] =>
  siblings ?? (READ_METHODS.has(call.method) ? [] : [call.tool]);

/** A call waits for its upstream's list no longer than this. */
const LIST_LIMIT_MS = 1_500;
/** How long a list serves the calls of its agent. */
const LISTED_FOR_MS = 30_000;
const AGENTS_KEPT = 1_000;
const MAX_PAGES = 100;

/**
 * The quarantine over what the upstream lists now: asked for once in 30 s for each agent that calls, and watched like the lists that agents ask
 * for themselves. So a tool that changed after an agent's last list is held, and so is one of an agent that never asked for a list. Where no
 * list comes, the agent's last one counts; of an agent without one, every tool is held.
 */
export function createQuarantine(
  upstream: Pick<Upstream, 'control'>,
  options: Omit<ToolWatchOptions, 'block' | 'quarantine' | 'responsePolicy'>,
): Quarantine {
  const { pins, onFault } = options;
  const watched = watchToolDefinitions(upstream, { ...options, block: false, quarantine: true, responsePolicy: null });
  const lately = new LRUCache<string, Promise<void>>({ max: AGENTS_KEPT, ttl: LISTED_FOR_MS });

  /** Has the upstream's list watched. A list that did not come is asked for again with the next call. */
  function listed(caller: UpstreamCaller): Promise<void> {
    const agent = JSON.stringify([caller.tenant, caller.agent]);
    const known = lately.get(agent);
    if (known) return known;
    const asking = list(caller).catch((error: unknown) => {
      lately.delete(agent);
      onFault(error);
    });
    lately.set(agent, asking);
    return asking;
  }

  async function list(caller: UpstreamCaller): Promise<void> {
    const untilMs = Date.now() + LIST_LIMIT_MS;
    let cursor: string | null = null;
    for (let pages = 0; pages < MAX_PAGES; pages += 1) {
      const params = cursor === null ? {} : { cursor };
      const request = { jsonrpc: '2.0', id: `quarantine-${pages}`, method: 'tools/list', params };
      const reply = await watched.control(caller, request, { timeoutMs: Math.max(1, untilMs - Date.now()) });
      const page = reply.kind === 'reply' ? toolPageOf(reply.text) : null;
      if (!page) throw new Error('the upstream does not list its tools to Gate');
      cursor = page.nextCursor;
      if (cursor === null) return;
    }
  }

  return {
    async held(caller, tools) {
      if (tools.length === 0) return null;
      await listed(caller);
      const [seen, pinned] = await Promise.all([pins.seen(caller), pins.read(caller)]);
      for (const tool of tools) {
        const told = seen.get(tool);
        const why =
          seen.size === 0
            ? 'Gate has seen no list of its upstream that has it'
            : // Otherwise an upstream lets a tool out by leaving it out of one list.
              told === undefined
              ? 'the last list of its upstream does not have it'
              : heldBack(pinned, tool, told);
        if (why !== null) return `the tool ${foreignText(tool, 200)} is in quarantine: ${why}`;
      }
      return null;
    },
  };
}
