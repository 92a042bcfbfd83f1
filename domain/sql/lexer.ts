/** How a database splits a text into tokens. The same characters can be code to one database and a comment or a string to another. */
export interface Lexing {
  /** A backslash in a quoted text escapes the next character. */
  readonly backslash?: boolean;
  /** E'...' strings take backslash escapes, as in Postgres. */
  readonly escapeStrings?: boolean;
  /** $tag$ ... $tag$ */
  readonly dollar?: boolean;
  readonly backtick?: boolean;
  /** [name] */
  readonly bracket?: boolean;
  /** # starts a comment. */
  readonly hash?: boolean;
  /** `--` starts a comment only when a blank follows. */
  readonly dashNeedsBlank?: boolean;
  /** Comments nest. */
  readonly nested?: boolean;
  /** The content of a comment that starts with `/*!`, `/*M!` or `/*T!` is code. */
  readonly conditional?: boolean;
}

export const POSTGRES: Lexing = { escapeStrings: true, dollar: true, nested: true };
const MYSQL: Lexing = { backslash: true, backtick: true, hash: true, dashNeedsBlank: true, conditional: true };
const TRANSACT: Lexing = { bracket: true, nested: true };
const SQLITE: Lexing = { bracket: true, backtick: true };
export const OTHER_LEXINGS: readonly Lexing[] = [MYSQL, TRANSACT, SQLITE];

