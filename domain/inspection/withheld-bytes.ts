import type { EntitySpan } from '../../contracts/response-scan.js';
import { afterSpace, endOfString } from '../mcp/json-text.js';
import { membersOf } from '../mcp/reply.js';
import type { JsonString } from './json-strings.js';

/** Another text in place of a part. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** What stands in place of bytes. No words fit between them: a client refuses a whole answer whose base64 is none. */
const withheld = (type: string): string => JSON.stringify(`[REDACTED:${type}] The bytes that stood here are withheld.`);

/**
 * What is put in place of bytes (base64) that hold something: a block of text for an image or a sound, `text` for the `blob` of a resource. So the
 * answer stays one that its schema allows. `null` for a string that is no bytes of MCP, wherever else it is called `data` or `blob`.
 */
export function bytesWithheld(
  text: string,
  strings: readonly JsonString[],
  found: readonly { readonly span: EntitySpan; readonly string: JsonString | undefined }[],
): ReadonlyMap<JsonString, readonly Edit[]> {
  const types = new Map<JsonString, string>();
  for (const { span, string } of found)
    if (string?.role === 'value' && (string.key === 'data' || string.key === 'blob') && !types.has(string))
      types.set(string, span.entity_type);
  const edits = new Map<JsonString, readonly Edit[]>();
  if (types.size === 0) return edits;
  const blocks = objectsAround(text, new Set([...types.keys()].map(({ start }) => start)));
  for (const [at, string] of strings.entries()) {
    const type = types.get(string);
    const block = blocks.get(string.start);
    if (type === undefined || !block) continue;
    const members = membersOf(text.slice(block.start, block.end), 'last');
    const key = strings[at - 1];
    // In a list under such a name a string is no bytes.
    if (!members || key?.role !== 'key' || valueAfter(text, key) !== string.start - 1) continue;
    const kind = members.get('type') ?? '';
    if (string.key === 'data' && (kind === '"image"' || kind === '"audio"'))
      edits.set(string, [{ ...block, text: `{"type":"text","text":${withheld(type)}}` }]);
    if (string.key === 'blob' && members.has('uri'))
      edits.set(
        string,
        // A resource that has a text too keeps it, and no bytes beside it.
        members.has('text')
          ? [{ start: string.start, end: string.end, text: '' }]
          : [
              { start: key.start, end: key.end, text: 'text' },
              { start: string.start, end: string.end, text: withheld(type).slice(1, -1) },
            ],
      );
  }
  return edits;
}

/** A string that is shorter may be said to be bytes; nothing is lost by reading it. */
const SHORTEST_BYTES = 65;

/** The strings that are the bytes of an image, a sound or a resource. Linear. */
export function bytesIn(text: string, strings: readonly JsonString[]): ReadonlySet<JsonString> {
  const found = new Set<JsonString>();
  const asked: JsonString[] = [];
  for (const [at, string] of strings.entries()) {
    const key = strings[at - 1];
    if (string.role !== 'value' || (string.key !== 'data' && string.key !== 'blob')) continue;
    if (string.value.length < SHORTEST_BYTES || key?.role !== 'key' || valueAfter(text, key) !== string.start - 1)
      continue;
    asked.push(string);
  }
  if (asked.length === 0) return found;
  const blocks = objectsAround(text, new Set(asked.map(({ start }) => start)));
  const membersAt = new Map<number, ReturnType<typeof membersOf>>();
  for (const string of asked) {
    const block = blocks.get(string.start);
    if (!block) continue;
    const known = membersAt.get(block.start);
    const members = known === undefined ? membersOf(text.slice(block.start, block.end), 'last') : known;
    membersAt.set(block.start, members);
    const kind = members?.get('type') ?? '';
    const isBytes = string.key === 'data' ? kind === '"image"' || kind === '"audio"' : members?.has('uri');
    if (isBytes === true) found.add(string);
  }
  return found;
}

const valueAfter = (text: string, { end }: JsonString): number => afterSpace(text, afterSpace(text, end + 1) + 1);

/** The object around each of the strings that begin there. One pass, without recursion. */
function objectsAround(
  text: string,
  places: ReadonlySet<number>,
): ReadonlyMap<number, { readonly start: number; readonly end: number }> {
  const around = new Map<number, { readonly start: number; readonly end: number }>();
  const open: { readonly start: number; readonly strings: number[] }[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '{') open.push({ start: at, strings: [] });
    else if (character === '}') {
      const object = open.pop();
      for (const place of object?.strings ?? []) around.set(place, { start: object?.start ?? 0, end: at + 1 });
    } else if (character === '"') {
      if (places.has(at + 1)) open.at(-1)?.strings.push(at + 1);
      at = endOfString(text, at) - 1;
    }
  }
  return around;
}
