import type { SqlFinding, SqlFacts } from '../../contracts/policy.js';
import { lex, longestRowOfSigns, OTHER_LEXINGS, POSTGRES, type Lexed, type Token } from './lexer.js';
import type { SqlParser } from './parser.js';
import { block, fragmentOf, mentionOf, pieces, shapeOf } from './shapes.js';
import { EFFECTS, readStatements, worse, type Reading } from './statements.js';
import { CHANGING_WORDS, DETERMINERS, OBJECT_WORDS, STATEMENT_WORDS } from './words.js';

/** What is read for SQL in one call's arguments. What lies beyond and has a statement's word in it cannot be vouched for. */
export const SQL_BOUNDS = {
  /** Characters of one text given to the parser. */
  parsedText: 16_384,
  /** Characters parsed of one call, and times. */
  parsed: 65_536,
  parses: 256,
  /** Characters split into tokens of one call. */
  read: 65_536,
  /** Brackets and comments within each other: the parser's time grows with the square of the latter (200 kB of them: 84 s). */
  nesting: 200,
  /** Signs in a row: it looks for the operator in them again from each (16 kB: 2 s). Postgres' longest operator has 63. */
  signs: 200,
  /** JSON within JSON within text. */
  unpacked: 8,
  /** Findings kept, the worst first. */
  findings: 32,
} as const;

export interface SqlReaderOptions {
  readonly parser: SqlParser;
  /** Argument names that hold nothing but statements: what cannot be read there is found too. */
  readonly statementArguments: readonly string[];
}

/** What SQL the arguments of a call hold. A function of the arguments alone; linear in their length; never throws. */
export type SqlReader = (argumentsOfCall: unknown) => SqlFacts;

const NOTHING: SqlFacts = { worst: 'none', found: [], more: false };

interface Budget {
  parsed: number;
  parses: number;
  read: number;
}

export const createSqlReader = ({ parser, statementArguments }: SqlReaderOptions): SqlReader => {
  const strict = new Set(statementArguments.map((name) => name.toLowerCase()));
  return (value) => {
    const budget: Budget = { ...SQL_BOUNDS };
    const found: SqlFinding[] = [];
    const open: { value: unknown; path: readonly string[]; unpacked: number }[] = [{ value, path: [], unpacked: 0 }];
    const read = (text: string, path: readonly string[]): void => {
      const options = { parser, budget, strict: strict.has(path.at(-1)?.toLowerCase() ?? '') };
      // What a person or a tool may take for the same: without what nobody sees, and with letters of every width made plain.
      const plain = /[^\0-\x7f]/.test(text) ? text.normalize('NFKC').replaceAll(INVISIBLE, '') : text;
      for (const reading of plain === text ? [text] : [text, plain]) {
        const finding = readText(reading, options);
        if (finding) found.push({ ...finding, path: [...path] });
      }
    };
    while (open.length > 0) {
      const { value: part, path, unpacked } = open.pop() as (typeof open)[number];
      if (typeof part === 'string') {
        const inside = unpacked < SQL_BOUNDS.unpacked ? packed(part) : undefined;
        if (inside === undefined) read(part, path);
        else open.push({ value: inside, path, unpacked: unpacked + 1 });
      } else if (Array.isArray(part)) {
        for (const item of part as unknown[]) open.push({ value: item, path, unpacked });
      } else if (typeof part === 'object' && part !== null) {
        for (const [key, item] of Object.entries(part)) {
          read(key, path);
          open.push({ value: item, path: [...path, key].slice(-PATH_LENGTH), unpacked });
        }
      }
    }
    if (found.length === 0) return NOTHING;
    const rank = ({ effect }: SqlFinding): number => RANKS.indexOf(effect);
    found.sort((one, other) => rank(other) - rank(one));
    return {
      worst: found[0]?.effect ?? 'none',
      found: found.slice(0, SQL_BOUNDS.findings),
      more: found.length > SQL_BOUNDS.findings,
    };
  };
};