export interface Token {
  readonly kind: 'word' | 'name' | 'text' | 'number' | 'symbol';
  /** A word in lower case; a symbol unchanged; for quoted tokens, the text between the quotes. */
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

export interface Lexed {
  readonly tokens: readonly Token[];
  /** The deepest nesting of brackets and comments. */
  readonly depth: number;
}

const BLANK = /\s|\ufeff/;
const WORD_START = /[A-Za-z_\u0080-\uffff@]/;
const WORD = /[A-Za-z0-9_$\u0080-\uffff@]/;
const DIGIT = /[0-9]/;
const NUMBER = /[0-9A-Za-z_.]/;
/** After this many unclosed quotes, a quote counts as an ordinary character: each unclosed quote costs a scan to the end of the text. */
const UNTERMINATED_LOOKS = 4;

/** The tokens of a text without its comments, in linear time. The content of an unclosed quote or comment is read as code. Never throws. */
export function lex(text: string, lexing: Lexing): Lexed {
  const tokens: Token[] = [];
  const length = text.length;
  let unterminated = 0;
  let depth = 0;
  let brackets = 0;
  let conditional = 0;
  let at = 0;
  const push = (kind: Token['kind'], from: number, to: number, inside = text.slice(from, to)): void => {
    tokens.push({ kind, text: inside, from, to });
    at = to;
  };

  /** The position after the closing quote, or -1. A doubled quote inside stands for one quote. */
  const closing = (quote: string, from: number, backslash: boolean): number => {
    for (let i = from; i < length; i += 1) {
      const c = text[i];
      if (backslash && c === '\\') i += 1;
      else if (c === quote) {
        if (text[i + 1] !== quote) return i + 1;
        i += 1;
      }
    }
    return -1;
  };
  const quoted = (kind: 'name' | 'text', quote: string, backslash: boolean, start = at): boolean => {
    if (unterminated >= UNTERMINATED_LOOKS) return false;
    const open = text.indexOf(quote === ']' ? '[' : quote, start);
    const end = closing(quote, open + 1, backslash);
    if (end < 0) {
      unterminated += 1;
      return false;
    }
    push(kind, start, end, text.slice(open + 1, end - 1));
    return true;
  };
  const lineEnd = (from: number): number => {
    const end = text.indexOf('\n', from);
    return end < 0 ? length : end;
  };
  /** The position after the end of a comment, or -1. */
  const commentEnd = (from: number): number => {
    let level = 1;
    for (let i = from; i < length; i += 1) {
      if (text[i] === '*' && text[i + 1] === '/') {
        level -= 1;
        i += 1;
        if (level === 0) return i + 1;
      } else if (lexing.nested && text[i] === '/' && text[i + 1] === '*') {
        level += 1;
        depth = Math.max(depth, level);
        i += 1;
      }
    }
    return -1;
  };
  const dollarQuoted = (): boolean => {
    let tagEnd = at + 1;
    // A tag contains no dollar sign and does not start with a digit.
    while (tagEnd < length && tagEnd - at <= 64 && text[tagEnd] !== '$' && WORD.test(text[tagEnd] ?? '')) tagEnd += 1;
    if (text[tagEnd] !== '$' || DIGIT.test(text[at + 1] ?? '')) return false;
    const tag = text.slice(at, tagEnd + 1);
    if (unterminated >= UNTERMINATED_LOOKS) return false;
    const end = text.indexOf(tag, tagEnd + 1);
    if (end < 0) {
      unterminated += 1;
      return false;
    }
    push('text', at, end + tag.length, text.slice(tagEnd + 1, end));
    return true;
  };

  while (at < length) {
    const c = text[at] as string;
    const next = text[at + 1];
    if (BLANK.test(c)) at += 1;
    else if (
      c === '-' &&
      next === '-' &&
      (!lexing.dashNeedsBlank || at + 2 >= length || BLANK.test(text[at + 2] ?? ''))
    )
      at = lineEnd(at);
    else if (c === '#' && lexing.hash) at = lineEnd(at);
    else if (c === '/' && next === '*') {
      if (lexing.conditional && /^\/\*[A-Za-z]?!/.test(text.slice(at, at + 4))) {
        at += text[at + 2] === '!' ? 3 : 4;
        while (DIGIT.test(text[at] ?? '')) at += 1;
        conditional += 1;
        continue;
      }
      const end = unterminated < UNTERMINATED_LOOKS ? commentEnd(at + 2) : -1;
      if (end < 0) {
        unterminated += 1;
        at += 2;
      } else at = end;
    } else if (c === '*' && next === '/' && conditional > 0) {
      conditional -= 1;
      at += 2;
    } else if (c === "'" && quoted('text', "'", lexing.backslash === true)) continue;
    else if (c === '"' && quoted('name', '"', lexing.backslash === true)) continue;
    else if (c === '`' && lexing.backtick && quoted('name', '`', false)) continue;
    else if (c === '[' && lexing.bracket && quoted('name', ']', false)) continue;
    else if (c === '$' && lexing.dollar && dollarQuoted()) continue;
    else if (
      (c === 'e' || c === 'E') &&
      next === "'" &&
      (lexing.escapeStrings || lexing.backslash) &&
      quoted('text', "'", true)
    )
      continue;
    else if (WORD_START.test(c)) {
      let end = at + 1;
      while (end < length && WORD.test(text[end] ?? '')) end += 1;
      push('word', at, end, text.slice(at, end).toLowerCase());
    } else if (DIGIT.test(c)) {
      let end = at + 1;
      while (end < length && NUMBER.test(text[end] ?? '')) end += 1;
      push('number', at, end);
    } else {
      if (c === '(' || c === '[' || c === '{') {
        brackets += 1;
        depth = Math.max(depth, brackets);
      } else if (c === ')' || c === ']' || c === '}') brackets = Math.max(0, brackets - 1);
      push('symbol', at, at + 1);
    }
  }
  return { tokens, depth };
}

/** The length of the longest run of characters that Postgres builds operators from. Runs inside comments and quotes count too. */
export function longestRowOfSigns(text: string): number {
  let longest = 0;
  let row = 0;
  for (let at = 0; at < text.length; at += 1) {
    row = SIGNS.has(text.charCodeAt(at)) ? row + 1 : 0;
    if (row > longest) longest = row;
  }
  return longest;
}

const SIGNS = new Set(Array.from('+-*/<>=~!@#%^&|`?', (sign) => sign.charCodeAt(0)));
