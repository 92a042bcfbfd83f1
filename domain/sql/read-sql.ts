import type { SqlFinding, SqlFacts } from '../../contracts/policy.js';
import { eachText, lowered, namesAmong } from '../argument-texts.js';
import { decodeEscapes } from '../inspection/escapes.js';
import { lex, longestRowOfSigns, OTHER_LEXINGS, POSTGRES, type Lexed, type Token } from './lexer.js';
import type { SqlNode, SqlParser } from './parser.js';
import { block, buriedShape, fragmentOf, mentionOf, pieces, shapeOf } from './shapes.js';
import { createAskedTexts, type SqlArgumentNames } from './asked-texts.js';
import { EFFECTS, onlyTarget, readStatements, worse, type Reading } from './statements.js';
import { CHANGING_WORDS, DETERMINERS, OBJECT_WORDS, SESSION_WORDS, STATEMENT_WORDS } from './words.js';

/** What is read for SQL in the arguments of one request. What lies beyond and has a statement's word in it cannot be vouched for. */
export const SQL_BOUNDS = {
  /** Characters of one text given to the parser. */
  parsedText: 16_384,
  /** Characters parsed of one request, and times. */
  parsed: 65_536,
  parses: 256,
  /** Characters split into tokens of one request. */
  read: 65_536,
  /** Brackets and comments within each other: the parser's time grows with the square of the latter (200 kB of them: 84 s). */
  nesting: 200,
  /** Signs in a row: it looks for the operator in them again from each (16 kB: 2 s). Postgres' longest operator has 63. */
  signs: 200,
  /** Findings kept, the worst first, those that the rules tell apart. */
  findings: 32,
} as const;

export interface SqlReaderOptions {
  readonly parser: SqlParser;
  readonly names: SqlArgumentNames;
}

/**
 * What SQL the arguments of a call hold. A function of the arguments alone and of the call's share of what is read of a request (1 where it
 * is the only call); linear in their length; never throws.
 */
export type SqlReader = (argumentsOfCall: unknown, share?: number) => SqlFacts;

const NOTHING: SqlFacts = { worst: 'none', found: [], more: false, other: [] };

/** The calls of a batch share what one call may cost: each gets its part, so that a hundred of them cost no more than one. */
const budgetOf = (share: number): Budget => ({
  parsed: Math.ceil(SQL_BOUNDS.parsed * share),
  parses: Math.ceil(SQL_BOUNDS.parses * share),
  read: Math.ceil(SQL_BOUNDS.read * share),
});

interface Budget {
  parsed: number;
  parses: number;
  read: number;
}

