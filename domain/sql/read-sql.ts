import type { SqlFinding, SqlInArguments } from '../../contracts/policy.js';
import { ownName } from '../argument-names.js';
import { eachText, lowered, namesAmong, scalarsIn } from '../argument-texts.js';
import { type Checkpoint, unlimited } from '../in-place.js';
import { decodeEscapes } from '../inspection/escapes.js';
import { visibleText } from '../visible-text.js';
import { lex, longestRowOfSigns, OTHER_LEXINGS, POSTGRES, type Lexed, type Token } from './lexer.js';
import { block, buriedShape, fragmentOf, mentionOf, pieces, shapeOf } from './shapes.js';
import { clientActOf } from './client-commands.js';
import { createAskedTexts, type SqlArgumentNames } from './asked-texts.js';
import { EFFECTS, onlyTarget, readStatements, worse, type Reading } from './statements.js';
import {
  CHANGING_WORDS,
  CLAUSE_ARGUMENTS,
  DETERMINERS,
  isActingFunction,
  OBJECT_WORDS,
  SESSION_WORDS,
  STATEMENT_WORDS,
} from './vocabulary.js';
import type { SqlNode, SqlParser } from './tree.js';

/**
 * Limits on how much SQL is read in the arguments of one request. A text beyond them that contains a statement word counts as unreadable.
 */
export const SQL_BOUNDS = {
  /** The longest text given to the parser, in characters. */
  parsedText: 16_384,
  /** Characters parsed per request, and the number of parses. */
  parsed: 65_536,
  parses: 256,
  /** Characters split into tokens per request. */
  read: 65_536,
  /**
   * The deepest nesting of brackets and comments. The parser's time grows with the square of the comment depth (200 kB of nested comments:
   * 84 s).
   */
  nesting: 200,
  /**
   * The longest run of operator characters. From each of them the parser searches for the operator again (16 kB: 2 s). Postgres operators
   * have at most 63.
   */
  signs: 200,
  /** Findings kept, the worst first, one for each difference that matters to the rules. */
  findings: 32,
} as const;

export interface SqlReaderOptions {
  readonly parser: SqlParser;
  readonly names: SqlArgumentNames;
}

/**
 * Finds the SQL in the arguments of a call. The result depends only on the arguments and on `share`, the call's part of the request's
 * reading budget (1 for a single call). Takes linear time, and throws only what `checkpoint` throws, which is called between the pieces.
 */
export type SqlReader = (argumentsOfCall: unknown, share?: number, checkpoint?: Checkpoint) => SqlInArguments;

const NOTHING: SqlInArguments = { worst: 'none', found: [], more: false, other: [] };

