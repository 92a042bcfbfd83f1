import { detectInjection } from '../inspection/injection.js';
import type { Detection } from '../inspection/lanes.js';
import { type HeuristicLevel, inspectTexts } from '../inspection/texts.js';
import { isPart, type JsonString } from './json-strings.js';

/** A string that instructs a model, alone or together with its neighbours, and how certain that is. */
export interface InjectedText {
  readonly string: JsonString;
  readonly confidence: number;
}
export interface InjectedTexts {
  readonly texts: readonly InjectedText[];
  /** Names of the rules that found something. */
  readonly found: readonly string[];
  /** Something was found that no string, or no short row of them, accounts for. */
  readonly elsewhere: boolean;
  readonly confidence: number;
}

/** No phrase that the detector knows is shorter. */
const SHORTEST_PHRASE = 8;
/** Instructions that are spread over several strings are looked for this often. */
const MAX_ROWS = 8;
const MAX_BASE64 = 2_000_000;

/**
 * Strings that instruct a model. First each by itself; then what is left is read as one text, whole and as a model reads its parts, and the
 * shortest row of strings that makes it one is found by halving: at most a fixed number of readings of the whole.
 */
export function injectedTexts(strings: readonly JsonString[], level: HeuristicLevel): InjectedTexts {
  const reads = (some: readonly JsonString[]): Detection =>
    detectInjection('', inspectTexts({ texts: some.map(readAs) }, level));
  const parts = strings.filter(isPart);
  const wholes = [reads(strings), ...(parts.length > 1 ? [reads(parts)] : [])];
  if (!wholes.some(({ detected }) => detected)) return { texts: [], found: [], elsewhere: false, confidence: 0 };

  const texts: InjectedText[] = [];
  const found = new Set(wholes.flatMap((whole) => whole.found));
  const left = new Set(strings);
  const take = (string: JsonString, confidence: number): void => {
    texts.push({ string, confidence });
    left.delete(string);
  };
  for (const string of strings) {
    if (readAs(string).length < SHORTEST_PHRASE) continue;
    const alone = reads([string]);
    if (!alone.detected) continue;
    for (const rule of alone.found) found.add(rule);
    take(string, alone.confidence);
  }
  let elsewhere = false;
  for (const isRead of [() => true, isPart]) {
    let rest = [...left].filter(isRead);
    let remaining = reads(rest);
    for (let rows = 0; remaining.detected && rows < MAX_ROWS; rows += 1) {
      for (const string of shortestRow(rest, (some) => reads(some).detected)) take(string, remaining.confidence);
      rest = [...left].filter(isRead);
      remaining = reads(rest);
    }
    elsewhere ||= remaining.detected;
  }
  return {
    texts: texts.toSorted((one, other) => one.string.start - other.string.start),
    found: [...found].toSorted(),
    elsewhere,
    confidence: Math.max(...wholes.map((whole) => whole.confidence), ...texts.map(({ confidence }) => confidence)),
  };
}

/** The shortest beginning that is found, without the strings before which it is found as well. */
function shortestRow(strings: readonly JsonString[], detected: (some: readonly JsonString[]) => boolean) {
  const end = firstThat(strings.length, (count) => detected(strings.slice(0, count)));
  const fromEnd = firstThat(end, (count) => detected(strings.slice(end - count, end)));
  return strings.slice(end - fromEnd, end);
}

/** The least count from 1 that holds, where every greater one does too. */
function firstThat(most: number, holds: (count: number) => boolean): number {
  let low = 1;
  let high = most;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** What a model reads of a string: a resource's bytes as the text that they are. */
const readAs = ({ value, key, role }: JsonString): string =>
  key === 'blob' && role === 'value' && value.length <= MAX_BASE64 ? (textInBase64(value) ?? value) : value;

function textInBase64(value: string): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(value, 'base64'));
    return text.includes('\0') ? null : text;
  } catch {
    return null;
  }
}
