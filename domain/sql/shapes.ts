import type { Token } from './lexer.js';
import type { Reading } from './statements.js';
import {
  CHANGING_WORDS,
  DETERMINERS,
  HARMLESS_FUNCTIONS,
  isActingFunction,
  MODIFIERS,
  OBJECT_WORDS,
} from './vocabulary.js';

/**
 * Judges texts that the Postgres grammar rejects by their shape: statements of other databases, fragments after a semicolon, batches. Every
 * rule requires more than the first word, because English sentences start with the same words.
 */

const is = (token: Token | undefined, ...words: readonly string[]): boolean =>
  token?.kind === 'word' && words.includes(token.text);
const symbol = (token: Token | undefined, ...symbols: readonly string[]): boolean =>
  token?.kind === 'symbol' && symbols.includes(token.text);
/** A word or quoted name that can name a table or another object. */
const named = (token: Token | undefined): boolean =>
  token?.kind === 'name' || (token?.kind === 'word' && !DETERMINERS.has(token.text));
const constant = (token: Token | undefined): boolean => token?.kind === 'text' || token?.kind === 'number';

/** The tokens of each statement. Splits at semicolons and at lines that contain only GO. */
export function pieces(tokens: readonly Token[], text: string): readonly (readonly Token[])[] {
  const found: Token[][] = [[]];
  tokens.forEach((token, index) => {
    const alone =
      is(token, 'go') &&
      startsLine(text, tokens[index - 1], token) &&
      (tokens[index + 1] === undefined || startsLine(text, token, tokens[index + 1] as Token));
    if (symbol(token, ';') || alone) found.push([]);
    else found.at(-1)?.push(token);
  });
  return found.filter((piece) => piece.length > 0);
}

const startsLine = (text: string, before: Token | undefined, token: Token): boolean => {
  if (!before) return true;
  const newline = text.indexOf('\n', before.to);
  return newline >= 0 && newline < token.from;
};

/** The position after a name with dots: `db..users`, `[dbo].[users]`. -1 when there is no name. */
function behindName(tokens: readonly Token[], from: number): number {
  let at = from;
  if (!named(tokens[at]) && !completed(tokens, at)) return -1;
  at += 1;
  while (symbol(tokens[at], '.')) {
    at += 1;
    if (named(tokens[at]) || symbol(tokens[at], '*')) at += 1;
  }
  return at;
}

/** Whether an English word is a name because of what follows it: `my.accounts`, `a, accounts`. */
function completed(tokens: readonly Token[], at: number): boolean {
  const [word, sign, next] = tokens.slice(at, at + 3);
  if (word?.kind !== 'word' || !named(next)) return false;
  return symbol(sign, ',') || (symbol(sign, '.') && sign?.from === word.to && next?.from === sign?.to);
}

const equals = (tokens: readonly Token[]): Token | undefined => tokens.find((token) => symbol(token, '='));

