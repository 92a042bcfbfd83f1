import { LRUCache } from 'lru-cache';
import type { JsonObject } from '../../contracts/json.js';
import { type MirroredParam, mirroredParams } from '../mcp/param-headers.js';
import type { PinOwner, ToolPinStore } from './ports.js';

/** Which parameters of a tool its calls repeat in headers, by what its agent was last told of it; none where it was told nothing. */
export interface ToolParams {
  of(owner: PinOwner, tool: string): Promise<readonly MirroredParam[]>;
  /** Its agent has just been given a list. */
  listed(owner: PinOwner): void;
}

/** How long what an agent was told serves its calls. */
const READ_FOR_MS = 1_000;
const AGENTS_KEPT = 1_000;
const DEFINITIONS_KEPT = 5_000;
const NONE: readonly MirroredParam[] = [];

/** Over the definitions that are kept of the lists that agents saw (docs/architecture/requests-and-answers.md#tool-definitions). */
export function toolParams(pins: Pick<ToolPinStore, 'seen' | 'texts'>): ToolParams {
  const seen = new LRUCache<string, Promise<ReadonlyMap<string, string>>>({ max: AGENTS_KEPT, ttl: READ_FOR_MS });
  const read = new LRUCache<string, readonly MirroredParam[]>({ max: DEFINITIONS_KEPT });

  const keyOf = ({ tenant, agent }: PinOwner) => JSON.stringify([tenant, agent]);
  function seenBy(owner: PinOwner): Promise<ReadonlyMap<string, string>> {
    const key = keyOf(owner);
    const known = seen.get(key);
    if (known) return known;
    const asking = pins.seen(owner);
    seen.set(key, asking);
    asking.catch(() => seen.peek(key) === asking && seen.delete(key));
    return asking;
  }

  return {
    listed: (owner) => void seen.delete(keyOf(owner)),
    async of(owner, tool) {
      const sha256 = (await seenBy(owner)).get(tool);
      if (sha256 === undefined) return NONE;
      const known = read.get(sha256);
      if (known) return known;
      const text = (await pins.texts(owner.tenant, [sha256])).get(sha256);
      if (text === undefined) return NONE;
      // A definition that marks what may not be marked marks nothing: its clients leave the tool out of their lists.
      const params = mirroredParams((JSON.parse(text) as JsonObject)['inputSchema']) ?? NONE;
      read.set(sha256, params);
      return params;
    },
  };
}
