/** JSON within JSON within text. */
const UNPACKED = 8;
/** A text longer than this is no JSON that anybody reads a value of. */
const LONGEST_PACKED = 65_536;
const PATH_LENGTH = 16;

export interface TextVisitor {
  /** Every text, names of arguments included, with the argument names that lead to it. */
  text(text: string, path: readonly string[], isName: boolean): void;
  /** A list of nothing but texts: together they may be one. */
  list?(items: readonly string[], path: readonly string[]): void;
}

interface Part {
  readonly value: unknown;
  readonly path: readonly string[];
  readonly unpacked: number;
}

/** All texts of the arguments of a call, also those in a text that is JSON. Without recursion: a deep value must not overflow the stack. */
export function eachText(value: unknown, { text, list }: TextVisitor): void {
  const open: Part[] = [{ value, path: [], unpacked: 0 }];
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    const { value: here, path, unpacked } = part;
    if (typeof here === 'string') {
      const inside = unpacked < UNPACKED ? packed(here) : undefined;
      if (inside === undefined) text(here, path, false);
      else open.push({ value: inside, path, unpacked: unpacked + 1 });
    } else if (Array.isArray(here)) {
      const items = here as unknown[];
      if (list && items.length > 1 && items.length <= LONGEST_LIST && items.every((item) => typeof item === 'string'))
        list(items as string[], path);
      for (const item of items) open.push({ value: item, path, unpacked });
    } else if (typeof here === 'object' && here !== null) {
      for (const [key, item] of Object.entries(here)) {
        text(key, path, true);
        open.push({ value: item, path: [...path, key].slice(-PATH_LENGTH), unpacked });
      }
    }
  }
}

const LONGEST_LIST = 256;

/** A text that is JSON holds texts of its own. */
function packed(text: string): unknown {
  const trimmed = text.trimStart();
  if (!/^[[{"]/.test(trimmed) || text.length > LONGEST_PACKED) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** No name of an argument that says anything is longer. */
export const LONGEST_NAME = 64;
/** The names of a path as lists of them are written. */
export const lowered = (path: readonly string[]): readonly string[] =>
  path.map((name) => (name.length > LONGEST_NAME ? '' : name.toLowerCase()));

/** Which of the given names lead to a place: the same text for places that rules which know these names alone cannot tell apart. */
export function namesAmong(names: readonly string[]): (path: readonly string[]) => string {
  const known = new Set(names);
  return (path) => [...new Set(lowered(path).filter((name) => known.has(name)))].toSorted().join('\n');
}
