import type { Json } from '../../contracts/json.js';
import { eachText } from '../argument-texts.js';
import { rot13 } from '../inspection/ciphers.js';
import { inspectTexts } from '../inspection/texts.js';
import { plainReading } from '../plain-name.js';
import { skeletonsOf } from '../skeleton.js';
import type { Decoy } from './decoys.js';

/** The letters and digits of a text alone, in one alphabet and one case: `DE89 3704` is `de893704`. */
export const comparable = (text: string): string => skeletonsOf([text]).glued;

/** A tool's name as whoever decodes it reads it, in one case. */
const comparableName = (name: string): string => plainReading(name).toLowerCase();

export interface DecoySet {
  /** The one that a call of these tools with these parameters touches, or `null`. A tool comes before a value. */
  touched(tools: readonly string[], params: unknown): Decoy | null;
  /** Those that `tools/list` shows, by their names. */
  readonly advertised: readonly Decoy[];
}

export const NO_DECOYS: DecoySet = { touched: () => null, advertised: [] };

/**
 * Looks for decoys in calls: a tool under any spelling of its name, a value anywhere in the parameters, as a number, split over several texts, in JSON or
 * code in a text, with escapes, other letters or other separators. Where no value is looked for, only names are.
 */
export function decoySetOf(decoys: readonly Decoy[]): DecoySet {
  const tools = new Map(decoys.filter(({ kind }) => kind === 'tool').map((one) => [comparableName(one.name), one]));
  const values = decoys.flatMap((one) => (one.value === null ? [] : [{ one, sought: writingsOf(one.value) }]));
  return {
    touched(called, params) {
      if (tools.size > 0)
        for (const name of called) {
          const found = tools.get(comparableName(name));
          if (found) return found;
        }
      if (values.length === 0) return null;
      const said = skeletonsOf(textsOf(params)).glued;
      return values.find(({ sought }) => sought.some((writing) => said.includes(writing)))?.one ?? null;
    },
    advertised: decoys
      .filter(({ isAdvertised, kind }) => isAdvertised && kind === 'tool')
      .toSorted((one, other) => (one.name < other.name ? -1 : 1)),
  };
}

/** A shorter part of what is written in base64 stands in too much else. */
const LEAST_OF_BASE64 = 8;

/**
 * A value as it is looked for: itself, backwards, in ROT13, in hex, and in base64 wherever in the bytes that were encoded it begins. Longer runs of both are decoded besides; this
 * is for the short ones, which say nothing to whoever does not know what he looks for.
 */
function writingsOf(value: string): readonly string[] {
  const bytes = Buffer.from(value, 'utf8');
  const inBase64 = [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    // The first characters hold bits of what stands before, the last ones of what comes behind.
    const whole = Math.floor(((before + bytes.length) * 8) / 6);
    return comparable(encoded.slice(Math.ceil((before * 8) / 6), whole));
  });
  const plain = comparable(value);
  const backwards = Array.from(plain).reverse().join('');
  return [
    plain,
    backwards,
    rot13(plain),
    bytes.toString('hex'),
    ...inBase64.filter((writing) => writing.length >= LEAST_OF_BASE64),
  ];
}

/** Every reading of every text and number of the parameters, in their order. */
function textsOf(params: unknown): readonly string[] {
  const said = (params ?? null) as Json;
  const texts = inspectTexts({ said }, 'strict').texts.map(({ text }) => text);
  // What only lenient readers take for JSON, and lists whose items a tool may join.
  eachText(said, {
    text: (text) => void texts.push(text),
    list: (items) => void texts.push(items.join('')),
  });
  return [...texts, ...numbersIn(said)];
}

function numbersIn(value: Json): readonly string[] {
  const found: string[] = [];
  const open: Json[] = [value];
  while (open.length > 0) {
    const here = open.pop() as Json;
    if (typeof here === 'number') found.push(String(here));
    else if (typeof here === 'object' && here !== null) {
      if (Array.isArray(here) && here.every((item) => typeof item === 'number')) found.push(here.join(''));
      // One after the other: a list has more items than a function takes arguments.
      for (const item of Object.values(here)) open.push(item as Json);
    }
  }
  return found;
}
