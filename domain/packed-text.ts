/** What is in a text that is JSON, or that some lenient reader takes for it. */
export interface Packed {
  /**
   * One for each document. Where a name stands twice in an object, readers differ in which value they take: then one has the last values,
   * another the first, and more have those between.
   */
  readonly documents: readonly unknown[];
  /** It is JSON (RFC 8259). Any other text may be meant as it stands, and is to be read so too. */
  readonly isJson: boolean;
}

/** Reads a text that begins like JSON; undefined for any other text. Takes linear time and does not recurse. */
export function unpacked(text: string): Packed | undefined {
  if (!/^\s*(?:[[{"]|\/[/*])/.test(text)) return undefined;
  const bare = text.trim();
  let value: unknown;
  try {
    value = JSON.parse(bare);
  } catch {
    const documents = [...new LenientReader(bare).read(), ...documentsOfLines(bare)];
    return documents.length === 0 ? undefined : { documents, isJson: false };
  }
  const isPlain = typeof value !== 'object' || namesIn(bare) === membersOf(value);
  return { documents: isPlain ? [value] : new LenientReader(bare).read(), isJson: true };
}

/** Each line by itself: a reader of JSON lines passes over lines that are not JSON. */
const documentsOfLines = (text: string): readonly unknown[] =>
  text.includes('\n')
    ? text.split('\n').flatMap((line) => (/^\s*[[{]/.test(line) ? (unpacked(line)?.documents ?? []) : []))
    : [];

/** How many names stand in JSON. */
function namesIn(json: string): number {
  let count = 0;
  for (let at = 0; at < json.length; at += 1) {
    if (json[at] === '"') at = endOfString(json, at);
    else if (json[at] === ':') count += 1;
  }
  return count;
}

/** How many members the objects of a document have. */
function membersOf(document: unknown): number {
  let count = 0;
  const open = [document];
  for (let here = open.pop(); here !== undefined; here = open.pop()) {
    if (typeof here !== 'object' || here === null) continue;
    const values = Object.values(here) as unknown[];
    if (!Array.isArray(here)) count += values.length;
    for (const value of values) if (typeof value === 'object') open.push(value);
  }
  return count;
}

/** The place of the quote that closes a string, or of the end of the text. */
function endOfString(text: string, start: number): number {
  const quote = text[start];
  let at = start + 1;
  while (at < text.length && text[at] !== quote) at += text[at] === '\\' ? 2 : 1;
  return Math.min(at, text.length);
}

type Container = unknown[] | Record<string, unknown>;
/** An object or list that is open, as a reader has it that takes the last of a name, and one that takes the first. */
interface Frame {
  readonly last: Container;
  readonly first: Container;
  name: string | null;
  /** The name that it stands under itself. */
  readonly under: string | null;
}
/** How many of the names around a value between are kept with it. */
const NAMES_AROUND = 4;

/**
 * Reads what any reader of JSON, JSON5, JSON lines, YAML's flow style or Python's literals takes: trailing and missing commas, comments, single
 * quotes, names and words without quotes, one document behind another, an end that is missing. It stops at the first thing none of them knows.
 */
class LenientReader {
  private at = 0;
  private readonly frames: Frame[] = [];
  private readonly last: unknown[] = [];
  private readonly first: unknown[] = [];
  private readonly between: unknown[] = [];
  private repeats = false;
  /** A name or a value stands in it, and not only brackets. */
  private holdsSome = false;

  constructor(private readonly text: string) {}

  read(): readonly unknown[] {
    while (this.skipBlanks() && this.readNext());
    if (!this.holdsSome) return [];
    return this.repeats ? [...this.last, ...this.first, ...this.between] : this.last;
  }

  private readNext(): boolean {
    const frame = this.frames.at(-1);
    const here = this.text[this.at] as string;
    if (here === ',') {
      this.at += 1;
      if (frame) frame.name = null;
      return true;
    }
    if (here === '}' || here === ']') {
      this.at += 1;
      return this.frames.pop() !== undefined;
    }
    const isName = frame !== undefined && !Array.isArray(frame.last) && frame.name === null;
    // A comment of YAML and Python; in the place of a value other readers take it for a word.
    if (here === '#' && isName) return this.take(/#[^\n]{0,}/y) !== '';
    if (isName) return this.readName(frame);
    if (here === '{' || here === '[') {
      this.at += 1;
      const [last, first] = here === '{' ? [{}, {}] : [[], []];
      const under = frame?.name ?? null;
      this.add(last, first);
      this.frames.push({ last, first, name: null, under });
      return true;
    }
    if (here === '"' || here === "'") {
      const text = this.readString();
      // By itself a string is words in quotes, unless more is packed in it.
      if (frame || /^\s*[[{]/.test(text)) this.add(text, text);
      return true;
    }
    if (!frame) return false;
    const word = this.take(/[^,}\]\n]{1,}/y).trim();
    const value = valueOf(word);
    this.add(value, value);
    return true;
  }

  private readName(frame: Frame): boolean {
    const isQuoted = this.text[this.at] === '"' || this.text[this.at] === "'";
    const name = isQuoted ? this.readString() : this.take(/[^\s:,{}[\]"'(]{1,}/y);
    // `{ a(x: 1) }` is a query of GraphQL, which has readers of its own: its arguments are passed over. `{ a(b): 1 }` is a name of YAML.
    const isPassed = !isQuoted && this.take(/\([^)]{0,4096}\)?/y) !== '';
    if ((name === '' && !isQuoted && !isPassed) || !this.skipBlanks()) return false;
    if (this.text[this.at] !== ':') return isPassed;
    this.at += 1;
    this.holdsSome = true;
    frame.name = name;
    return true;
  }

  /** The value stands at its place twice: as readers have it that take the last of a name, and those that take the first. */
  private add(last: unknown, first: unknown): void {
    const frame = this.frames.at(-1);
    this.holdsSome ||= typeof last !== 'object' || last === null;
    if (!frame) {
      this.last.push(last);
      this.first.push(first);
    } else if (Array.isArray(frame.last)) {
      frame.last.push(last);
      (frame.first as unknown[]).push(first);
    } else {
      const name = frame.name ?? '';
      frame.name = null;
      if (Object.hasOwn(frame.last, name)) {
        this.repeats = true;
        const before = frame.last[name];
        if (before !== (frame.first as Record<string, unknown>)[name]) this.keep(name, before);
        if (first !== last) this.keep(name, first);
      } else put(frame.first as Record<string, unknown>, name, first);
      put(frame.last, name, last);
    }
  }

  /** What neither of the two has, below the names that it stands under. */
  private keep(name: string, value: unknown): void {
    const around = this.frames.slice(-NAMES_AROUND).flatMap(({ under }) => under ?? []);
    this.between.push([...around, name].reduceRight((within, outer) => put({}, outer, within), value));
  }

  private readString(): string {
    const end = endOfString(this.text, this.at);
    const raw = this.text.slice(this.at + 1, end);
    this.at = end + 1;
    return raw.includes('\\') ? raw.replaceAll(ESCAPE, unescaped) : raw;
  }

  private take(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const [found = ''] = pattern.exec(this.text) ?? [];
    this.at += found.length;
    return found;
  }

  /** Passes over blanks and comments; whether anything stands behind them. */
  private skipBlanks(): boolean {
    for (;;) {
      if (BLANK.test(this.text[this.at] ?? '')) this.take(/\s{1,}/y);
      const begins = this.text[this.at] === '/' ? this.text[this.at + 1] : '';
      const ends = begins === '/' ? '\n' : begins === '*' ? '*/' : null;
      if (ends === null) return this.at < this.text.length;
      const end = this.text.indexOf(ends, this.at + 2);
      this.at = end < 0 ? this.text.length : end + ends.length;
    }
  }
}

const BLANK = /\s/;

/** JSON.parse makes a member of any name, `__proto__` too. */
function put(object: Record<string, unknown>, name: string, value: unknown): Record<string, unknown> {
  if (name === '__proto__')
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
  else object[name] = value;
  return object;
}

const ESCAPE = /\\(?:u[0-9a-f]{4}|u\{[0-9a-f]{1,6}\}|x[0-9a-f]{2}|\r\n|[^])/gi;
const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v', 0: '\0' };
function unescaped(escape: string): string {
  const code = /^\\[ux]\{?([0-9a-f]{2,6})\}?$/i.exec(escape)?.[1];
  if (code !== undefined) return Number.parseInt(code, 16) > 0x10ffff ? escape : fromCode(Number.parseInt(code, 16));
  const [, letter = ''] = escape;
  return letter === '\n' || letter === '\r' ? '' : (ESCAPES[letter] ?? letter);
}
/** Half a surrogate pair too: the other half is the next escape. */
const fromCode = (code: number): string => (code > 0xffff ? String.fromCodePoint(code) : String.fromCharCode(code));

const WORDS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
  ['null', null],
  ['None', null],
  ['undefined', null],
]);
function valueOf(word: string): unknown {
  if (WORDS.has(word)) return WORDS.get(word);
  const number = /^[-+]?\.?\d/.test(word) ? Number(word) : Number.NaN;
  return Number.isFinite(number) ? number : word;
}