/** The calls of a batch share the budget of one call, so a hundred calls cost no more than one. */
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
  // Arguments that contain only statements. A text there is reported even when it cannot be parsed.
  const strict = new Set([...names.statement_arguments, ...names.sql_arguments]);
  const pure = new Set(names.sql_arguments);
  const lists = new Set(names.word_arguments);
  // The rules distinguish places by these names only, so otherwise equal findings are kept once.
  const told = namesAmong([...names.sql_arguments, ...names.carriers.flatMap((carrier) => carrier.arguments)]);
  const asking = createAskedTexts(names);
  return (value, share = 1, checkpoint = unlimited) => {
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
      const last = low.at(-1) ?? '';
      return {
        parser,
        budget,
        checkpoint,
        strict: strict.has(last) || strict.has(ownName(low)),
        within: low.some((name) => strict.has(name)),
        clause: CLAUSE_ARGUMENTS.has(last),
      };
    };
    /** Reads a text that only results from decoding or joining. Counts changes, but not what merely looks like a statement. */
    const readDerived = (text: string, path: readonly string[], inPieces = false): void => {
      checkpoint();
      if (!hasChangingWord(text)) return;
      const finding = readText(text, optionsAt(path));
      const beyond = finding?.kind === BEYOND;
      if (finding && (beyond || finding.effect === 'destructive' || finding.effect === 'change' || finding.buried))
        keep(inPieces && finding.form === 'statement' ? { ...finding, form: 'phrase' } : finding, path);
    };
    const read = (text: string, path: readonly string[], isName: boolean): void => {
      checkpoint();
      const options = optionsAt(path);
      // Also reads the text as a person or a tool may see it: invisible characters removed, full-width letters made plain.
      const plain = visibleText(text);
      const findings = (plain === text ? [text] : [text, plain]).map((reading) => readText(reading, options));
      for (const finding of findings) if (finding) keep(finding, path);
      const isRead = findings.every((finding) => finding?.effect === 'read' && finding.form === 'statement');
      const act = clientActOf(plain, isRead || lowered(path).some((name) => pure.has(name)));
      if (act) keep({ effect: 'unreadable', kind: act, form: 'mention' }, path);
      if (isRead) {
        proven.read = true;
        proven.withPlaces ||= findings.every((finding) => finding?.withPlaces);
      } else asked.note(text, path, isName);
      const undone = /[%&\\]/.test(plain) ? decodeEscapes(plain) : plain;
      if (undone !== plain) readDerived(undone, path);
      const sent = /\+|%2b/i.test(plain) ? asFormsSend(plain) : '';
      if (sent !== '') readDerived(sent, path);
    };
    // What stands in the arguments as it is comes first: joined texts must not use up what is read of them.
    const joins: (() => void)[] = [];
    eachText(value, {
      text: read,
      // A statement split into pieces: ["DROP", "TABLE", "accounts"]. English words can form one too, so such a list alone never denies a
      // call.
      list: (items, path, isColumn = false) => {
        const isWordList = lists.has(lowered(path).at(-1) ?? '') && items.every((item) => /^[\w.-]{1,64}$/.test(item));
        if (isWordList) return;
        for (const run of runsOf(items, isColumn ? 0 : JOINED_WHOLE)) {
          readDerived(run, path, true);
          // Some tools quote what they join, and then a number is a name too.
          const named = run.replaceAll(/(^| )(?=[0-9]+(?:$| ))/g, '$1n');
          if (named !== run) readDerived(named, path, true);
        }
      },
      // A statement's head beside its objects: {"query": "DROP TABLE", "name": "accounts"}.
      members: (members, path) => {
        checkpoint();
        const heads = members.flatMap(([name, value], at): Head[] => [
          ...(isWholeHead(name) ? [{ head: name, name, at: -1, whole: true }] : []),
          ...(typeof value === 'string' && (isWholeHead(value) || (strict.has(name.toLowerCase()) && isHead(value)))
            ? [{ head: value, name, at, whole: isWholeHead(value) }]
            : []),
        ]);
        if (heads.length === 0) return;
        // Not cut off: what is not read must not hide behind what is.
        if (heads.length > HEADS) keep({ effect: 'unreadable', kind: BEYOND, form: 'phrase' }, path);
        joins.push(() => {
          for (const { head, name, at, whole } of heads.slice(0, HEADS)) {
            const others = members.flatMap(([other, value], place) =>
              place === at || lists.has(other.toLowerCase()) ? [] : piecesOf(value, whole),
            );
            if (others.length === 0) continue;
            const here = [...path, name];
            const kinds = [...new Set(others.map((one) => one.trim().toLowerCase()).filter(isKind))];
            if (kinds.length > KINDS || others.some(isHidden))
              keep({ effect: 'unreadable', kind: BEYOND, form: 'phrase' }, here);
            const begun = [head, ...kinds.slice(0, KINDS)].join(' ');
            const rest = others.filter((one) => !isKind(one.trim().toLowerCase()));
            // The author of a call chooses the order of its members: DROP, users, TABLE. Names before clauses: INSERT INTO, VALUES (1), users.
            const named = rest.toSorted((one, other) => Number(!isShort(one)) - Number(!isShort(other)));
            for (const joined of new Set(
              [
                [head, ...others],
                [begun, ...rest],
                [begun, ...named],
              ].map(inLines),
            ))
              readDerived(joined, here, true);
            // What else an object holds, a note or an address, completes no statement.
            if (rest.length > 1) for (const one of rest) readDerived(inLines([begun, one]), here, true);
          }
        });
      },
    });
    for (const join of joins) join();
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

