/** Lines that stay around a change. */
const CONTEXT = 3;
/** Beyond this many changed lines the texts have nothing to do with each other, and finding the fewest would take long. */
const MOST_CHANGES = 400;

/** A line with its sign, one of ` `, `-` and `+`, in front. */
type Line = string;

/** What changed between two texts, in the unified form of diff and patch; empty where nothing did. */
export function unifiedDiff(
  before: string,
  after: string,
  names: { readonly from: string; readonly to: string },
): string {
  if (before === after) return '';
  const { lines, skipped } = edited(linesOf(before), linesOf(after));
  const out = [`--- ${names.from}`, `+++ ${names.to}`];
  if (typeof lines !== 'string') addHunks(out, lines, skipped);
  else out.push(lines);
  return `${out.join('\n')}\n`;
}

function addHunks(out: string[], lines: readonly Line[], skipped: number): void {
  let [oldAt, newAt, at] = [skipped + 1, skipped + 1, 0];
  const past = (to: number): void => {
    for (; at < to; at += 1) {
      if (!lines[at]?.startsWith('+')) oldAt += 1;
      if (!lines[at]?.startsWith('-')) newAt += 1;
    }
  };
  while (at < lines.length) {
    let first = at;
    while (lines[first]?.startsWith(' ')) first += 1;
    if (first === lines.length) break;
    let end = first;
    for (let index = first; index < lines.length && index - end <= 2 * CONTEXT; index += 1)
      if (!lines[index]?.startsWith(' ')) end = index + 1;
    past(Math.max(at, first - CONTEXT));
    const hunk = lines.slice(at, Math.min(lines.length, end + CONTEXT));
    const count = (other: '-' | '+'): number => hunk.filter((line) => !line.startsWith(other)).length;
    out.push(headOf({ line: oldAt, count: count('+') }, { line: newAt, count: count('-') }));
    // One by one: a call takes no hundreds of thousands of arguments.
    for (const line of hunk) out.push(line);
    past(at + hunk.length);
  }
}

interface Side {
  readonly line: number;
  readonly count: number;
}
/** An empty side is named by the line before it. */
const headOf = (before: Side, after: Side): string => `@@ -${placeOf(before)} +${placeOf(after)} @@`;
const placeOf = ({ line, count }: Side): string => `${count === 0 ? line - 1 : line},${count}`;

const NO_NEWLINE = '\n\\ No newline at end of file';

function linesOf(text: string): readonly string[] {
  if (text === '') return [];
  const lines = text.split('\n');
  const last = lines.pop() as string;
  return last === '' ? lines : [...lines, `${last}${NO_NEWLINE}`];
}

/**
 * The fewest lines to remove and to add (E. Myers, "An O(ND) Difference Algorithm"), or one hunk as text with all of both where they are too many: a
 * million of them one by one cost a second. Of what is the same before the first and behind the last nothing but their context is there; `skipped` lines
 * stand before that: a text may have a million.
 */
function edited(
  before: readonly string[],
  after: readonly string[],
): { readonly lines: readonly Line[] | string; readonly skipped: number } {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < before.length - start && end < after.length - start && before.at(-1 - end) === after.at(-1 - end))
    end += 1;
  const kept = (text: string): Line => ` ${text}`;
  const skipped = Math.max(0, start - CONTEXT);
  const behind = before.length - end;
  const [gone, come] = [before.slice(start, behind), after.slice(start, after.length - end)];
  const around = [before.slice(skipped, start).map(kept), before.slice(behind, behind + CONTEXT).map(kept)] as const;
  const found = middle(gone, come);
  if (found !== null) return { lines: around[0].concat(found, around[1]), skipped };
  const sideOf = ({ length }: readonly string[]): Side => ({
    line: skipped + 1,
    count: around[0].length + length + around[1].length,
  });
  const head = headOf(sideOf(gone), sideOf(come));
  return { lines: [head, ...around[0], ...signed('-', gone), ...signed('+', come), ...around[1]].join('\n'), skipped };
}

/** All lines in one text; none where there are none. */
const signed = (sign: '-' | '+', lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : [`${sign}${lines.join(`\n${sign}`)}`];

/** `null`: all of one side is to be removed, and all of the other to be added. */
function middle(before: readonly string[], after: readonly string[]): readonly Line[] | null {
  if (before.length === 0 || after.length === 0) return null;
  const [height, width] = [before.length, after.length];
  const furthest = new Map<number, number>([[1, 0]]);
  const trace: ReadonlyMap<number, number>[] = [];
  const goesDown = (from: ReadonlyMap<number, number>, diagonal: number, depth: number): boolean =>
    diagonal === -depth || (diagonal !== depth && (from.get(diagonal - 1) ?? -1) < (from.get(diagonal + 1) ?? -1));
  for (let depth = 0; depth <= Math.min(height + width, MOST_CHANGES); depth += 1) {
    trace.push(new Map(furthest));
    for (let diagonal = -depth; diagonal <= depth; diagonal += 2) {
      let x = goesDown(furthest, diagonal, depth)
        ? (furthest.get(diagonal + 1) ?? 0)
        : (furthest.get(diagonal - 1) ?? 0) + 1;
      let y = x - diagonal;
      while (x < height && y < width && before[x] === after[y]) [x, y] = [x + 1, y + 1];
      furthest.set(diagonal, x);
      if (x >= height && y >= width) return walkedBack(trace, before, after, goesDown);
    }
  }
  return null;
}

function walkedBack(
  trace: readonly ReadonlyMap<number, number>[],
  before: readonly string[],
  after: readonly string[],
  goesDown: (from: ReadonlyMap<number, number>, diagonal: number, depth: number) => boolean,
): readonly Line[] {
  const found: Line[] = [];
  let [x, y] = [before.length, after.length];
  for (let depth = trace.length - 1; depth >= 0; depth -= 1) {
    const from = trace[depth] as ReadonlyMap<number, number>;
    const down = goesDown(from, x - y, depth);
    const diagonal = down ? x - y + 1 : x - y - 1;
    const fromX = depth === 0 ? 0 : (from.get(diagonal) ?? 0);
    const fromY = depth === 0 ? 0 : fromX - diagonal;
    while (x > fromX && y > fromY) {
      [x, y] = [x - 1, y - 1];
      found.push(` ${before[x] as string}`);
    }
    if (depth === 0) break;
    if (down) found.push(`+${after[((y -= 1))] as string}`);
    else found.push(`-${before[((x -= 1))] as string}`);
  }
  return found.reverse();
}