/** What one statement looks like, or null when it looks like none. */
export function shapeOf(piece: readonly Token[]): Reading | null {
  // A leading ODBC or JDBC escape is a value or a call, and what follows it is code.
  let escaped = 0;
  for (let at = 0, open = false; at < piece.length && (open || symbol(piece[at], '{')); at += 1) {
    open = !symbol(piece[at], '}');
    if (!open) escaped = at + 1;
  }
  const call = symbol(piece[1], '?') && symbol(piece[2], '=') ? 3 : 1;
  if (symbol(piece[0], '{') && is(piece[call], 'call')) return unreadable('CALL');
  const behind = escaped > 0 ? shapeOf(piece.slice(escaped)) : null;
  if (behind) return behind;
  const start = piece.findIndex((token) => !symbol(token, '(', '{'));
  const tokens = start > 0 ? piece.slice(start) : piece;
  const [first] = tokens;
  if (first?.kind !== 'word') return null;
  switch (first.text) {
    case 'select':
      return looksSelected(tokens) ? unreadable('SELECT') : null;
    case 'delete':
      return deletion(tokens);
    case 'update': {
      const set = tokens.slice(1, 10).findIndex((token) => is(token, 'set'));
      if (set < 1) return null;
      const assigned = tokens[behindName(tokens, set + 2)];
      if (behindName(tokens, 1) < 0) {
        const written = symbol(assigned, '=') || (symbol(assigned, ':') && assigned?.to === equals(tokens)?.from);
        return written ? unreadable('UPDATE') : null;
      }
      if (!symbol(assigned, '=', ':', '+', '-')) return null;
      return tokens.some((token) => is(token, 'where'))
        ? unreadable('UPDATE')
        : { effect: 'destructive', kind: 'UPDATE without a condition' };
    }
    case 'insert':
    case 'replace':
    case 'upsert':
    case 'import': {
      const into = tokens.slice(1, 5).findIndex((token) => is(token, 'into', 'overwrite')) + 1;
      // "Insert into the box" names no table.
      if (
        into > 0 &&
        ((is(tokens[into + 2], 'values') && symbol(tokens[into + 3], '(')) ||
          (is(tokens[into + 2], 'set') && symbol(tokens[into + 4], '=')))
      )
        return unreadable(first.text.toUpperCase());
      const target = into > 0 ? behindName(tokens, into + 1) : first.text === 'insert' ? behindName(tokens, 1) : -1;
      const next = tokens[target];
      return target > 0 && (symbol(next, '(') || is(next, 'values', 'select', 'set', 'default', 'with', 'exec'))
        ? unreadable(first.text.toUpperCase())
        : null;
    }
    case 'drop':
    case 'create':
    case 'alter':
      return definition(first.text, tokens);
    case 'truncate': {
      const at = is(tokens[1], 'table') ? 2 : 1;
      const end = behindName(tokens, at);
      const ends =
        end > 0 &&
        (end >= tokens.length ||
          symbol(tokens[end], ',', '(') ||
          is(tokens[end], 'cascade', 'restart', 'drop', 'reuse'));
      return ends ? { effect: 'destructive', kind: 'TRUNCATE' } : null;
    }
    case 'merge':
      return tokens.some((token) => is(token, 'using')) && tokens.some((token) => is(token, 'matched'))
        ? unreadable('MERGE')
        : null;
    case 'with':
      return tokens.some(
        (token, at) =>
          is(token, 'as') &&
          symbol(tokens[at + 1], '(') &&
          is(tokens[at + 2], 'select', 'with', 'values', 'delete', 'update', 'insert', 'merge'),
      )
        ? unreadable('WITH')
        : null;
    case 'exec':
    case 'execute':
    case 'call':
      return symbol(tokens[1], '(') || called(tokens) ? unreadable(first.text.toUpperCase()) : null;
    case 'explain':
    case 'describe':
    case 'desc': {
      const inside = tokens
        .slice(0, 12)
        .findIndex((token) => is(token, 'select', 'delete', 'update', 'insert', 'replace', 'with', 'merge'));
      const shape = inside > 0 ? shapeOf(tokens.slice(inside)) : null;
      return shape && worstOf(unreadable('EXPLAIN'), shape);
    }
    case 'begin':
    case 'declare':
    case 'if':
    case 'while':
    case 'do':
    case 'end':
      return block(tokens);
    case 'values':
      return symbol(tokens[1], '(') && constant(tokens[2]) ? unreadable('VALUES') : null;
    default:
      return commandShape(first.text, tokens);
  }
}

const unreadable = (kind: string): Reading => ({ effect: 'unreadable', kind });
const worstOf = (one: Reading, other: Reading | null): Reading => (other?.effect === 'destructive' ? other : one);

function looksSelected(tokens: readonly Token[]): boolean {
  const [, second, third] = tokens;
  // A call of a function with this name: `select('body').append('p')`.
  if (symbol(second, '(') && symbol(tokens[4], '.')) return false;
  if (symbol(second, '*', '(', '-', '+', '~', '!', ':', '?') || constant(second) || second?.kind === 'name')
    return true;
  if (second?.kind !== 'word') return false;
  if (second.text.startsWith('@') || symbol(third, '(', '.', '=', '*', '|', ':')) return true;
  if (
    is(second, 'top', 'distinct', 'sql_no_cache', 'sql_calc_found_rows') &&
    (third?.kind !== 'word' || symbol(tokens[3], ','))
  )
    return true;
  const from = tokens.findIndex((token) => is(token, 'from'));
  if (from < 0 || DETERMINERS.has(second.text)) return false;
  const end = behindName(tokens, from + 1);
  if (end < 0) return false;
  const next = tokens[end];
  const alias = next?.kind === 'word' && !CLAUSES.has(next.text) ? tokens[end + 1] : next;
  return (
    alias === undefined ||
    symbol(alias, ',', ')', '(') ||
    (alias.kind === 'word' && CLAUSES.has(alias.text) && !is(alias, 'with', 'for', 'on'))
  );
}

