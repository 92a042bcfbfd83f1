import { detectInjection } from './injection.js';
import { inspectTexts } from './texts.js';
import type { JsonString } from './json-strings.js';
import { isSecret, sensitiveDataIn } from '../masking/sensitive-data.js';

/** How much of what was said before, and of what is said now, is read together. No phrase that the rules know is longer. */
const REACH = 2_048;
/** Strings of one key are one text, and all of a message are. Of so many keys the last ones are kept. */
const MOST_KEYS = 16;
const ALL = Symbol('every key');
type Key = string | typeof ALL;

/** What was handed on under one key, up to now: its end. */
interface Said {
  /** As who reads message by message has it, and as who puts them together. */
  readonly spaced: string;
  readonly glued: string;
}

/** The messages of a stream where they meet. What is kept of a stream is bounded, however long it is. */
export interface Edges {
  /** The rules that find something in what was said before together with this message, and not in the message alone. */
  across(strings: readonly JsonString[]): readonly string[];
  /** The message was handed on. */
  add(strings: readonly JsonString[]): void;
}

/**
 * Watches the edges between the messages of one stream: half an instruction instructs nobody, and so does half a key, but whoever reads one
 * message after the other has the whole.
 */
export function edgesOf({ data }: { readonly data: boolean }): Edges {
  const said = new Map<Key, Said>();
  return {
    across(strings) {
      const found = new Set<string>();
      for (const [key, now] of byKey(strings)) {
        const before = said.get(key);
        if (!before) continue;
        const spaced = now.spaced.slice(0, REACH);
        const glued = now.glued.slice(0, REACH);
        for (const text of [`${before.spaced} ${spaced}`, before.glued + glued])
          for (const rule of instructionsIn([text])) found.add(rule);
        if (!data) continue;
        for (const { type, start, end } of sensitiveDataIn(before.glued + glued))
          if (isSecret(type) && start < before.glued.length && end > before.glued.length) found.add(type);
      }
      return [...found];
    },
    add(strings) {
      for (const [key, now] of byKey(strings)) {
        const before = said.get(key);
        said.delete(key);
        said.set(key, {
          spaced: endOf(before ? `${before.spaced} ${now.spaced}` : now.spaced),
          glued: endOf((before?.glued ?? '') + now.glued),
        });
      }
      for (const key of said.keys()) if (said.size > MOST_KEYS && key !== ALL) said.delete(key);
    },
  };
}

/** What instructs a model in these texts, which belong together. */
export function instructionsIn(texts: readonly string[]): readonly string[] {
  const { detected, found } = detectInjection('', inspectTexts({ texts: [...texts] }, 'standard'));
  return detected ? found : [];
}

const endOf = (text: string): string => text.slice(-REACH);

function byKey(strings: readonly JsonString[]): ReadonlyMap<Key, Said> {
  const texts = new Map<Key, string[]>();
  for (const { role, key: name, value } of strings) {
    if (role !== 'value') continue;
    for (const key of [name, ALL] as const) {
      const known = texts.get(key);
      if (known) known.push(value);
      else texts.set(key, [value]);
    }
  }
  return new Map([...texts].map(([key, values]) => [key, { spaced: values.join(' '), glued: values.join('') }]));
}
