import type { Json } from '../../contracts/json.js';
import type { ValueKind } from '../../contracts/policy.js';
import { unpacked } from '../packed-text.js';
import { ADDRESS_KINDS, type Heard, numberValue, valuesInText, valuesOfArgument } from './values.js';

/** A value in its normal form, and where it stands (JSON Pointer, RFC 6901). */
export interface ReadValue {
  readonly kind: ValueKind;
  readonly form: string;
  readonly pointer: string;
}

/** What was read of an answer, and whether it held more than is kept of one. */
export interface ReadValues {
  readonly values: readonly ReadValue[];
  /** Some of its addresses were left out. */
  readonly lostAddresses: boolean;
  /** Some of its names and texts were left out. */
  readonly lostNames: boolean;
}

/** Of one answer: characters that are read, addresses and words that are kept. */
export const ANSWER_LIMITS = { characters: 1_048_576, addresses: 4_096, phrases: 16_384 } as const;
/** One that is longer does not say where a value stands: what follows was left out. */
export const LONGEST_POINTER = 256;

const stepIn = (pointer: string, name: string | number): string =>
  pointer.length > LONGEST_POINTER
    ? pointer
    : `${pointer}/${String(name).slice(0, LONGEST_POINTER).replaceAll('~', '~0').replaceAll('/', '~1')}`;

/** Visits all texts and numbers of a value, also those in a text that is JSON. Not recursive; linear. */
function eachLeaf(
  root: unknown,
  text: (text: string, pointer: string) => void,
  number: (value: number, pointer: string) => void,
): void {
  const open: { readonly value: unknown; readonly pointer: string }[] = [{ value: root, pointer: '' }];
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    const { value, pointer } = part;
    if (typeof value === 'string') {
      const inside = unpacked(value);
      if (inside?.isJson !== true) text(value, pointer);
      for (const document of inside?.documents.toReversed() ?? []) open.push({ value: document, pointer });
    } else if (typeof value === 'number') number(value, pointer);
    else if (Array.isArray(value)) {
      for (let at = value.length - 1; at >= 0; at -= 1)
        open.push({ value: value[at] as unknown, pointer: stepIn(pointer, at) });
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, inner] of Object.entries(value).toReversed()) {
        const here = stepIn(pointer, name);
        open.push({ value: inner, pointer: here });
        text(name, here);
      }
    }
  }
}

/** The values of an answer as its agent gets it, each at the first place where it stands. */
export function valuesOfAnswer(released: string): ReadValues {
  const values: ReadValue[] = [];
  const seen = new Set<string>();
  let characters = 0;
  let addresses = 0;
  let phrases = 0;
  let lostAddresses = false;
  let lostNames = false;
  let pointer = '';
  const heard: Heard = (kind, form) => {
    const key = `${kind}\0${form}`;
    if (seen.has(key)) return;
    if (ADDRESS_KINDS.has(kind)) {
      if (addresses === ANSWER_LIMITS.addresses) return void (lostAddresses = true);
      addresses += 1;
    } else {
      if (phrases === ANSWER_LIMITS.phrases) return void (lostNames = true);
      phrases += 1;
    }
    seen.add(key);
    values.push({ kind, form, pointer });
  };
  eachLeaf(
    parsed(released),
    (text, at) => {
      pointer = at;
      const left = ANSWER_LIMITS.characters - characters;
      characters += text.length;
      if (text.length > left) {
        lostAddresses = true;
        lostNames = true;
      }
      if (left > 0) valuesInText(text.slice(0, left), heard, () => !lostNames);
    },
    (value, at) => {
      pointer = at;
      numberValue(value, heard);
    },
  );
  return { values, lostAddresses, lostNames };
}

/** Of one call's arguments: characters that are read, and addresses. */
const ARGUMENT_LIMITS = { characters: 1_048_576, addresses: 2_048 } as const;

/** The values of one call's arguments; `more` where they hold more than is read. */
export function valuesOfArguments(args: Json): { readonly values: readonly ReadValue[]; readonly more: boolean } {
  const values: ReadValue[] = [];
  let characters = 0;
  let addresses = 0;
  let pointer = '';
  const heard: Heard = (kind, form) => {
    if (ADDRESS_KINDS.has(kind)) addresses += 1;
    if (addresses <= ARGUMENT_LIMITS.addresses) values.push({ kind, form, pointer });
  };
  eachLeaf(
    args,
    (text, at) => {
      pointer = at;
      characters += text.length;
      if (characters <= ARGUMENT_LIMITS.characters) valuesOfArgument(text, heard);
    },
    (value, at) => {
      pointer = at;
      numberValue(value, heard);
    },
  );
  return { values, more: characters > ARGUMENT_LIMITS.characters || addresses > ARGUMENT_LIMITS.addresses };
}

function parsed(text: string): unknown {
  try {
    const message = JSON.parse(text) as unknown;
    // The request's own id is the caller's.
    return typeof message === 'object' && message !== null && 'jsonrpc' in message
      ? { ...message, id: null, jsonrpc: null }
      : message;
  } catch {
    return text;
  }
}