/** A list longer than this is joined only where it holds a changing word, so that a list of data does not use up what is read. */
const JOINED_WHOLE = 256;
/** Items joined behind a changing word, and the longest of them: the pieces of a statement are short. */
const RUN = 16;
const LONGEST_PIECE = 256;

/** The parts of a list that may be a statement in pieces. */
function runsOf(items: readonly string[], whole: number): readonly string[] {
  if (items.length <= whole) return [items.join(' ')];
  const runs: string[] = [];
  let run: string[] = [];
  let left = 0;
  for (const item of items) {
    const isPiece = item.length <= LONGEST_PIECE;
    if (isPiece && hasChangingWord(item)) left = RUN;
    if (isPiece && left > 0) run.push(item);
    left -= 1;
    if (left > 0 || run.length === 0) continue;
    runs.push(run.join(' '));
    run = [];
  }
  return run.length > 0 ? [...runs, run.join(' ')] : runs;
}

interface Head {
  readonly head: string;
  readonly name: string;
  /** Which of the members it is the value of: -1 for a member's name. */
  readonly at: number;
  readonly whole: boolean;
}
const isHead = (text: string): boolean => /^\s*[A-Za-z]+(?:\s+[A-Za-z]+){0,2}\s*$/.test(text) && hasChangingWord(text);
/**
 * `DROP TABLE`, `delete from`, `DROP TABLE IF EXISTS`, `update users set`, and a DROP alone: other single words begin many a sentence.
 * Anywhere, whatever the name of its argument.
 */