const CLAUSES = new Set(
  `where group order limit having union intersect except join left right inner full cross natural outer apply as into
  fetch offset with for on using procedure partition qualify sample tablesample lateral window option`.split(/\s+/),
);

/** DELETE in any dialect. Without WHERE, it deletes everything. */
function deletion(tokens: readonly Token[]): Reading | null {
  let at = 1;
  const top = is(tokens[at], 'top');
  while (
    is(tokens[at], 'low_priority', 'quick', 'ignore', 'top', 'percent') ||
    symbol(tokens[at], '(', ')') ||
    tokens[at]?.kind === 'number'
  )
    at += 1;
  const modified = at > 1;
  const explicit = is(tokens[at], 'from');
  const joined = explicit ? null : deletionFromAnother(tokens, at);
  if (joined) return joined;
  if (explicit) at += 1;
  if (is(tokens[at], 'only')) at += 1;
  const end = behindName(tokens, at);
  if (end < 0) {
    const clause = is(tokens[at + 1], 'limit', 'order', 'where', 'using', 'partition', 'join');
    const written = modified || (clause && tokens.slice(at).some((token) => token.kind !== 'word'));
    return explicit && written ? unreadable('DELETE') : null;
  }
  // Only two words: Transact-SQL accepts that as a complete statement.
  if (!explicit && end === tokens.length && !top) return unreadable('DELETE');
  const condition = tokens.findIndex((token) => is(token, 'where'));
  const next = tokens[end];
  const plain =
    next === undefined ||
    symbol(next, ',', ')', '*', '@') ||
    is(
      next,
      'where',
      'limit',
      'order',
      'using',
      'returning',
      'output',
      'as',
      'partition',
      'with',
      'join',
      'inner',
      'left',
      'from',
      'option',
      'settings',
    ) ||
    (next.kind === 'word' &&
      (tokens[end + 1] === undefined || is(tokens[end + 1], 'where', 'using', 'join', 'inner', 'left', 'limit')));
  if (!plain) return explicit && symbol(next, '(') && constant(tokens.at(-2)) ? unreadable('DELETE') : null;
  const written =
    explicit || top || is(next, 'output') || tokens.some((token) => token.kind === 'name') || condition > 0;
  return written ? conditioned(tokens, condition) : null;
}

/**
 * DELETE with an alias or a join: `DELETE a FROM accounts a`, `DELETE t FROM t JOIN s ON ...`. The first name refers to a table named
 * later.
 */
function deletionFromAnother(tokens: readonly Token[], at: number): Reading | null {
  const target = tokens[at];
  const from = tokens.slice(at, at + LOOK_AHEAD).findIndex((token) => is(token, 'from')) + at;
  if ((target?.kind !== 'word' && target?.kind !== 'name') || from <= at) return null;
  const end = behindName(tokens, from + 1);
  const names = end > 0 ? end : from + 2;
  const alias = is(tokens[names], 'as') ? tokens[names + 1] : tokens[names];
  const same = tokens[names - 1]?.text === target.text && (alias === undefined || isClause(alias));
  const join = tokens.findIndex((token) => is(token, 'join'));
  const related = join > from && tokens.slice(join).some((token) => is(token, 'on', 'using'));
  const condition = tokens.findIndex((token) => is(token, 'where'));
  const compared = condition > from && tokens.slice(condition).some((token) => symbol(token, '=', '<', '>'));
  return alias?.text === target.text || same || (end > 0 && (related || compared))
    ? conditioned(tokens, condition)
    : null;
}

const isClause = (token: Token): boolean => symbol(token, ',') || (token.kind === 'word' && CLAUSES.has(token.text));

