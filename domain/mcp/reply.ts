import type { Json } from '../../contracts/json.js';
import { afterSpace, endOfString, isSpace } from './json-text.js';

/** An upstream's answer under the caller's id: the original text of the result or error, and whether the tool reported a failure. */
export interface Reply {
  readonly text: string;
  readonly failed: boolean;
}

/** No tool's answer is nested so deep; one that is would overflow the stack of whoever reads it by recursion, as many agents' readers do. */
export const MAX_ANSWER_LEVELS = 512;

/**
 * The members of a JSON object, each with its original text. An upstream's text is passed on unchanged, because a parser would round 1e400,
 * 12345678901234567890 and 1.10. `null` for anything but an object, for duplicate members, which two readers read differently (with `last`
 * the last one counts, as most parsers have it), and for more than `MAX_ANSWER_LEVELS` levels.
 */
export function membersOf(text: string, ofTwo: 'refused' | 'last' = 'refused'): ReadonlyMap<string, string> | null {
  try {
    JSON.parse(text);
  } catch {
    return null;
  }
  let at = afterSpace(text, 0);
  if (text[at] !== '{') return null;
  const members = new Map<string, string>();
  for (at = afterSpace(text, at + 1); text[at] !== '}'; at = afterSpace(text, at)) {
    if (text[at] === ',') at = afterSpace(text, at + 1);
    const end = endOfValue(text, at);
    const name = JSON.parse(text.slice(at, end)) as string;
    at = afterSpace(text, afterSpace(text, end) + 1);
    const valueEnd = endOfValue(text, at);
    if (valueEnd === TOO_DEEP || (ofTwo === 'refused' && members.has(name))) return null;
    members.set(name, text.slice(at, valueEnd));
    at = valueEnd;
  }
  return members;
}

/** The items of a JSON array, each with its original text; `null` for anything else, and where one is nested too deep. The text must be valid JSON. */
export function itemsOf(text: string): readonly string[] | null {
  let at = afterSpace(text, 0);
  if (text[at] !== '[') return null;
  const items: string[] = [];
  for (at = afterSpace(text, at + 1); text[at] !== ']'; at = afterSpace(text, at)) {
    if (text[at] === ',') at = afterSpace(text, at + 1);
    const end = endOfValue(text, at);
    if (end === TOO_DEEP) return null;
    items.push(text.slice(at, end));
    at = end;
  }
  return items;
}

/**
 * The text without the members of this name, at every level, twice in one object, and however escapes spell it; everything else stays to the
 * last character. The text must be valid JSON.
 */
export function withoutMembers(text: string, name: string): string {
  const plain = JSON.stringify(name);
  if (!text.includes(plain) && !text.includes('\\')) return text;
  const parts: string[] = [];
  let from = 0;
  // What stands before a name: the brace of its object, or the comma after the member before it.
  let lead = 0;
  for (let at = 0; at < text.length; ) {
    if (text[at] !== '"') {
      if (text[at] === '{' || text[at] === ',') lead = at;
      at += 1;
      continue;
    }
    const end = endOfString(text, at);
    const colon = afterSpace(text, end);
    if (text[colon] !== ':' || !spells(text.slice(at, end), plain)) {
      at = end;
      continue;
    }
    const valueEnd = endOfValue(text, afterSpace(text, colon + 1), Number.POSITIVE_INFINITY);
    const next = afterSpace(text, valueEnd);
    const isFirst = text[lead] === '{';
    parts.push(text.slice(from, isFirst ? at : lead));
    from = isFirst && text[next] === ',' ? next + 1 : valueEnd;
    at = from;
  }
  return parts.join('') + text.slice(from);
}

/** Whether both texts of strings are the same string. No character takes more than the six of an escape. */
const spells = (text: string, plain: string): boolean =>
  text === plain ||
  (text.includes('\\') && text.length <= 6 * plain.length && JSON.stringify(JSON.parse(text)) === plain);

export const objectText = (members: Iterable<readonly [string, string]>): string =>
  `{${[...members].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`;

/**
 * Reads a message as the answer to request `id`: JSON-RPC 2.0, with a result or an error. A `null` beside the other one, as JSON-RPC 1.0
 * writes it, is ignored. `null` for anything else, and for a result with a member that stands twice: its reader could take another one for what it says.
 */
export function replyIn(message: ReadonlyMap<string, string>, id: string, callersId: Json | undefined): Reply | null {
  if (message.has('method') || !isText(message.get('jsonrpc'), '2.0') || !isText(message.get('id'), id)) return null;
  const result = present(message.get('result'));
  const error = present(message.get('error'));
  const head: [string, string][] = [
    ['jsonrpc', '"2.0"'],
    ['id', JSON.stringify(callersId ?? null)],
  ];
  if (result !== undefined && error === undefined) {
    const members = membersOf(result);
    return members && { text: objectText([...head, ['result', result]]), failed: saysItFailed(members) };
  }
  if (error !== undefined && result === undefined && isError(error))
    return { text: objectText([...head, ['error', error]]), failed: true };
  return null;
}

/** Whether a tool's result reports a failure itself. */
export const saysItFailed = (result: ReadonlyMap<string, string>): boolean => result.get('isError') === 'true';

/** The text of a member that exists and is not `null`. */
export const present = (text: string | undefined): string | undefined => (text === 'null' ? undefined : text);

const isText = (text: string | undefined, value: string): boolean =>
  text?.startsWith('"') === true && JSON.parse(text) === value;

function isError(text: string): boolean {
  const error = JSON.parse(text) as { code?: unknown; message?: unknown };
  return typeof error === 'object' && Number.isInteger(error.code) && typeof error.message === 'string';
}

const TOO_DEEP = -1;

/** The index after the value that begins at `from`, a member of an object; `TOO_DEEP`. The text must be valid JSON. */
function endOfValue(text: string, from: number, levels = MAX_ANSWER_LEVELS): number {
  let depth = 0;
  for (let at = from; ; ) {
    const character = text[at];
    if (character === '"') at = endOfString(text, at);
    else if (character === '{' || character === '[') {
      depth += 1;
      if (depth >= levels) return TOO_DEEP;
      at += 1;
      continue;
    } else if (character === '}' || character === ']') {
      depth -= 1;
      at += 1;
    } else if (depth > 0) {
      at += 1;
      continue;
    } else while (at < text.length && !isSpace(text.charCodeAt(at)) && !',}]'.includes(text[at] as string)) at += 1;
    if (depth === 0) return at;
  }
}
