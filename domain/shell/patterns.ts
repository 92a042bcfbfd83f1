/**
 * Whether a segment of a path may be a name that is known: it is the name, or a pattern of a shell that fits it. Takes time in proportion to
 * the pattern, and no more than to the name where the pattern is longer.
 */

/** One segment of a path. */
export interface Segment {
  /** In lower case. */
  readonly text: string;
  /** Of `*`, `?` and characters that stand for themselves, and fits all that the segment fits; null where the segment is no pattern. */
  readonly pattern: string | null;
}

/** No longer name is a file on any system; a longer pattern counts as one that fits. */
const LONGEST_PATTERN = 255;
/** The bits of a number. */
const LONGEST_NAME = 30;
const GROUP = /[@!+*?]\(.{0,255}/s;
const ONE_OF = /\[[^[\]]{1,64}\]/g;

export const segmentOf = (text: string): Segment => ({ text, pattern: patternOf(text) });

function patternOf(text: string): string | null {
  if (!/[*?[]|[@!+]\(/.test(text)) return null;
  if (text.length > LONGEST_PATTERN) return '*';
  return withoutBrackets(text.replace(GROUP, '*'));
}

/** A list of characters counts as any of them, and brackets that are no plain list, `[[:alpha:]]`, `[]e]`, as anything. */
function withoutBrackets(text: string): string {
  const plain = text.replaceAll(ONE_OF, '?');
  if (!/[[\]]/.test(plain)) return plain;
  const [from, to] = [text.indexOf('['), text.lastIndexOf(']')];
  return from >= 0 && to > from ? `${text.slice(0, from)}*${text.slice(to + 1)}` : plain;
}

/** What of a name each character is, by bits. */
const MASKS = new Map<string, ReadonlyMap<string, number>>();
function masksOf(name: string): ReadonlyMap<string, number> {
  const known = MASKS.get(name);
  if (known !== undefined) return known;
  if (name.length > LONGEST_NAME) throw new Error(`longer than a pattern is compared with: ${name}`);
  const masks = new Map<string, number>();
  for (const [at, sign] of Array.from(name).entries()) masks.set(sign, (masks.get(sign) ?? 0) | (1 << at));
  // Only Gate's own names come here, so that the map is bounded.
  MASKS.set(name, masks);
  return masks;
}

/** `isBeginning`: what stands behind the name may be anything. */
function matches(pattern: string, name: string, isBeginning: boolean): boolean {
  // A pattern fits no hidden name, unless it has the point itself.
  if (name.startsWith('.') && !pattern.startsWith('.')) return false;
  const masks = masksOf(name);
  const end = 1 << name.length;
  // A bit is set where so many characters of the name are reached.
  let reached = 1;
  for (const sign of pattern) {
    if (isBeginning && (reached & end) !== 0) return true;
    if (sign === '*') reached |= -reached;
    else reached = (sign === '?' ? reached : reached & (masks.get(sign) ?? 0)) << 1;
    reached &= (end << 1) - 1;
    if (reached === 0) return false;
  }
  return (reached & end) !== 0;
}

export const fits = (segment: Segment | undefined, name: string): boolean =>
  segment !== undefined && (segment.pattern === null ? segment.text === name : matches(segment.pattern, name, false));

/** Whether the segment may be a name with this beginning. */
export const mayBegin = (segment: Segment | undefined, beginning: string): boolean =>
  segment !== undefined &&
  (segment.pattern === null ? segment.text.startsWith(beginning) : matches(segment.pattern, beginning, true));

export const fitsAny = (segment: Segment | undefined, names: ReadonlySet<string>): boolean => {
  if (segment === undefined) return false;
  if (segment.pattern === null) return names.has(segment.text);
  for (const name of names) if (matches(segment.pattern, name, false)) return true;
  return false;
};