function conditioned(tokens: readonly Token[], condition: number): Reading | null {
  if (condition < 0 || holdsForAll(tokens.slice(condition + 1)))
    return { effect: 'destructive', kind: 'DELETE without a condition' };
  return comparesAt(tokens, condition + 1) ? unreadable('DELETE') : null;
}

/** Conditions that need no grammar: `1=1`, `true`. */
const holdsForAll = (condition: readonly Token[]): boolean =>
  (condition.length === 3 &&
    constant(condition[0]) &&
    symbol(condition[1], '=') &&
    sameText(condition[0], condition[2])) ||
  (condition.length === 1 && is(condition[0], 'true'));

/** Matches "where id = 7", but not "where the light is". */
const comparesAt = (tokens: readonly Token[], from: number): boolean =>
  tokens
    .slice(from)
    .some(
      (token) =>
        symbol(token, '=', '<', '>', '(') || is(token, 'like', 'in', 'null', 'between', 'exists', 'true', 'not'),
    ) || constant(tokens[from]);

function definition(verb: string, tokens: readonly Token[]): Reading | null {
  let at = 1;
  while (
    tokens[at]?.kind === 'word' &&
    MODIFIERS.has(tokens[at]?.text ?? '') &&
    !OBJECT_WORDS.has(tokens[at]?.text ?? '')
  )
    at += 1;
  const object = tokens[at];
  if (object?.kind !== 'word' || !OBJECT_WORDS.has(object.text)) return null;
  at += 1;
  while (
    tokens[at]?.kind === 'word' &&
    (MODIFIERS.has(tokens[at]?.text ?? '') || OBJECT_WORDS.has(tokens[at]?.text ?? ''))
  )
    at += 1;
  const kind = `${verb} ${object.text}`.toUpperCase();
  const end = behindName(tokens, at);
  if (end < 0) {
    const last = tokens.length - 1;
    const drops =
      (is(tokens[at + 1], 'purge', 'cascade', 'restrict') && at + 1 === last) ||
      (is(tokens[at + 1], 'on') && at + 2 === last && named(tokens[last])) ||
      (is(object, 'user', 'login') && constant(tokens[at]));
    return verb === 'drop' && drops ? { effect: 'destructive', kind } : null;
  }
  const next = tokens[end];
  if (verb === 'drop') {
    const ends =
      next === undefined ||
      symbol(next, ',', '(', '@') ||
      is(next, 'cascade', 'restrict', 'purge', 'on', 'force', 'including', 'with');
    return ends ? { effect: 'destructive', kind } : null;
  }
  if (verb === 'alter') {
    const drops = tokens.some(
      (token, place) =>
        is(token, 'drop') && (is(tokens[place + 1], 'column', 'partition') || tokens[place + 1]?.kind === 'name'),
    );
    if (drops) return { effect: 'destructive', kind: `${kind} DROP` };
    const alters = is(
      next,
      'add',
      'drop',
      'modify',
      'alter',
      'rename',
      'change',
      'engine',
      'set',
      'owner',
      'with',
      'disable',
      'enable',
      'convert',
      'identified',
      'force',
      'discard',
      'switch',
      'reset',
      'compile',
    );
    return alters ? unreadable(kind) : null;
  }
  const after = tokens[end + 1];
  const creates =
    symbol(next, '(', '@') ||
    is(next, 'identified', 'returns', 'before', 'after', 'engine', 'clone', 'location') ||
    (is(next, 'as') && (is(after, 'select', 'with', 'begin') || symbol(after, '(', '$') || constant(after))) ||
    (is(next, 'on') && behindName(tokens, end + 1) > 0 && symbol(tokens[behindName(tokens, end + 1)], '(')) ||
    (is(next, 'with', 'for') && (is(after, 'password', 'login') || symbol(tokens[end + 2], '=')));
  return creates ? unreadable(kind) : null;
}

/** A call: `EXEC xp_cmdshell 'dir'`, `CALL proc(1)`. */
function called(tokens: readonly Token[]): boolean {
  const end = behindName(tokens, 1);
  if (end < 0) return false;
  const next = tokens[end];
  return (
    symbol(next, '(', '=') ||
    constant(next) ||
    (next?.kind === 'word' && next.text.startsWith('@')) ||
    tokens[1]?.kind === 'name' ||
    /[_@.]/.test(tokens[1]?.text ?? '') ||
    end > 2
  );
}

