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
  /** Called with the names of the tools themselves. */
  onListed: (tenant: string, tools: readonly string[]) => void = () => undefined,
): Shown {
  return {
    ...upstream,
    async control(caller, request, limits) {
      const reply = await upstream.control(caller, request, limits);
      if (request['method'] !== 'tools/list' || reply.kind !== 'reply' || reply.failed) return reply;
      const page = pageOf(reply.text);
      if (page === null) return reply;
      onListed(caller.tenant, [...page.names]);
      const decoys = advertised(caller.tenant);
      return decoys.length === 0 ? reply : { ...reply, text: listWith(reply.text, page, decoys) };
    },
  };
}

interface ListPage {
  readonly message: ReadonlyMap<string, string>;
  readonly result: ReadonlyMap<string, string>;
  readonly tools: readonly string[];
  readonly names: ReadonlySet<string>;
}

/** `null` for what is no list of tools. */
function pageOf(list: string): ListPage | null {
  const message = membersOf(list);
  const result = membersOf(message?.get('result') ?? '');
  const tools = itemsOf(result?.get('tools') ?? '');
  if (!message || !result || !tools) return null;
  const names = tools
    .map((tool): unknown => JSON.parse(membersOf(tool)?.get('name') ?? 'null'))
    .filter((name) => typeof name === 'string');
  return { message, result, tools, names: new Set(names) };
}

function listWith(list: string, { message, result, tools, names }: ListPage, decoys: readonly Decoy[]): string {
  if ((result.get('nextCursor') ?? 'null') !== 'null') return list;
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