function isWholeHead(text: string): boolean {
  if (text.length > LONGEST_HEAD || !hasChangingWord(text)) return false;
  const { tokens } = lex(text, POSTGRES);
  if (tokens.length > HEAD_WORDS || tokens.some(({ kind }) => kind === 'text' || kind === 'number')) return false;
  const words = tokens.flatMap(({ kind, text: word }) => (kind === 'word' ? [word] : []));
  if (words.length === 1) return tokens.length === 1 && REMOVES.has(words[0] ?? '');
  return words.some(
    (word, at) =>
      CHANGING_WORDS.has(word) &&
      [words[at + 1], words[at + 2], words.at(-1)].some(
        (next = '') => BEHIND_HEAD.has(next) || OBJECT_WORDS.has(next) || (next === 'all' && OF_RIGHTS.has(word)),
      ),
  );
}
const REMOVES = new Set(['drop', 'truncate']);
const isKind = (text: string): boolean => OBJECT_WORDS.has(text);
const BEHIND_HEAD = new Set(['from', 'into', 'set', 'values']);
const OF_RIGHTS = new Set(['grant', 'revoke', 'deny']);
const LONGEST_HEAD = 128;
const HEAD_WORDS = 8;
/** Heads of statements among the members of one object that are joined with the others: each costs a text of all of them. */
const HEADS = 4;
/** Kinds of objects beside a head, which stand in each of its joined texts. */
const KINDS = 4;
const isShort = (value: unknown): value is string => typeof value === 'string' && /^[\w."`-]{1,64}$/.test(value);
/** What may complete a head: of a long text its beginning does, or nothing. */
const piecesOf = (value: unknown, whole: boolean): readonly string[] =>
  (whole ? scalarsIn([value]) : typeof value === 'string' ? [value] : [])
    .map((text) => text.trimStart().slice(0, LONGEST_PIECE))
    .filter((text) => text !== '');
/** A comment or a quote that does not end within what is read of a text: what completes the head may stand behind it. */
const isHidden = (text: string): boolean =>
  text.length === LONGEST_PIECE &&
  [POSTGRES, ...OTHER_LEXINGS].some((lexing) => {
    const [first] = lex(text, lexing).tokens;
    return first === undefined || (first.kind === 'symbol' && ['/', '"'].includes(first.text));
  });
/** To SQL a line break is a blank; what is English is read line by line. */
const inLines = (pieces: readonly string[]): string => pieces.join('\n');

const RANKS: readonly SqlFinding['effect'][] = ['text', ...EFFECTS];

interface TextOptions {
  readonly parser: SqlParser;
  readonly budget: Budget;
  readonly checkpoint: Checkpoint;
  /** The argument contains only statements. */
  readonly strict: boolean;
  /** The argument, or one that encloses it, contains only statements. */
  readonly within: boolean;
  /** The argument contains a part of a statement that the tool completes. */
  readonly clause: boolean;
}
interface Parsed {
  readonly statements: readonly SqlNode[];
  readonly reading: Reading;
}
/** Parses a part with the Postgres parser, if its tokens show that this takes bounded time. */
type PartParser = (part: string, lexed: Lexed) => Parsed | null;
interface TextFinding extends Omit<SqlFinding, 'path'> {
  /** A change in the middle of a text. */
  readonly buried?: boolean;
  /** The statement has placeholders for values: `$1`, `?`, `:name`. */
  readonly withPlaces?: boolean;
}

/** Decodes the parts of a text that are encoded like a form, `DROP+TABLE+accounts`, one part per line, including their other escapes. */
function asFormsSend(text: string): string {
  const parts = text.split(/\s/).filter((part) => /\+|%2b/i.test(part));
  return decodeEscapes(parts.join('\n')).replaceAll('+', ' ');
}

const BEYOND = 'more text than is read';

/** Every statement contains a match of this; a function in a part of one may have any name. */
const HINT = /\b[a-z][a-z_]+\b/i;

function readText(
  text: string,
  { parser, budget, checkpoint, strict, within, clause }: TextOptions,
): TextFinding | null {
  const other = strict && text.trim() !== '' ? ({ effect: 'text', kind: 'text', form: 'statement' } as const) : null;
  if (!clause && !HINT.test(text)) return other;
  if (text.length > budget.read) {
    return mayHoldStatement(text) ? { effect: 'unreadable', kind: BEYOND, form: 'statement' } : other;
  }
  budget.read -= text.length;
  const lexed = lex(text, POSTGRES);
  const first = lexed.tokens.find((token) => token.kind !== 'symbol');

  const parse: PartParser = (part, { depth }) => {
    if (part.length > budget.parsed || budget.parses <= 0 || !isParsedSoon(part, depth)) return null;
    checkpoint();
    budget.parsed -= part.length;
    budget.parses -= 1;
    const statements = parser(part);
    return statements && statements.length > 0 ? { statements, reading: readStatements(statements, procedure) } : null;
  };

  if (first?.kind === 'word' && STATEMENT_WORDS.has(first.text)) {
    const parsed = parse(text, lexed);
    const withPlaces = lexed.tokens.some((token, at) => isPlace(token, lexed.tokens[at + 1]));
    if (parsed) return { ...wholeText(text, lexed, parsed), withPlaces };
    // Parses the statement as a driver sees it before it fills in the values.
    const filled = withPlaces ? parse(withValues(text, lexed.tokens), lexed) : null;
    if (filled?.reading.effect === 'read') return { ...wholeText(text, lexed, filled), withPlaces };
  }
  const looks = looksOf(text, lexed, parse);
  if (looks) return looks;
  const acts = clause ? clauseOf(text, lexed, parse) : null;
  if (acts) return { ...acts, form: 'phrase' };
  const mention = mentionOf(lexed.tokens);
  if (mention) return { ...mention, form: 'mention' };
  const head = headOf(text, lexed.tokens);
  if (head === undefined) return other;
  // No grammar here knows the text, but it starts like a statement. In a statement argument it counts as unreadable; elsewhere it is only
  // mentioned.
  return within
    ? { effect: 'unreadable', kind: head.toUpperCase(), form: 'mention' }
    : { effect: 'text', kind: 'text', form: 'mention' };
}

/** Whether the parser takes bounded time for a text, whose comments and brackets are nested so deep. */
export const isParsedSoon = (text: string, depth: number): boolean =>
  text.length <= SQL_BOUNDS.parsedText && depth <= SQL_BOUNDS.nesting && longestRowOfSigns(text) <= SQL_BOUNDS.signs;

/** What a tool may put before a condition, a list of columns, an order or a table. */
const BEFORE_CLAUSE = ['SELECT', 'SELECT 1 ORDER BY', 'SELECT 1 FROM'];

/** What a part of a statement does when its tool completes it: a function that it calls runs. Null for what only reads, and for English. */
function clauseOf(text: string, lexed: Lexed, parse: PartParser): Reading | null {
  const { tokens } = lexed;
  const calls = tokens.some(
    ({ kind }, at) =>
      (kind === 'word' || kind === 'name') && tokens[at + 1]?.text === '(' && tokens[at + 1]?.kind === 'symbol',
  );
  if (!calls) return null;
  const filled = tokens.some((token, at) => isPlace(token, tokens[at + 1])) ? withValues(text, tokens) : text;
  for (const before of BEFORE_CLAUSE) {
    const parsed = parse(`${before} ${filled}`, lexed);
    if (parsed) return parsed.reading.effect === 'read' ? null : parsed.reading;
  }
  return null;
}

/** A placeholder for a value: `$1`, `?`, `:name`, `@name`. */
const isPlace = (token: Token, next: Token | undefined): boolean =>
  (token.kind === 'symbol' &&
    (token.text === '?' ||
      (next?.from === token.to &&
        ((token.text === '$' && next.kind === 'number') || (token.text === ':' && next.kind === 'word'))))) ||
  (token.kind === 'word' && /^@[a-z]/.test(token.text));

/** Replaces the placeholders that Postgres cannot parse by `$1`. */
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

/** The first SQL statement word that starts one of the text's statements, or undefined. */
function headOf(text: string, tokens: readonly Token[]): string | undefined {
  for (const piece of pieces(tokens, text)) {
    const start = piece.findIndex((token) => token.kind !== 'symbol');
    const head = piece[start];
    if (head?.kind !== 'word' || !STATEMENT_WORDS.has(head.text)) continue;
    // A single word is usually a setting's value: `desc`, `table`, `show`.
    if (piece.length > start + 1 || head.text === 'reindex') return head.text;
  }
  return undefined;
}

/** For a text too long to read, the number of characters searched for its first word. */
const HEAD_LENGTH = 1_024;

/** Whether a text too long to read may contain a statement. When in doubt, it may. */
function mayHoldStatement(text: string): boolean {
  const head = lex(text.slice(0, HEAD_LENGTH), POSTGRES).tokens.find((token) => token.kind === 'word');
  // JSON can write any letter as an escape.
  return !head || STATEMENT_WORDS.has(head.text) || /;|\\u00/.test(text) || hasChangingWord(text);
}

/** Whether a changing word, or the name of a function that acts, occurs anywhere, also in quotes and comments. Some databases read `1delete` as two words. */
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
      if (CHANGING_WORDS.has(word) || /^(?:xp|sp)_[a-z]/.test(word) || isActingFunction(word)) return true;
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

/** Judges a text that Postgres parses completely. */
function wholeText(text: string, lexed: Lexed, { statements, reading }: Parsed): TextFinding {
  const { tokens } = lexed;
  if (isProse(statements, tokens)) return { ...reading, form: 'prose' };
  if (reading.effect === 'read') return { ...(otherwiseRead(text, tokens) ?? reading), form: 'statement' };
  // "Notify team" only affects the connection, and is also English. SET ROLE is neither.
  const effect = reading.effect === 'session' && !couldBeRemark(tokens) ? 'change' : reading.effect;
  return { ...reading, effect, form: couldBeEnglish(tokens) ? 'phrase' : 'statement' };
}

/** What another database may do with a text that is a read to Postgres: its comments and strings end in other places. */
function otherwiseRead(text: string, tokens: readonly Token[]): Reading | null {
  const mine = hotWords(tokens);
  if (mine) return { effect: 'unreadable', kind: `SELECT with ${mine.toUpperCase()}` };
  if (!/[\\`[#$]|\/\*|--/.test(text)) return null;
  const runs = { effect: 'unreadable', kind: 'a text that databases read differently' } as const;
  if (holdsLiveComment(text, tokens)) return runs;
  for (const lexing of OTHER_LEXINGS) {
    const { tokens: others } = lex(text, lexing);
    if (holdsLiveComment(text, others)) return runs;
    const word = hotWords(others);
    const ends = others.findIndex((token) => token.kind === 'symbol' && token.text === ';');
    if (word || (ends >= 0 && ends < others.length - 1))
      return { effect: 'unreadable', kind: 'a text that databases read differently' };
  }
  return null;
}

/** Whether the text holds what MySQL, MariaDB and TiDB run, or an optimizer obeys, outside of quotes: a comment that starts with `!`, a letter and `!`, or `+`. */
function holdsLiveComment(text: string, tokens: readonly Token[]): boolean {
  const quoted = tokens.filter(({ kind }) => kind === 'text' || kind === 'name');
  let next = 0;
  for (let at = text.indexOf('/*'); at >= 0; at = text.indexOf('/*', at + 2)) {
    while (next < quoted.length && (quoted[next]?.to ?? 0) <= at) next += 1;
    if ((quoted[next]?.from ?? text.length) > at && /^\/\*(?:[a-z]?!|\+)/i.test(text.slice(at, at + 4))) return true;
  }
  return false;
}

/** The first changing word in a position where a statement could start, or undefined. */
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

/** "Delete from my list" is a statement about the table "my" only to a grammar. */
const isProse = (statements: readonly SqlNode[], tokens: readonly Token[]): boolean =>
  DETERMINERS.has(onlyTarget(statements) ?? '') &&
  tokens.every(({ kind, text }) => (kind === 'word' && !['as', 'cascade', 'only'].includes(text)) || text === ';');

/** Whether a statement that only affects the connection could be English: "set status to done", "lock doors". */
const couldBeRemark = (tokens: readonly Token[]): boolean =>
  tokens.every(({ kind, text }) => (kind === 'word' && !text.includes('_') && text !== 'mode') || text === ';') &&
  !SESSION_WORDS.has(tokens[1]?.text ?? '') &&
  tokens[0]?.text !== 'vacuum';

/**
 * Whether a statement could be English: only bare words, and none of the forms that exist only in SQL. Examples: "grant access on Monday to
 * Bob", "truncate description".
 */
const couldBeEnglish = (tokens: readonly Token[]): boolean =>
  tokens.every((token, at) => {
    const next = tokens[at + 1]?.text ?? '';
    if (token.kind !== 'word' || ['update', 'insert', 'with'].includes(token.text)) return false;
    if (token.text === 'delete') return next !== 'from';
    if (token.text === 'merge') return next !== 'into';
    return !(['drop', 'truncate'].includes(token.text) && OBJECT_WORDS.has(next));
  });

/**
 * Judges a text that Postgres rejects. Splits it into statements as each database would, and judges each one by the parser or else by its
 * shape.
 */
function looksOf(text: string, lexed: Lexed, parse: PartParser): TextFinding | null {
  const special = /[\\`[#$]|\/\*|--/.test(text);
  let worst: Reading | null = null;
  let labelled: Reading | null = null;
  const add = (reading: Reading | null): void => {
    if (reading) worst = worst ? worse<Reading>(worst, reading) : reading;
  };
  const readings = [{ text, ...lexed }];
  if (special) readings.push(...OTHER_LEXINGS.map((lexing) => ({ text, ...lex(text, lexing) })));
  // If the caller's tool puts the text between quotes, a quote in the text ends the string early.
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

/** Positions tried per piece; each costs a parse. */
const LABELS = 16;

/** A statement after a word, a colon or a line break: `note: DELETE FROM users`, `sql DROP TABLE x`, a statement on a line of its own. */
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

/** The deepest nesting of quotes that is searched. */
const QUOTES = 3;

/** A change anywhere in a text, whatever comes before it, also between quotes. Each quoted part is searched once. */
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