/** What the statements of procedural code look like; the worst one counts. */
export function block(tokens: readonly Token[]): Reading | null {
  let found: Reading | null = null;
  let from = 1;
  const look = (to: number): void => {
    const inside = tokens.slice(from, to);
    const shape =
      inside.length > 0 && !BLOCK_WORDS.has(inside[0]?.text ?? '') ? (shapeOf(inside) ?? callIn(inside)) : null;
    if (shape) found = worstOf(found ?? unreadable('a block of statements'), shape);
  };
  tokens.forEach((token, at) => {
    if (at < from || !(symbol(token, ';') || (token.kind === 'word' && BLOCK_WORDS.has(token.text)))) return;
    look(at);
    from = at + 1;
  });
  look(tokens.length);
  if (found) return found;
  return tokens[1]?.kind === 'word' && tokens[1].text.startsWith('@') ? unreadable('DECLARE') : null;
}

/** A block can call without a verb: `dbms_lock.sleep(1)`. */
const callIn = (tokens: readonly Token[]): Reading | null => {
  const end = behindName(tokens, 0);
  return symbol(tokens[end], '(') && (end > 1 || tokens[0]?.text.includes('_'))
    ? unreadable('a call in a block')
    : null;
};

const BLOCK_WORDS: ReadonlySet<string> = new Set([
  'begin',
  'then',
  'else',
  'loop',
  'do',
  'declare',
  'if',
  'while',
  'end',
]);

function commandShape(verb: string, tokens: readonly Token[]): Reading | null {
  const [, second, third] = tokens;
  const kind = verb.toUpperCase();
  const found = ((): boolean => {
    switch (verb) {
      case 'grant':
      case 'revoke':
      case 'deny':
        return (
          tokens.some((token) => is(token, 'on')) &&
          tokens.some((token, at) => is(token, 'to', 'from') && (named(tokens[at + 1]) || constant(tokens[at + 1]))) &&
          tokens
            .slice(1)
            .some(
              (token) =>
                is(
                  token,
                  'select',
                  'insert',
                  'update',
                  'delete',
                  'all',
                  'usage',
                  'execute',
                  'privileges',
                  'control',
                  'alter',
                ) || symbol(token, '*', '.'),
            )
        );
      case 'rename':
        return is(second, 'table', 'user') && tokens.some((token) => is(token, 'to'));
      case 'load':
        return (
          (is(second, 'data', 'xml') && tokens.some((token) => is(token, 'infile', 'inpath'))) ||
          second?.kind === 'text'
        );
      case 'copy':
        return tokens.some(
          (token, at) =>
            is(token, 'from', 'to', 'into') &&
            (constant(tokens[at + 1]) ||
              symbol(tokens[at + 1], '@') ||
              is(tokens[at + 1], 'program', 'stdin', 'stdout') ||
              tokens[at + 1]?.text.startsWith('@') === true),
        );
      case 'bulk':
        return is(second, 'insert') && named(third);
      case 'backup':
      case 'restore':
        return is(second, 'database', 'log', 'table') && tokens.some((token) => is(token, 'to', 'from', 'with'));
      case 'kill':
        return tokens.length <= 3 && (second?.kind === 'number' || is(second, 'query', 'connection'));
      case 'set':
        return (
          (second?.kind === 'word' && second.text.startsWith('@') && symbol(third, '=', ':')) ||
          (is(second, 'global', 'session', 'persist', 'identity_insert') &&
            tokens.length > 3 &&
            (symbol(tokens[3], '=') || is(tokens.at(-1), 'on', 'off')))
        );
      case 'lock':
      case 'unlock':
      case 'flush':
      case 'optimize':
      case 'repair':
        return (
          is(second, 'tables', 'table', 'privileges', 'logs', 'hosts') &&
          tokens.length <= 6 &&
          !DETERMINERS.has(third?.text ?? '')
        );
      case 'handler':
        return behindName(tokens, 1) > 0 && is(tokens[behindName(tokens, 1)], 'open', 'read', 'close');
      case 'attach':
        return tokens.some((token) => is(token, 'as')) && (is(second, 'database') || second?.kind === 'text');
      case 'pragma':
        return named(second) && (tokens.length === 2 || symbol(third, '(', '=', '.'));
      case 'dbcc':
      case 'waitfor':
        return second?.kind === 'word';
      case 'shutdown':
        return tokens.length === 1 || is(second, 'with', 'immediate', 'abort');
      case 'reconfigure':
        return tokens.length === 1 || is(second, 'with');
      case 'export':
        return (
          is(second, 'data', 'database') &&
          tokens.some((token) => is(token, 'as', 'options')) &&
          tokens.some((token) => symbol(token, '('))
        );
      case 'unload':
        return symbol(second, '(') && tokens.some((token) => is(token, 'to'));
      case 'prepare':
        return is(third, 'from', 'as') && (constant(tokens[3]) || tokens[3]?.text.startsWith('@') === true);
      case 'install':
        return is(second, 'plugin', 'component') || (tokens.length === 2 && second?.kind === 'text');
      case 'analyze':
      case 'vacuum':
        return is(second, 'table') && named(third) && tokens.length <= 6;
      default:
        return /^(?:xp|sp)_[a-z]/.test(verb);
    }
  })();
  return found ? unreadable(kind) : null;
}

