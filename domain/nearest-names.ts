const MOST = 3;
/** Longer names are not compared letter by letter. */
const LONGEST = 256;

/** The number of letters to insert, delete, change or swap with a neighbour to turn one word into the other. */
export function lettersApart(one: string, other: string): number {
  let [before, last]: [number[], number[]] = [[], Array.from({ length: other.length + 1 }, (_, at) => at)];
  for (let row = 1; row <= one.length; row += 1) {
    const next = [row];
    for (let at = 1; at <= other.length; at += 1) {
      const same = one[row - 1] === other[at - 1] ? 0 : 1;
      let least = Math.min((last[at] ?? 0) + 1, (next[at - 1] ?? 0) + 1, (last[at - 1] ?? 0) + same);
      if (row > 1 && at > 1 && one[row - 1] === other[at - 2] && one[row - 2] === other[at - 1])
        least = Math.min(least, (before[at - 2] ?? 0) + 1);
      next.push(least);
    }
    [before, last] = [last, next];
  }
  return last[other.length] ?? 0;
}

const plain = (name: string): string => name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');

/**
 * The names that the user may have meant by a mistyped one, nearest first, at most three. A name matches when up to a third of its letters
 * differ, or when one contains the other.
 */
export function nearestNames(typed: string, names: Iterable<string>): readonly string[] {
  const wanted = plain(typed);
  if (wanted === '' || wanted.length > LONGEST) return [];
  return [...names]
    .flatMap((name) => {
      const known = plain(name);
      if (known === '' || known.length > LONGEST) return [];
      const part = wanted.length >= 4 && known.length >= 4 && (known.includes(wanted) || wanted.includes(known));
      const tooFar = Math.max(1, Math.floor(Math.max(wanted.length, known.length) / 3));
      // Names whose lengths differ by more cannot be within the allowed distance.
      const far = Math.abs(known.length - wanted.length) > tooFar ? tooFar + 1 : lettersApart(wanted, known);
      return far <= tooFar ? [{ name, far }] : part ? [{ name, far: tooFar + 1 }] : [];
    })
    .toSorted((one, other) => one.far - other.far || (one.name < other.name ? -1 : 1))
    .slice(0, MOST)
    .map(({ name }) => name);
}
