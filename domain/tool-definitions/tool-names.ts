import type { ToolNameScanRequest, ToolNameScanResult } from '../../contracts/definition-scan.js';
import { skeletonsOf } from '../skeleton.js';
import { mixedWord } from '../printable.js';

/** A name that a model or a person takes for another one of the same list. */
export const LOOKALIKE = 'lookalike_name';
/** A name of Latin letters with one of another alphabet that looks like them: nobody who reads it knows what is called. */
export const MIXED = 'mixed_alphabets_name';
const UNSTORABLE = 'unstorable_name';
/** What is found of a name is no instruction to a model, and is told by itself. */
export const NAME_RULES: ReadonlySet<string> = new Set([LOOKALIKE, MIXED, UNSTORABLE]);

const SEPARATORS = /[\s._:/-]/g;
/** What a reader takes a name for: look-alike letters, case and separators undone. */
export const readAs = (name: string): string => skeletonsOf([name]).plain.replaceAll(SEPARATORS, '');

/** A name that stores would change must not hide its list, so it is replaced by a form that every store keeps and operators can type. */
export const storable = (text: string): string =>
  text === '__proto__' ? String.raw`\__proto__` : text.toWellFormed().replaceAll('\0', String.raw`\0`);

/** What is wrong with a name by itself. */
export const nameRulesOn = (name: string): readonly string[] => [
  ...(storable(name) === name ? [] : [UNSTORABLE]),
  ...(mixedWord(name) === undefined ? [] : [MIXED]),
];

const READS_ALIKE = 'reads_alike';
const NEAR = 'edit_distance';
/** Longer names are only read, not compared character by character. */
const LONGEST_COMPARED = 256;
/** How many characters may differ, by the length of the shorter name. */
const allowed = (length: number): number => (length >= 5 ? 2 : length >= 3 ? 1 : 0);
const CONFIDENCE = [0.95, 0.8, 0.6] as const;

interface Name {
  readonly name: string;
  readonly written: readonly string[];
  readonly read: readonly string[];
}
const nameOf = (name: string): Name => ({ name, written: Array.from(name), read: Array.from(readAs(name)) });

/**
 * Whether a called name is one that is taken for another of a catalogue: it reads alike, or differs in one character (from three on) or two
 * (from five on). Rules alone, in time linear in the catalogue. Of several the nearest, then the first.
 */
export function scanToolName({ called, catalog }: Pick<ToolNameScanRequest, 'called' | 'catalog'>): ToolNameScanResult {
  if (catalog.includes(called))
    return { lookalike: false, nearest: called, distance: 0, confidence: 0, signals: [], degraded: false };
  const asked = nameOf(called);
  let best: { readonly like: Name; readonly far: number } | null = null;
  for (const name of catalog) {
    const like = nameOf(name);
    const far = farness(asked, like);
    if (far !== null && far < (best?.far ?? Number.POSITIVE_INFINITY)) best = { like, far };
    if (far === 0) break;
  }
  const own = nameRulesOn(called);
  if (best === null)
    return { lookalike: false, nearest: null, distance: null, confidence: 0, signals: [...own], degraded: false };
  return {
    lookalike: true,
    nearest: best.like.name,
    distance: distanceWithin(asked.written, best.like.written, Number.POSITIVE_INFINITY),
    confidence: CONFIDENCE[best.far] ?? 0,
    signals: [best.far === 0 ? READS_ALIKE : NEAR, ...own],
    degraded: false,
  };
}

/** 0 where two names read alike, else how many characters differ; `null` where that are too many. */
function farness(one: Name, other: Name): number | null {
  if (one.read.length > 0 && one.read.length === other.read.length && one.read.join('') === other.read.join(''))
    return 0;
  const found = [
    [one.written, other.written],
    [one.read, other.read],
  ].flatMap(([a = [], b = []]) => {
    const most = allowed(Math.min(a.length, b.length));
    if (most === 0 || Math.max(a.length, b.length) > LONGEST_COMPARED) return [];
    const distance = distanceWithin(a, b, most);
    return distance === null ? [] : [distance];
  });
  return found.length === 0 ? null : Math.max(1, Math.min(...found));
}

/** The Levenshtein distance; `null` beyond `most`. Only cells that near to the diagonal are counted. */
function distanceWithin(one: readonly string[], other: readonly string[], most: number): number | null {
  if (Math.abs(one.length - other.length) > most) return null;
  const beyond = most + 1;
  let last = Array.from({ length: other.length + 1 }, (_, at) => at);
  let next = last.slice();
  for (let row = 1; row <= one.length; row += 1) {
    const from = Math.max(1, row - most);
    const to = Math.min(other.length, row + most);
    next[from - 1] = from === 1 && row <= most ? row : beyond;
    let least = next[from - 1] as number;
    for (let at = from; at <= to; at += 1) {
      const same = one[row - 1] === other[at - 1] ? 0 : 1;
      const cell = Math.min((last[at] as number) + 1, (next[at - 1] as number) + 1, (last[at - 1] as number) + same);
      next[at] = cell;
      least = Math.min(least, cell);
    }
    if (to < other.length) next[to + 1] = beyond;
    if (least > most) return null;
    [last, next] = [next, last];
  }
  const distance = last[other.length] as number;
  return distance > most ? null : distance;
}