/** How many tokens are read ahead from a position inside a text. This may happen at every token. */
const LOOK_AHEAD = 64;

/** Fragments that complete another statement: the classic injections. */
export function fragmentOf(tokens: readonly Token[]): Reading | null {
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at];
    if (is(token, 'union')) {
      const next = is(tokens[at + 1], 'all', 'distinct') ? at + 2 : at + 1;
      const after = tokens[symbol(tokens[next], '(') ? next + 1 : next];
      if (
        is(after, 'select') &&
        looksSelected(tokens.slice(symbol(tokens[next], '(') ? next + 1 : next, next + LOOK_AHEAD))
      )
        return unreadable('UNION SELECT');
    }
    // A value for another statement, followed by a second statement without a semicolon.
    const before = tokens[at - 1];
    if (
      is(token, 'delete', 'drop', 'truncate', 'update', 'insert', 'exec', 'execute', 'alter') &&
      (constant(before) || before?.kind === 'name' || symbol(before, ')', ']', '}')) &&
      shapeOf(tokens.slice(at, at + LOOK_AHEAD))
    )
      return unreadable((token?.text ?? '').toUpperCase());
    if (is(token, 'into') && is(tokens[at + 1], 'outfile', 'dumpfile') && constant(tokens[at + 2]))
      return unreadable('INTO OUTFILE');
    if (
      is(token, 'or', 'and') &&
      at > 0 &&
      constant(tokens[at + 1]) &&
      symbol(tokens[at + 2], '=') &&
      sameText(tokens[at + 1], tokens[at + 3])
    )
      return unreadable('a condition that always holds');
  }
  return null;
}

const sameText = (one: Token | undefined, other: Token | undefined): boolean =>
  one !== undefined && other !== undefined && one.kind === other.kind && one.text === other.text;

/** Statement words inside a text, where a database that needs no semicolon may find them. */
export function mentionOf(tokens: readonly Token[]): Reading | null {
  const condition = tokens.some((token) => is(token, 'where'));
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at];
    if (token?.kind !== 'word' || !CHANGING_WORDS.has(token.text) || symbol(tokens[at - 1], '.')) continue;
    const next = tokens[at + 1];
    const object = next?.kind === 'word' && (OBJECT_WORDS.has(next.text) || MODIFIERS.has(next.text));
    const found = ((): boolean => {
      if (is(token, 'drop', 'create', 'alter')) return object;
      if (is(token, 'delete')) return is(next, 'from') || next?.kind === 'name' || condition || at === 0;
      if (is(token, 'insert')) return is(next, 'into');
      if (is(token, 'update')) return tokens.slice(at, at + 10).some((other) => is(other, 'set'));
      if (is(token, 'exec', 'execute', 'call')) return next !== undefined;
      if (is(token, 'truncate')) return is(next, 'table');
      return !is(token, 'into', 'attach', 'backup', 'restore', 'bulk', 'copy', 'call');
    })();
    if (found) return unreadable(token.text.toUpperCase());
  }
  return null;
}