export const createSqlReader = ({ parser, names }: SqlReaderOptions): SqlReader => {
  // These hold nothing but statements: what cannot be read there is found too.
  const strict = new Set([...names.statement_arguments, ...names.sql_arguments]);
  const lists = new Set(names.word_arguments);
  // The rules tell places by these names and no others: what is alike otherwise is kept once.
  const told = namesAmong([...names.sql_arguments, ...names.carriers.flatMap((carrier) => carrier.arguments)]);
  const asking = createAskedTexts(names);
  return (value, share = 1) => {
    const budget = budgetOf(share);
    const kept = new Map<string, SqlFinding>();
    const keep = ({ effect, kind, form }: TextFinding, path: readonly string[]): void => {
      const key = [effect, kind, form, told(path)].join('\n');
      if (!kept.has(key)) kept.set(key, { effect, kind, form, path: [...path] });
    };
    const asked = asking();
    const proven = { read: false, withPlaces: false };
    const optionsAt = (path: readonly string[]): TextOptions => {
      const low = lowered(path);
      return {
        parser,
        budget,
        strict: strict.has(low.at(-1) ?? ''),
        within: low.some((name) => strict.has(name)),
      };
    };
    /** What a text only becomes: a change counts, and nothing that only looks like a statement. */
    const readDerived = (text: string, path: readonly string[], inPieces = false): void => {
      if (!hasChangingWord(text)) return;
      const finding = readText(text, optionsAt(path));
      const beyond = finding?.kind === BEYOND;
      if (finding && (beyond || finding.effect === 'destructive' || finding.effect === 'change' || finding.buried))
        keep(inPieces && finding.form === 'statement' ? { ...finding, form: 'phrase' } : finding, path);
    };
    const read = (text: string, path: readonly string[], isName: boolean): void => {
      const options = optionsAt(path);
      // What a person or a tool may take for the same: without what nobody sees, and with letters of every width made plain.
      const plain = /[^\0-\x7f]/.test(text) ? text.normalize('NFKC').replaceAll(INVISIBLE, '') : text;
      const findings = (plain === text ? [text] : [text, plain]).map((reading) => readText(reading, options));
      for (const finding of findings) if (finding) keep(finding, path);
      if (findings.every((finding) => finding?.effect === 'read' && finding.form === 'statement')) {
        proven.read = true;
        proven.withPlaces ||= findings.every((finding) => finding?.withPlaces);
      } else asked.note(text, path, isName);
      const undone = /[%&\\]/.test(plain) ? decodeEscapes(plain) : plain;
      if (undone !== plain) readDerived(undone, path);
      const sent = /\+|%2b/i.test(plain) ? asFormsSend(plain) : '';
      if (sent !== '') readDerived(sent, path);
    };
    eachText(value, {
      text: read,
      // A statement in pieces: ["DROP", "TABLE", "accounts"]. Words of English make one too, so nothing is denied for it alone.
      list: (items, path) => {
        const isWordList = lists.has(lowered(path).at(-1) ?? '') && items.every((item) => /^[\w.-]{1,64}$/.test(item));
        if (!isWordList) readDerived(items.join(' '), path, true);
      },
    });
    const found = [...kept.values()];
    const other = asked.places(proven);
    if (found.length === 0) return other.length === 0 ? NOTHING : { ...NOTHING, other };
    const rank = ({ effect }: SqlFinding): number => RANKS.indexOf(effect);
    found.sort((one, other) => rank(other) - rank(one));
    return {
      worst: found[0]?.effect ?? 'none',
      found: found.slice(0, SQL_BOUNDS.findings),
      more: found.length > SQL_BOUNDS.findings,
      other,
    };
  };
};

