/** The deepest nesting of JSON in strings of JSON. */
const UNPACKED = 8;
/** A longer text is not parsed as JSON. */
const LONGEST_PACKED = 65_536;
const PATH_LENGTH = 16;

export interface TextVisitor {
  /** Called for every text, including argument names, with the argument names that lead to it. */
  text(text: string, path: readonly string[], isName: boolean): void;
  /** Called for a list that contains only texts: a tool may join them into one. */
  list?(items: readonly string[], path: readonly string[]): void;
}

interface Part {
  readonly value: unknown;
  readonly path: readonly string[];
  readonly unpacked: number;
}

/**
 * Visits all texts in the arguments of a call, including those in a text that is JSON. Not recursive, so that a deeply nested value cannot
 * overflow the stack.
 */
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

/** Parses a text that is JSON, so that the texts inside can be visited. Undefined for any other text. */
function packed(text: string): unknown {
  const trimmed = text.trimStart();
  if (!/^[[{"]/.test(trimmed) || text.length > LONGEST_PACKED) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Meaningful argument names are never longer. */
export const LONGEST_NAME = 64;
/** The names of a path as the lists of names have them: in lower case, with names that are too long left empty. */
export const lowered = (path: readonly string[]): readonly string[] =>
  path.map((name) => (name.length > LONGEST_NAME ? '' : name.toLowerCase()));

/**
 * Returns a function that finds which of `names` occur in a path. Two paths give the same text when rules that know only these names cannot
 * tell them apart.
 */
export function namesAmong(names: readonly string[]): (path: readonly string[]) => string {
  const known = new Set(names);
  return (path) => [...new Set(lowered(path).filter((name) => known.has(name)))].toSorted().join('\n');
}