/** A changing statement at any place in a text: after words, in a code fence, in brackets, between tags. */
export function buriedShape(tokens: readonly Token[], text: string): Reading | null {
  const asked = askedTokens(tokens, text);
  for (let at = 0; at < tokens.length; at += 1) {
    const [token, next] = [tokens[at] as Token, tokens[at + 1]];
    if (asked[at] === true) continue;
    if (callsActing(token, next)) return unreadable('a function that acts');
    if (token.kind !== 'word') continue;
    if (is(token, 'do') && next?.kind === 'text' && text[next.from] === '$') return unreadable('DO');
    if (is(token, 'drop') && is(next, 'owned') && is(tokens[at + 2], 'by')) return unreadable('DROP OWNED');
    if (is(token, 'select') && callsUnknown(tokens, at + 1)) return unreadable('SELECT of an unknown function');
    if (reachesOut(token, next)) return unreadable(token.text.toUpperCase());
    if (!CHANGING_WORDS.has(token.text) && !MORE_CHANGES.has(token.text)) continue;
    const loud = shouted(text, token);
    // "Press DELETE now", "truncate text": a statement of two words counts only where it stands alone.
    const short = is(token, 'delete') || (is(token, 'truncate') && !loud);
    if ((short || !loud) && !beginsChange(tokens, at) && !(short && isAlone(tokens, at))) continue;
    const part = tokens.slice(at, at + LOOK_AHEAD);
    const end = part.findIndex((other, place) => place > 1 && symbol(other, ...ENDS));
    const shape = shapeOf(part) ?? (end > 0 ? shapeOf(part.slice(0, end)) : null);
    if (shape) return shape;
    if (loud && isLoudStatement(part, text)) return unreadable(`${token.text} ${next?.text ?? ''}`.toUpperCase());
  }
  return null;
}

/** First words of changing statements that are not in CHANGING_WORDS because reads contain them too. */
const MORE_CHANGES: ReadonlySet<string> = new Set(['copy', 'load', 'rename', 'replace', 'set', 'upsert']);
const ENDS = [';', '*', '`', ')', ']', '}', '<', '>', '|', '&', '!', '?', ',', '\\', '/', "'", '"'];

/**
 * Marks the tokens of sentences that ask about a statement: they start with a question word and end with a question mark directly after a
 * word. A quoted text is one token. A sentence ends at any other symbol and at the end of its line.
 */
function askedTokens(tokens: readonly Token[], text: string): readonly boolean[] {
  const asked: boolean[] = [];
  let from = 0;
  tokens.forEach((token, at) => {
    const before = tokens[at - 1];
    if (at > from && symbol(token, '?') && before?.kind === 'word' && before.to === token.from)
      if (asks(tokens.slice(from, from + 4))) for (let place = from; place < at; place += 1) asked[place] = true;
    const goesOn = token.kind === 'word' || token.kind === 'number' || symbol(token, ',', "'", '-');
    if (!goesOn) from = at + 1;
    else if (before && text.slice(before.to, token.from).includes('\n')) from = at;
  });
  return asked;
}
/** Finds a question word, also after a label: "todo what does ...". */
const asks = (head: readonly Token[]): boolean =>
  is(head[0], 'do', 'does', 'did', 'is', 'are', 'was', 'were', 'should') ||
  head.some((token) => is(token, 'what', 'how', 'why', 'when', 'which', 'where', 'who', 'whose'));

/** In capitals, with a name after it: not English, whatever follows. */
function isLoudStatement(part: readonly Token[], text: string): boolean {
  const [verb, object, name] = part;
  if (is(verb, 'update')) return part.slice(0, 10).some((token) => is(token, 'set') && shouted(text, token));
  if (is(verb, 'grant', 'revoke', 'deny'))
    return part
      .slice(2, 24)
      .some((token, at) => is(token, 'to', 'from') && shouted(text, token) && named(part[at + 3]));
  const known = OBJECT_WORDS.has(object?.text ?? '') || MODIFIERS.has(object?.text ?? '');
  const behind = is(object, 'into', 'from', 'data', 'xml', 'insert', 'log') || known;
  return (
    object?.kind === 'word' &&
    behind &&
    shouted(text, object) &&
    name !== undefined &&
    named(name) &&
    !is(name, 'of', 'for', 'in', 'to', 'and', 'is')
  );
}

