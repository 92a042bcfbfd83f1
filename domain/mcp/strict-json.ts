import type { Json } from '../../contracts/json.js';
import { foreignText } from '../text.js';
import { endOfString } from './json-text.js';

/** Why a text is not strict JSON; its message is for the caller. */
export class StrictJsonError extends Error {}

const MAX_DEPTH = 64;

/**
 * Parses JSON so that what is judged is what runs (docs/architecture/requests-and-answers.md#strict-json). In addition to RFC 8259 it
 * refuses what two parsers may read differently (RFC 8785, RFC 7493): duplicate keys, integers that a double cannot hold, U+0000, lone
 * surrogates, and more than 64 levels. It also refuses the key `__proto__`, and `prototype` inside `constructor`: programs may treat them
 * as more than data, so one step could drop what the next step keeps, and something unjudged would run. Throws StrictJsonError.
 */
export function parseStrictJson(text: string, maxDepth = MAX_DEPTH): Json {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    throw new StrictJsonError('not JSON');
  }
  scan(text, maxDepth, STRICT);
  return value;
}

/**
 * Parses JSON that one service of Gate wrote for another, which may hold what a tool answered: U+0000, lone surrogates, integers that were
 * rounded before, any depth. Whatever else strict JSON refuses is refused, so that the bytes say one thing to every parser. Throws
 * StrictJsonError.
 */
export function parseServiceJson(text: string): Json {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    throw new StrictJsonError('not JSON');
  }
  scan(text, Number.POSITIVE_INFINITY, ONE_READING);
  return value;
}

/**
 * Parses JSON in which no member stands twice, whatever else stands in it: evidence that somebody keeps says one thing to every parser, and
 * to whoever reads it. Throws SyntaxError where it is no JSON, StrictJsonError where one does.
 */
export function parseJsonOnce(text: string): Json {
  const value = JSON.parse(text) as Json;
  scan(text, Number.POSITIVE_INFINITY, ONCE);
  return value;
}

const QUOTE = 0x22;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const COLON = 0x3a;
const COMMA = 0x2c;
const MINUS = 0x2d;

/** What is refused beside members that stand twice. */
interface Rules {
  /** Keys that programs may treat as more than data, and numbers beyond a double. */
  readonly data: boolean;
  /** Integers that a double rounds, and strings that are no text. */
  readonly exact: boolean;
}
const STRICT: Rules = { data: true, exact: true };
const ONE_READING: Rules = { data: true, exact: false };
const ONCE: Rules = { data: false, exact: false };

/** One pass over text that JSON.parse accepted; only what parsing loses has to be checked. */
function scan(text: string, maxDepth: number, { data, exact }: Rules): void {
  // Keys of the open objects, and the key that each object is under; `null` for an open array.
  const open: ({ readonly keys: Set<string>; readonly under: string | null } | null)[] = [];
  let expectsKey = false;
  // The key whose value comes next; values of an array have none.
  let lastKey: string | null = null;
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfString(text, at);
      const object = open.at(-1);
      if (!exact && !(expectsKey && object)) {
        // Of a value nothing has to be known.
        at = end;
        continue;
      }
      const content = decodeString(text, at, end);
      if (exact) assertText(content);
      if (expectsKey && object) {
        if (object.keys.has(content))
          throw new StrictJsonError(`duplicate key ${JSON.stringify(foreignText(content, 64))}`);
        if (data && (content === '__proto__' || (content === 'prototype' && object.under === 'constructor')))
          throw new StrictJsonError(`the key ${JSON.stringify(content)} is not taken, at any depth`);
        object.keys.add(content);
        expectsKey = false;
        lastKey = content;
      }
      at = end;
      continue;
    }
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (open.length >= maxDepth) throw new StrictJsonError(`more than ${maxDepth} levels deep`);
      open.push(code === OPEN_BRACE ? { keys: new Set(), under: lastKey } : null);
      expectsKey = code === OPEN_BRACE;
      lastKey = null;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      open.pop();
      expectsKey = false;
    } else if (code === COMMA) {
      expectsKey = open.at(-1) != null;
      lastKey = null;
    } else if (code === MINUS || (code >= 0x30 && code <= 0x39)) {
      if (data) {
        at = checkNumber(text, at, exact);
        continue;
      }
    } else if (code === COLON) {
      expectsKey = false;
    }
    at += 1;
  }
}

function decodeString(text: string, start: number, end: number): string {
  const raw = text.slice(start + 1, end - 1);
  return raw.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : raw;
}

function assertText(content: string): void {
  if (content.includes('\u0000')) throw new StrictJsonError('U+0000 in a string');
  if (!content.isWellFormed()) throw new StrictJsonError('a lone surrogate in a string');
}

const NUMBER = /-?\d+(\.\d+)?([eE][+-]?\d+)?/y;

function checkNumber(text: string, start: number, exact: boolean): number {
  NUMBER.lastIndex = start;
  const [literal = '', fraction, exponent] = NUMBER.exec(text) ?? [];
  const value = Number(literal);
  if (!Number.isFinite(value)) throw new StrictJsonError(`number ${literal.slice(0, 32)} is out of range`);
  if (
    exact &&
    (fraction === undefined && exponent === undefined
      ? !Number.isSafeInteger(value)
      : Number.isInteger(value) && !Number.isSafeInteger(value))
  ) {
    throw new StrictJsonError(`integer ${literal.slice(0, 32)} is not exact in a double`);
  }
  return start + Math.max(1, literal.length);
}