const PATH_LENGTH = 16;
const INVISIBLE = /[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/g;
const RANKS: readonly SqlFinding['effect'][] = ['text', ...EFFECTS];

/** A text that is JSON holds texts of its own. */
function packed(text: string): unknown {
  const trimmed = text.trimStart();
  if (!/^[[{"]/.test(trimmed) || text.length > SQL_BOUNDS.read) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

interface TextOptions {
  readonly parser: SqlParser;
  readonly budget: Budget;
  readonly strict: boolean;
}
/** By Postgres' parser, where the part's tokens say that it will take it in bounded time. */
type PartParser = (part: string, lexed: Lexed) => Reading | null;
type TextFinding = Omit<SqlFinding, 'path'>;

/** No text without one of these is a statement of any kind. */
const HINT = /\b(?:[a-z]{2,}|[xs]p_[a-z_]+)\b/i;

function readText(text: string, { parser, budget, strict }: TextOptions): TextFinding | null {
  const other = strict && text.trim() !== '' ? ({ effect: 'text', kind: 'text', form: 'statement' } as const) : null;
  if (!HINT.test(text)) return other;
  if (text.length > budget.read) {
    // Read in part only: enough to see how it begins.
    const head = lex(text.slice(0, 1_024), POSTGRES).tokens.find((token) => token.kind === 'word');
    return head && (STATEMENT_WORDS.has(head.text) || text.includes(';'))
      ? { effect: 'unreadable', kind: 'more text than is read', form: 'statement' }
      : other;
  }
  budget.read -= text.length;
  const lexed = lex(text, POSTGRES);
  const first = lexed.tokens.find((token) => token.kind !== 'symbol');

  const parse: PartParser = (part, { depth }) => {
    const affordable =
      part.length <= SQL_BOUNDS.parsedText &&
      part.length <= budget.parsed &&
      budget.parses > 0 &&
      depth <= SQL_BOUNDS.nesting &&
      longestRowOfSigns(part) <= SQL_BOUNDS.signs;
    if (!affordable) return null;
    budget.parsed -= part.length;
    budget.parses -= 1;
    const statements = parser(part);
    return statements && statements.length > 0 ? readStatements(statements, procedure) : null;
  };

  if (first?.kind === 'word' && STATEMENT_WORDS.has(first.text)) {
    const reading = parse(text, lexed);
    if (reading) return wholeText(text, lexed, reading);
  }
  const looks = looksOf(text, lexed, parse);
  if (looks) return looks;
  const mention = mentionOf(lexed.tokens);
  if (mention) return { ...mention, form: 'mention' };
  return other;
}

/** What a procedural block does when it runs. */
const procedure = (body: string): Reading | null => {
  const { tokens } = lex(body, POSTGRES);
  const texts = tokens.filter((token) => token.kind === 'text');
  const inside = [block(tokens), ...texts.map((token) => shapeOf(lex(token.text, POSTGRES).tokens))];
  return inside.reduce<Reading | null>((worst, one) => (worst && one ? worse(worst, one) : (one ?? worst)), null);
};

/** A text that Postgres reads from end to end. */
function wholeText(text: string, lexed: Lexed, reading: Reading): TextFinding | null {
  const { tokens } = lexed;
  if (namesOnlyPronouns(tokens)) return { ...reading, form: 'prose' };
  if (reading.effect === 'read') return { ...(otherwiseRead(text, tokens) ?? reading), form: 'statement' };
  return { ...reading, form: couldBeEnglish(tokens) ? 'phrase' : 'statement' };
}

/** What another database may make of a text that is a read to Postgres: its comments and strings end elsewhere. */
function otherwiseRead(text: string, tokens: readonly Token[]): Reading | null {
  const mine = hotWords(tokens);
  if (mine) return { effect: 'unreadable', kind: `SELECT with ${mine.toUpperCase()}` };
  if (!/[\\`[#$]|\/\*|--/.test(text)) return null;
  for (const lexing of OTHER_LEXINGS) {
    const { tokens: others } = lex(text, lexing);
    const word = hotWords(others);
    const ends = others.findIndex((token) => token.kind === 'symbol' && token.text === ';');
    if (word || (ends >= 0 && ends < others.length - 1))
      return { effect: 'unreadable', kind: 'a text that databases read differently' };
  }
  return null;
}

/** A changing word where a statement's word could stand, or undefined. */
function hotWords(tokens: readonly Token[]): string | undefined {
  return tokens.find((token, at) => {
    const [before, after] = [tokens[at - 1], tokens[at + 1]];
    return (
      token.kind === 'word' &&
      (CHANGING_WORDS.has(token.text) || /^(?:xp|sp)_[a-z]/.test(token.text)) &&
      !(before?.kind === 'symbol' && before.text === '.') &&
      !(after?.kind === 'symbol' && after.text === '.')
    );
  })?.text;
}

/** "Delete from my list" is a statement about a table "my" to a grammar, and to nobody else. */
function namesOnlyPronouns(tokens: readonly Token[]): boolean {
  const leading = new Set([
    'delete',
    'from',
    'only',
    'update',
    'truncate',
    'table',
    'drop',
    'if',
    'exists',
    'lock',
    'analyze',
    'show',
    'select',
    'grant',
  ]);
  const target = tokens.find(
    (token) => !(token.kind === 'word' && (leading.has(token.text) || OBJECT_WORDS.has(token.text))),
  );
  return target?.kind === 'word' && DETERMINERS.has(target.text);
}

/** Bare words throughout, and none of the forms that only SQL has: "grant access on Monday to Bob", "truncate description". */
const couldBeEnglish = (tokens: readonly Token[]): boolean =>
  tokens.every((token, at) => {
    const next = tokens[at + 1]?.text ?? '';
    if (token.kind !== 'word' || ['update', 'insert', 'with'].includes(token.text)) return false;
    if (token.text === 'delete') return next !== 'from';
    if (token.text === 'merge') return next !== 'into';
    return !(['drop', 'truncate'].includes(token.text) && OBJECT_WORDS.has(next));
  });

/** A text that Postgres refuses: each of its statements by the parser, else by its shape, as every database splits it. */
function looksOf(text: string, lexed: Lexed, parse: PartParser): TextFinding | null {
  const special = /[\\`[#$]|\/\*|--/.test(text);
  let worst: Reading | null = null;
  const add = (reading: Reading | null): void => {
    if (reading) worst = worst ? worse<Reading>(worst, reading) : reading;
  };
  const readings = [{ text, ...lexed }];
  if (special) readings.push(...OTHER_LEXINGS.map((lexing) => ({ text, ...lex(text, lexing) })));
  // Put between quotes by whoever builds the statement, a quote of its own ends the text there.
  const between = `'${text}'`;
  if (text.includes("'")) readings.push({ text: between, ...lex(between, POSTGRES) });
  for (const { text: whole, ...lexedSo } of readings) {
    const { tokens } = lexedSo;
    const parts = pieces(tokens, whole);
    for (const piece of parts) {
      const shape = shapeOf(piece);
      add(shape);
      const [first, last] = [piece[0], piece.at(-1)];
      if (shape?.effect === 'destructive' || !first || !last || parts.length === 1) continue;
      if (first.kind !== 'word' || !STATEMENT_WORDS.has(first.text)) continue;
      const reading = parse(whole.slice(first.from, last.to), lexedSo);
      if (reading && reading.effect !== 'session' && !namesOnlyPronouns(piece) && !couldBeEnglish(piece))
        add(worse(reading, { effect: 'unreadable', kind: reading.kind }));
    }
    add(fragmentOf(tokens));
  }
  return worst && { ...(worst as Reading), form: 'statement' };
}