/** In lower case: a changing word followed by words that rarely follow it in English. */
const beginsChange = (tokens: readonly Token[], at: number): boolean => {
  const [token, next] = [tokens[at], tokens[at + 1]];
  const soon = (...words: readonly string[]): boolean => tokens.slice(at, at + 10).some((other) => is(other, ...words));
  if (is(token, 'drop', 'alter', 'create')) return next?.kind === 'word' && OBJECT_WORDS.has(next.text);
  if (is(token, 'truncate')) return is(next, 'table');
  if (is(token, 'delete')) return is(next, 'from', 'top');
  if (is(token, 'insert', 'merge', 'replace', 'upsert')) return is(next, 'into');
  if (is(token, 'copy')) return soon('program');
  if (is(token, 'load')) return is(next, 'data', 'xml') && soon('infile', 'inpath');
  if (is(token, 'rename')) return is(next, 'table', 'user') && is(tokens[at + 3], 'to');
  if (is(token, 'exec', 'execute')) return isProcedure(next) || symbol(next, '@');
  if (is(token, 'grant', 'revoke', 'deny')) return namesRights(tokens, at + 1);
  return is(token, 'update') && soon('set');
};

/** `grant select, insert on accounts to eve`: only rights stand between the verb and ON. */
function namesRights(tokens: readonly Token[], from: number): boolean {
  let at = from;
  while (at < from + LOOK_AHEAD && (RIGHTS.has(tokens[at]?.text ?? '') || symbol(tokens[at], ','))) at += 1;
  return at > from && is(tokens[at], 'on') && (named(tokens[at + 1]) || symbol(tokens[at + 1], '*'));
}
const RIGHTS: ReadonlySet<string> = new Set(
  `all alter connect control create delete execute index insert maintain privileges references select temporary trigger truncate update
  usage`.split(/\s+/),
);

const isProcedure = (token: Token | undefined): boolean =>
  token?.kind === 'word' && /^(?:xp|sp)_[a-z]/.test(token.text);

/** `xp_cmdshell 'dir'`, `openrowset(`, `load_file(`: names that are words in no language. */
const reachesOut = (token: Token, next: Token | undefined): boolean =>
  (isProcedure(token) && (constant(next) || next?.text.startsWith('@') === true)) ||
  (is(token, 'load_file', 'opendatasource', 'openquery', 'openrowset') && symbol(next, '('));

/** `pg_sleep(10)`, `"setval" ('s', 1)`: in a part of a statement it needs no SELECT. */
const callsActing = ({ kind, text }: Token, next: Token | undefined): boolean =>
  (kind === 'word' || kind === 'name') && symbol(next, '(') && isActingFunction(text.toLowerCase());

/** Finds a call that does more than look, such as `select pg_sleep(10)` or `select f()`, but not "select item(s)". */
function callsUnknown(tokens: readonly Token[], from: number): boolean {
  if (tokens[from]?.kind !== 'word') return false;
  const open = behindName(tokens.slice(from, from + LOOK_AHEAD), 0) + from;
  const [name, bracket, argument] = [tokens[open - 1], tokens[open], tokens[open + 1]];
  if (open <= from || !symbol(bracket, '(') || name?.to !== bracket?.from || name === undefined) return false;
  if (open === from + 1 && HARMLESS_FUNCTIONS.has(name.text)) return false;
  return name.text.includes('_') || constant(argument) || symbol(argument, ')');
}

/** A statement alone between tags, quotes or brackets: `<p>truncate accounts</p>`. "(DELETE key)" means a key. */
const isAlone = (tokens: readonly Token[], at: number): boolean =>
  (at === 0 || symbol(tokens[at - 1], ...OPENS) || (symbol(tokens[at - 1], '(') && is(tokens[at], 'truncate'))) &&
  (tokens[at + 2] === undefined || symbol(tokens[at + 2], ...ENDS));
const OPENS = ['>', '`', '[', '{', '|', ';', "'", '"'];

const shouted = (text: string, { from, to }: Token): boolean => /^[A-Z]+$/.test(text.slice(from, to));