const INVISIBLE = /[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/g;
const RANKS: readonly SqlFinding['effect'][] = ['text', ...EFFECTS];

interface TextOptions {
  readonly parser: SqlParser;
  readonly budget: Budget;
  /** The argument holds nothing but statements. */
  readonly strict: boolean;
  /** So does it, or one that it is in. */
  readonly within: boolean;
}
interface Parsed {
  readonly statements: readonly SqlNode[];
  readonly reading: Reading;
}
/** By Postgres' parser, where the part's tokens say that it will take it in bounded time. */
type PartParser = (part: string, lexed: Lexed) => Parsed | null;
interface TextFinding extends Omit<SqlFinding, 'path'> {
  /** A change in the middle of a text. */
  readonly buried?: boolean;
  /** A statement with places for values: `$1`, `?`, `:name`. */
  readonly withPlaces?: boolean;
}

/** The blanks of a form that is sent, `DROP+TABLE+accounts`: what of a text is written so, a line each, its other escapes undone. */
function asFormsSend(text: string): string {
  const parts = text.split(/\s/).filter((part) => /\+|%2b/i.test(part));
  return decodeEscapes(parts.join('\n')).replaceAll('+', ' ');
}

const BEYOND = 'more text than is read';

/** No text without one of these is a statement of any kind. */
const HINT = /\b(?:[a-z]{2,}|[xs]p_[a-z_]+)\b/i;

function readText(text: string, { parser, budget, strict, within }: TextOptions): TextFinding | null {
  const other = strict && text.trim() !== '' ? ({ effect: 'text', kind: 'text', form: 'statement' } as const) : null;
  if (!HINT.test(text)) return other;
  if (text.length > budget.read) {
    return mayHoldStatement(text) ? { effect: 'unreadable', kind: BEYOND, form: 'statement' } : other;
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
    return statements && statements.length > 0 ? { statements, reading: readStatements(statements, procedure) } : null;
  };

  if (first?.kind === 'word' && STATEMENT_WORDS.has(first.text)) {
    const parsed = parse(text, lexed);
    const withPlaces = lexed.tokens.some((token, at) => isPlace(token, lexed.tokens[at + 1]));
    if (parsed) return { ...wholeText(text, lexed, parsed), withPlaces };
    // As a driver has it before it puts values there.
    const filled = withPlaces ? parse(withValues(text, lexed.tokens), lexed) : null;
    if (filled?.reading.effect === 'read') return { ...wholeText(text, lexed, filled), withPlaces };
  }
  const looks = looksOf(text, lexed, parse);
  if (looks) return looks;
  const mention = mentionOf(lexed.tokens);
  if (mention) return { ...mention, form: 'mention' };
  const head = headOf(text, lexed.tokens);
  if (head === undefined) return other;
  // No grammar here knows it, and it begins as statements do: one where nothing but statements stand, and in a tool that speaks SQL.
  return within
    ? { effect: 'unreadable', kind: head.toUpperCase(), form: 'mention' }
    : { effect: 'text', kind: 'text', form: 'mention' };
}

/** `$1`, `?`, `:name`, `@name`: a place for a value. */
const isPlace = (token: Token, next: Token | undefined): boolean =>
  (token.kind === 'symbol' &&
    (token.text === '?' ||
      (next?.from === token.to &&
        ((token.text === '$' && next.kind === 'number') || (token.text === ':' && next.kind === 'word'))))) ||
  (token.kind === 'word' && /^@[a-z]/.test(token.text));

/** The text with `$1` for the places that Postgres' grammar has no word for. */
function withValues(text: string, tokens: readonly Token[]): string {
  let filled = '';
  let from = 0;
  tokens.forEach((token, at) => {
    const next = tokens[at + 1];
    if (token.kind !== 'symbol' || token.text === '$' || text[token.from - 1] === ':' || !isPlace(token, next)) return;
    filled += `${text.slice(from, token.from)} $1 `;
    from = token.text === '?' ? token.to : (next?.to ?? token.to);
  });
  return filled + text.slice(from);
}

/** The word that begins one of the text's statements, if any of them begins with one of SQL's. */
function headOf(text: string, tokens: readonly Token[]): string | undefined {
  for (const piece of pieces(tokens, text)) {
    const start = piece.findIndex((token) => token.kind !== 'symbol');
    const head = piece[start];
    if (head?.kind !== 'word' || !STATEMENT_WORDS.has(head.text)) continue;
    // Alone, most are a setting's value: `desc`, `table`, `show`.
    if (piece.length > start + 1 || head.text === 'reindex') return head.text;
  }
  return undefined;
}

/** Characters of a text that is not read at all in which its first word is looked for. */
const HEAD_LENGTH = 1_024;

/** Whether a text that is too long to be read can hold a statement: where it cannot be said that it does not, it may. */
function mayHoldStatement(text: string): boolean {
  const head = lex(text.slice(0, HEAD_LENGTH), POSTGRES).tokens.find((token) => token.kind === 'word');
  // A letter may be written as JSON writes any.
  return !head || STATEMENT_WORDS.has(head.text) || /;|\\u00/.test(text) || hasChangingWord(text);
}

/** A changing word anywhere, in quotes and comments too. `1delete` is two words to some databases. */
function hasChangingWord(text: string): boolean {
  const longest = 32;
  let from = 0;
  for (let at = 0; at <= text.length; at += 1) {
    if (at < text.length && isWordPart(text.charCodeAt(at))) continue;
    if (at > from && at - from <= longest) {
      const word = text
        .slice(from, at)
        .toLowerCase()
        .replace(/^\d+(?:e\d+)?/, '');
      if (CHANGING_WORDS.has(word) || /^(?:xp|sp)_[a-z]/.test(word)) return true;
    }
    from = at + 1;
  }
  return false;
}

const isWordPart = (code: number): boolean =>
  (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || code === 95 || (code >= 97 && code <= 122);

/** What a procedural block does when it runs. */
const procedure = (body: string): Reading | null => {
  const { tokens } = lex(body, POSTGRES);
  const texts = tokens.filter((token) => token.kind === 'text');
  const inside = [block(tokens), ...texts.map((token) => shapeOf(lex(token.text, POSTGRES).tokens))];
  return inside.reduce<Reading | null>((worst, one) => (worst && one ? worse(worst, one) : (one ?? worst)), null);
};

/** A text that Postgres reads from end to end. */
function wholeText(text: string, lexed: Lexed, { statements, reading }: Parsed): TextFinding {
  const { tokens } = lexed;
  if (isProse(statements, tokens)) return { ...reading, form: 'prose' };
  if (reading.effect === 'read') return { ...(otherwiseRead(text, tokens) ?? reading), form: 'statement' };
  // "Notify team" acts on the connection alone, and is English. SET ROLE is neither.
  const effect = reading.effect === 'session' && !couldBeRemark(tokens) ? 'change' : reading.effect;
  return { ...reading, effect, form: couldBeEnglish(tokens) ? 'phrase' : 'statement' };
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
const isProse = (statements: readonly SqlNode[], tokens: readonly Token[]): boolean =>
  DETERMINERS.has(onlyTarget(statements) ?? '') &&
  tokens.every(({ kind, text }) => (kind === 'word' && !['as', 'cascade', 'only'].includes(text)) || text === ';');

/** What acts on the connection, and is not told from English by any of its words: "set status to done", "lock doors". */
const couldBeRemark = (tokens: readonly Token[]): boolean =>
  tokens.every(({ kind, text }) => (kind === 'word' && !text.includes('_') && text !== 'mode') || text === ';') &&
  !SESSION_WORDS.has(tokens[1]?.text ?? '') &&
  tokens[0]?.text !== 'vacuum';

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
  let labelled: Reading | null = null;
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
      const behind = behindLabel(piece, whole, (part) => parse(part, lexedSo));
      if (behind) labelled = labelled ? worse<Reading>(labelled, behind) : behind;
      const [first, last] = [piece[0], piece.at(-1)];
      if (shape?.effect === 'destructive' || !first || !last || parts.length === 1) continue;
      if (first.kind !== 'word' || !STATEMENT_WORDS.has(first.text)) continue;
      const parsed = parse(whole.slice(first.from, last.to), lexedSo);
      if (!parsed || isProse(parsed.statements, piece) || couldBeEnglish(piece)) continue;
      const { reading } = parsed;
      if (reading.effect !== 'session' || !couldBeRemark(piece))
        add(worse(reading, { effect: 'unreadable', kind: reading.kind }));
    }
    add(fragmentOf(tokens));
  }
  if (worst) return { ...(worst as Reading), form: 'statement' };
  if (labelled) return { ...(labelled as Reading), form: 'phrase' };
  const buried = readings.reduce<Reading | null>((before, { tokens }) => before ?? buriedIn(text, tokens), null);
  return buried && { ...buried, form: 'phrase', buried: true };
}

