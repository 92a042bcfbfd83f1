import { sha256Hex } from '../crypto/digest.js';
import type { Decoy } from '../identity/decoys.js';
import { itemsOf, membersOf, objectText } from '../mcp/reply.js';
import type { Upstream } from '../upstream/upstream.js';

/**
 * The upstream with a tenant's decoys in its lists of tools (docs/architecture/decoys.md): on the last page of a list, each at a place of its own that stays
 * the same, and none whose name a tool on that page has. Put outside of what watches definitions, so that none is pinned.
 */
export function withDecoys<Shown extends Pick<Upstream, 'control'>>(
  upstream: Shown,
  advertised: (tenant: string) => readonly Decoy[],
): Shown {
  return {
    ...upstream,
    async control(caller, request, limits) {
      const reply = await upstream.control(caller, request, limits);
      if (request['method'] !== 'tools/list' || reply.kind !== 'reply' || reply.failed) return reply;
      const decoys = advertised(caller.tenant);
      return decoys.length === 0 ? reply : { ...reply, text: listWith(reply.text, decoys) };
    },
  };
}

function listWith(list: string, decoys: readonly Decoy[]): string {
  const message = membersOf(list);
  const result = membersOf(message?.get('result') ?? '');
  const tools = itemsOf(result?.get('tools') ?? '');
  if (!message || !result || !tools || (result.get('nextCursor') ?? 'null') !== 'null') return list;
  const names = new Set(tools.map((tool): unknown => JSON.parse(membersOf(tool)?.get('name') ?? 'null')));
  const shown = [...tools];
  for (const { id, name, description, schemaJson } of decoys) {
    if (names.has(name)) continue;
    const tool = { name, ...(description !== null && { description }), inputSchema: schemaOf(schemaJson) };
    shown.splice(Number.parseInt(sha256Hex(id).slice(0, 8), 16) % (shown.length + 1), 0, JSON.stringify(tool));
  }
  return objectText(new Map(message).set('result', objectText(new Map(result).set('tools', `[${shown.join(',')}]`))));
}

const schemaOf = (text: string | null): unknown =>
  text === null ? { type: 'object', properties: {} } : (JSON.parse(text) as unknown);
