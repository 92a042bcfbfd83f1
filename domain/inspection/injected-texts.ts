import { detectInjection, detectInjectionInAnswer } from './injection.js';
import { ANSWER_SUSPECT_FROM, createScorer, scoreAsAnswer, scoreOf, SUSPECT_FROM } from './injection-classifier.js';
import type { Detection } from './lanes.js';
import { base64In } from './ciphers.js';
import { type HeuristicLevel, inspectTexts, readingsOf, stringsWithin, textInBase64 } from './texts.js';
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

/**
 * Strings that instruct a model. First each by itself, by grammar and classifier; then what is left is read as one text, whole and as a model reads its parts, and the
 * shortest row of strings that makes it one is found by halving: at most a fixed number of readings of the whole.
 */
export function injectedTexts(strings: readonly JsonString[], level: HeuristicLevel): InjectedTexts {
  const reads = (some: readonly JsonString[]): Detection =>
    detectInjection('', inspectTexts({ texts: [...some.map(asWritten), ...some.flatMap(inCode)] }, level));
  const parts = strings.filter(isPart);
  const wholes = [reads(strings), ...(parts.length > 1 ? [reads(parts)] : [])];
  const ordered = readAsOrders(strings, level);
  if (ordered.size === 0 && !wholes.some(({ detected }) => detected))
    return { texts: [], found: [], elsewhere: false, confidence: 0 };

  const texts: InjectedText[] = [];
  const found = new Set(wholes.flatMap((whole) => whole.found));
  const left = new Set(strings);
  const take = (string: JsonString, confidence: number): void => {
    texts.push({ string, confidence });
    left.delete(string);
  };
  for (const string of strings) {
    if (string.value.length < SHORTEST_PHRASE) continue;
    const alone = ordered.has(string)
      ? detectInjectionInAnswer(inspectTexts({ texts: [...readAs(string)] }, level))
      : reads([string]);
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

/** The strings that one of the classifiers takes for orders, each by itself. */
function readAsOrders(strings: readonly JsonString[], level: HeuristicLevel): ReadonlySet<JsonString> {
  const score = createScorer(scoreOf);
  const asAnswer = createScorer(scoreAsAnswer);
  return new Set(
    strings.filter(
      (string) =>
        string.role === 'value' &&
        readAs(string)
          .flatMap((text) => readingsOf(text, level))
          .some((text) => score(text) >= SUSPECT_FROM || asAnswer(text) >= ANSWER_SUSPECT_FROM),
    ),
  );
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

/** What a model reads of a string, with a resource's bytes as the text that they are. */
const asWritten = ({ value, key, role }: JsonString): string =>
  (key === 'blob' && role === 'value' ? textInBase64(value) : null) ?? value;

/**
 * What base64 in a string says, or in the strings of JSON that it holds: models decode it unasked. That is no hidden writing: mails and files
 * are given so.
 */
const inCode = ({ value, key, role }: JsonString): readonly string[] =>
  key === 'blob' && role === 'value' ? [] : [value, ...stringsWithin(value)].flatMap((text) => base64In(text));

const readAs = (string: JsonString): readonly string[] => [asWritten(string), ...inCode(string)];
