import { afterSpace, endOfString } from '../mcp/json-text.js';

/** A string of a JSON text: what it says, and where its characters stand, without the quotes (UTF-16 units). */
export interface JsonString {
  readonly start: number;
  readonly end: number;
  readonly value: string;
  readonly role: 'key' | 'value';
  /** The nearest key above a value. */
  readonly key: string;
}

/** What a model reads one after the other: the parts of an answer, without what stands between them. */
export const isPart = ({ role, key }: JsonString): boolean => role === 'value' && key === 'text';

export interface ReadAs {
  /** The text is a JSON-RPC reply to which Gate put the id of its caller. In any other text whoever wrote it wrote its `id` too. */
  readonly isReply?: boolean | undefined;
}

/**
 * Every string of an answer, keys included and twice in one object too, with its place. A text that is no JSON is one string. Linear; not
 * recursive, so that a deep answer cannot overflow the stack. The id of Gate's own reply is left out.
 */
export function stringsOf(text: string, { isReply = false }: ReadAs = {}): readonly JsonString[] {
  if (!isJson(text)) return [{ start: 0, end: text.length, value: text, role: 'value', key: '' }];
  const found: JsonString[] = [];
  /** The key in force, for each container that is open. */
  const keys: string[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '{' || character === '[') keys.push(keys.at(-1) ?? '');
    else if (character === '}' || character === ']') keys.pop();
    if (character !== '"') continue;
    const end = endOfString(text, at);
    const raw = text.slice(at + 1, end - 1);
    const value = raw.includes('\\') ? (JSON.parse(text.slice(at, end)) as string) : raw;
    const role = text[afterSpace(text, end)] === ':' ? 'key' : 'value';
    const key = keys.at(-1) ?? '';
    if (role === 'key') keys[keys.length - 1] = value;
    const isCallers = isReply && role === 'value' && keys.length === 1 && key === 'id';
    if (raw !== '' && !isCallers) found.push({ start: at + 1, end: end - 1, value, role, key });
    at = end - 1;
  }
  return found;
}

/** A number of a JSON text, as it is written, and where it stands. */
export interface JsonNumber {
  readonly start: number;
  readonly end: number;
  readonly value: string;
}
const NUMBER_BEGINS = /[-0-9]/;
const OF_NUMBER = /[-+.0-9eE]/;

/** Every number of a text that is JSON and was read into these strings, but not the id of Gate's own reply. Linear. */
export function numbersOf(
  text: string,
  strings: readonly JsonString[],
  { isReply = false }: ReadAs = {},
): readonly JsonNumber[] {
  const [first] = strings;
  if (first && first.start === 0) return [];
  const found: JsonNumber[] = [];
  let depth = 0;
  let key = '';
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] as string;
    if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') depth -= 1;
    else if (character === '"') {
      const end = endOfString(text, at);
      if (depth === 1 && text[afterSpace(text, end)] === ':') key = text.slice(at + 1, end - 1);
      at = end - 1;
    } else if (NUMBER_BEGINS.test(character)) {
      let end = at;
      while (end < text.length && OF_NUMBER.test(text[end] as string)) end += 1;
      if (!(isReply && depth === 1 && key === 'id')) found.push({ start: at, end, value: text.slice(at, end) });
      at = end - 1;
    }
  }
  return found;
}

/** Where each unit of a string's value stands in its text; the last one is the end. */
export function placesOf(text: string, { start, end, value }: JsonString): (index: number) => number {
  if (end - start === value.length) return (index) => start + index;
  const places = new Uint32Array(value.length + 1);
  let at = start;
  for (let index = 0; index < value.length; index += 1) {
    places[index] = at;
    at += text[at] !== '\\' ? 1 : text[at + 1] === 'u' ? 6 : 2;
  }
  places[value.length] = end;
  return (index) => places[index] as number;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