/** So many places of a piece are tried: each costs a parse. */
const LABELS = 16;

/** `note: DELETE FROM users`, `sql DROP TABLE x`, a statement on a line of its own: what stands behind a word, a colon or a line's end. */
function behindLabel(piece: readonly Token[], whole: string, parse: (part: string) => Parsed | null): Reading | null {
  const last = piece.at(-1);
  let tried = 0;
  for (let at = 1; at < piece.length && tried < LABELS; at += 1) {
    const [before, token] = [piece[at - 1] as Token, piece[at] as Token];
    if (token.kind !== 'word' || !STATEMENT_WORDS.has(token.text)) continue;
    const bare = at === 1 && before.kind === 'word';
    const colon = before.kind === 'symbol' && [':', '>', '-', '='].includes(before.text);
    if (!bare && !colon && !whole.slice(before.to, token.from).includes('\n')) continue;
    tried += 1;
    const part = piece.slice(at);
    const parsed = parse(whole.slice(token.from, last?.to));
    if (!parsed) {
      const shape = shapeOf(part);
      if (shape?.effect === 'destructive') return shape;
      continue;
    }
    const { effect } = parsed.reading;
    if (isProse(parsed.statements, part)) continue;
    if (effect === 'destructive' || ((effect === 'change' || effect === 'unreadable') && !couldBeEnglish(part)))
      return parsed.reading;
  }
  return null;
}

/** Quotes within quotes that are looked into. */
const QUOTES = 3;

/** A change anywhere in a text, whatever stands before it, also between quotes: what they hold are parts of the text, none of them twice. */
function buriedIn(text: string, tokens: readonly Token[], depth = 0): Reading | null {
  const found = buriedShape(tokens, text);
  if (found || depth >= QUOTES) return found;
  for (const token of tokens) {
    if ((token.kind !== 'text' && token.kind !== 'name') || !/\s/.test(token.text)) continue;
    const inside = buriedIn(token.text, lex(token.text, POSTGRES).tokens, depth + 1);
    if (inside) return inside;
  }
  return null;
}
