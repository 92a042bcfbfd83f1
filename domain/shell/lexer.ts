import type { Allowance } from './allowance.js';
import { ansiQuoted } from './ansi-quotes.js';
import type { Assignment, Command, Redirect, Word } from './command.js';
import { BEFORE_GROUP, FUNCTIONS, LONGEST_VARIABLE } from './names-given.js';
import { expanded, mark, type OpenWord, putUnknown, without, wordAt } from './open-word.js';
import { TextVariables } from './text-variables.js';

/** The deepest nesting of substitutions. Deeper ones are read as if they were not nested. */
const DEEPEST = 32;
/** Limits the value inserted for a variable that the text itself sets, so that `$a$a$a` cannot grow without bound. */
const LONGEST_VALUE = 64;
const LONGEST_EXPANDED = 1_024;

/** Words kept of a command in which no word matters. Sentences are long and do not start with a program. */
const KEPT = 8;

const BLANKS = new Set([' ', '\t', '\r', '\u00a0']);
/** By character code: 1 for a blank, 2 for any other character that means something to a shell. */
const SIGNS = new Uint8Array(256);
for (const sign of '\n;|&<>()`$\'"\\') SIGNS[sign.charCodeAt(0)] = 2;
for (const blank of BLANKS) SIGNS[blank.charCodeAt(0)] = 1;
const signAt = (text: string, at: number): number => SIGNS[text.charCodeAt(at)] ?? 0;
/** What a shell is given, and what it says of itself: `$@`, `$#`. */
const PLACES = new Set('@*#?!-$');
/** What stands behind a name in `${x…}` where its value is not inserted as it is. */
const OPERATORS = new Set(':#%/^,@?');
/** The same, and what else may stand before an operand that a shell reads: `${x:-…}`, `${x[…]}`. */
const OPERANDS = new Set([...OPERATORS, '-', '=', '+', '~', '[']);
/** The longest word of the grammar behind which a bracket opens a group. */
const LONGEST_KEYWORD = 6;
/** What makes `>&` a copy of a descriptor: its number, or `-` to close one. */
const DESCRIPTOR = /[ \t]{0,64}(?:\d{1,9}-?|-)(?=[\s;|&<>()]|$)/y;

interface OpenCommand {
  words: Word[];
  redirects: Redirect[];
  reads: Command | null;
  ticked: boolean;
  assigned: Assignment[];
  isCut: boolean;
}

export interface Commands {
  readonly commands: readonly Command[];
  /** The names of the variables that the text sets, to whatever value; `@` where it sets what the shell is given. */
  readonly set: ReadonlySet<string>;
}

/** Adds one by one, because a very long list does not fit into the arguments of one call. */
const addAll = (list: Command[], more: readonly Command[]): void => {
  for (const one of more) list.push(one);
};

/**
 * Every simple command of a text, including those inside substitutions. Takes linear time: each character is read once. An unclosed quote
 * counts as an ordinary character. When none of a command's first words may matter, only those words are kept. Never throws. When the
 * allowance does not cover what the text's variables stand for, they stand for nothing.
 */
export function readCommands(text: string, mayMatter: (word: string) => boolean, allowance: Allowance): Commands {
  const found: Command[] = [];
  const variables = new TextVariables(text);
  const length = text.length;
  const lastSingle = text.lastIndexOf("'");
  const lastDouble = text.lastIndexOf('"');
  const lastTick = text.lastIndexOf('`');
  let at = 0;

  const name = (from: number): number => {
    let end = from;
    while (end < length && end - from < LONGEST_VARIABLE && /\w/.test(text[end] as string)) end += 1;
    return end;
  };

  /** Reads `$x`, `${x}`, `$(...)` or `$'...'` and puts its value into the word. */
  function dollar(word: OpenWord, depth: number, inQuotes: boolean): string | null {
    const next = text[at + 1];
    word.raw = '$';
    if (next === '(') {
      at += 2;
      addAll(word.runs, commands(')', depth + 1, false));
      return null;
    }
    if (next === "'" && !inQuotes && at + 1 < lastSingle) {
      at += 2;
      const { inside, end } = ansiQuoted(text, at);
      word.text += inside;
      at = end;
      word.quoted = true;
      return null;
    }
    if (next === '"' && !inQuotes) {
      at += 1;
      return null;
    }
    const braced = next === '{';
    const from = at + (braced ? 2 : 1);
    // Behind `$`, a digit is a name of its own: `$1x`.
    const end = !braced && /\d/.test(text[from] ?? '') ? from + 1 : name(from);
    if (end === from) {
      if (PLACES.has(text[from] ?? '')) {
        const place = text[from] as string;
        at = from + 1;
        putUnknown(word, place, braced && text[at] !== '}', braced ? `\${${place}` : `$${place}`);
        return null;
      }
      word.text += '$';
      at += 1;
      return null;
    }
    const called = text.slice(from, end);
    at = end;
    let fallback = '';
    let operated = false;
    if (braced) {
      const isOperator = OPERANDS.has(text[at] ?? '');
      // ${x:-value}: the default is used when nothing sets the variable.
      const [operator = ''] = /^:?[-=+]/.exec(text.slice(at, at + 2)) ?? [];
      if (operator !== '') {
        const start = at + operator.length;
        const close = text.slice(start, start + LONGEST_VALUE).indexOf('}');
        if (close >= 0) fallback = text.slice(start, start + close);
        // ${x:+value} is the value where something sets the variable.
        operated = close < 0 || fallback.includes('$') || operator.endsWith('+');
        // ${x:=value} also sets it.
        if (operator.endsWith('=')) variables.default(called, operated ? null : fallback);
      } else operated = OPERATORS.has(text[at] ?? '');
      const limit = Math.min(length, at + 2 + LONGEST_VALUE);
      while (at < limit && text[at] !== '}') {
        const isSubstitution = text[at] === '$' && text[at + 1] === '(';
        if (!isOperator || depth >= DEEPEST || !(isSubstitution || (text[at] === '`' && at < lastTick))) at += 1;
        else {
          operated = true;
          at += isSubstitution ? 2 : 1;
          addAll(word.runs, commands(isSubstitution ? ')' : '`', depth + 1, !isSubstitution));
        }
      }
      if (text[at] === '}') at += 1;
    }
    if (called === 'IFS') return ' ';
    const value = variables.valueOf(called) ?? fallback;
    if (operated) putUnknown(word, called, true, '');
    if (value === '') {
      putUnknown(word, called, operated, `$${called}`);
      return null;
    }
    if (variables.isUnsure(called, inQuotes)) putUnknown(word, called, false, '');
    if (word.text.length < LONGEST_EXPANDED && allowance.mayInsert(value.length)) word.text += value;
    else putUnknown(word, called, false, '');
    return null;
  }

  /** Whether a bracket behind the word opens a group: `if(`, `f()(`. Looks at a few signs only, however long the word is. */
  const opensGroup = (word: OpenWord): boolean =>
    (text[at - 1] === ')' && text[at - 2] === '(') ||
    (text[at - 1] === '{' && text[at - 2] === ')' && text[at - 3] === '(') ||
    (at - word.from <= LONGEST_KEYWORD && !word.quoted && BEFORE_GROUP.has(word.text));

  /** Reads commands up to the closing sign or the end of the text. */
  function commands(close: ')' | '`' | null, depth: number, ticked: boolean): Command[] {
    const here: Command[] = [];
    const fresh = (reads: Command | null): OpenCommand => ({
      words: [],
      redirects: [],
      reads,
      ticked,
      assigned: [],
      isCut: false,
    });
    let command = fresh(null);
    let word: OpenWord | null = null;
    let redirect: string | null = null;
    let matters = false;
    /** Where the groups begin that are open, and the last blank. */
    const groups: number[] = [];
    let lastBlank = -1;
    /** The command stands behind `&&` or `||`, and may not run. */
    let conditional = false;
    const begin = (): OpenWord => (word ??= wordAt(at));
    const endWord = (): void => {
      if (word === null) return;
      allowance.checkpoint();
      const done: OpenWord = word;
      word.bare = without(word.text, word.gaps);
      word.raw =
        word.raw === '' && word.text.length === at - word.from && !word.quoted ? word.text : text.slice(word.from, at);
      word = null;
      if (redirect !== null) {
        command.redirects.push({ operator: redirect, target: done });
        redirect = null;
        return;
      }
      if (!done.quoted && done.text === 'function') variables.set.add(FUNCTIONS);
      const assigned = variables.assigned(done, command.words.at(-1));
      if (assigned !== null) {
        command.assigned.push(assigned);
        // FOO=bar before a program is not a program, but the substitutions in it run.
        addAll(here, done.runs);
        return;
      }
      matters ||= done.quoted || done.unknown !== '' || done.raw.length !== done.text.length || mayMatter(done.text);
      const { words, isWhole } = expanded(done, allowance);
      command.isCut ||= !isWhole;
      for (const one of words) push(one);
    };
    /** An unquoted variable with several words becomes several words. */
    const push = (done: Word): void => {
      if (!done.quoted && done.raw.includes('$') && done.text.includes(' ')) {
        const parts = done.text.split(' ').filter((part) => part !== '');
        for (const [index, part] of parts.entries())
          command.words.push({ ...done, text: part, bare: part, runs: index === parts.length - 1 ? done.runs : [] });
      } else command.words.push(done);
    };
    const endCommand = (reads = false): void => {
      endWord();
      if (redirect !== null) command.redirects.push({ operator: redirect, target: null });
      redirect = null;
      const mattered = matters;
      matters = false;
      const done = command;
      variables.command(done.words);
      if (done.words.length > 0 || groups.length > 0 || depth > 0 || conditional)
        for (const { name: given } of done.assigned) variables.makeVague(given);
      const empty = done.words.length === 0 && done.redirects.length === 0 && done.assigned.length === 0;
      // Drops sentences: no word matters, no pipe on either side, no redirect, and nothing that is set.
      if (
        !empty &&
        (mattered || reads || done.assigned.length > 0 || done.reads !== null || done.redirects.length > 0)
      ) {
        here.push(done);
        found.push(done);
      }
      // In a table row, the first "|" joins no commands.
      command = fresh(reads && !empty ? done : null);
    };

    while (at < length) {
      const sign = text[at] as string;
      const kind = signAt(text, at);
      if (kind === 0) {
        if (word === null && redirect === null && !matters && command.words.length >= KEPT) {
          while (at < length && signAt(text, at) < 2) at += 1;
          lastBlank = at - 1;
          continue;
        }
        const open = begin();
        const from = at;
        while (at < length && signAt(text, at) === 0) {
          const code = text.charCodeAt(at);
          if (code === 0x7b || code === 0x2c || code === 0x7d) mark(open, code, open.text.length + at - from);
          at += 1;
        }
        open.text += text.slice(from, at);
        continue;
      }
      if (kind === 1) {
        lastBlank = at;
        endWord();
        at += 1;
        // A comment ends with its line.
        if (text[at] === '#' && command.words.length > 0) {
          const end = text.indexOf('\n', at);
          at = end < 0 ? length : end;
        }
        continue;
      }
      switch (sign) {
        case '\n':
          // A line that ends with a pipe continues on the next line.
          if (!(command.words.length === 0 && word === null && command.reads !== null)) endCommand();
          conditional = false;
          at += 1;
          break;
        case ';':
          endCommand();
          conditional = false;
          at += 1;
          break;
        case '&':
          if (text[at + 1] === '>') {
            endWord();
            redirect = '&>';
            at += 2;
          } else if (redirect !== null && word === null) {
            // >&2, <&3; anything else behind >& is a file
            DESCRIPTOR.lastIndex = at + 1;
            if (redirect === '<' || DESCRIPTOR.test(text)) begin().text += '&';
            else redirect = '&>';
            at += 1;
          } else {
            endCommand();
            conditional = text[at + 1] === '&';
            at += conditional ? 2 : 1;
          }
          break;
        case '|': {
          const or = text[at + 1] === '|';
          endCommand(!or);
          conditional ||= or;
          at += or || text[at + 1] === '&' ? 2 : 1;
          break;
        }
        case '<':
        case '>':
          if (text[at + 1] === '(' && depth < DEEPEST) {
            const open = begin();
            at += 2;
            addAll(open.runs, commands(')', depth + 1, false));
            open.text += sign;
            break;
          }
          // 2>file, {fd}>file: the digit, or the name, belongs to the operator.
          if (word !== null && /^(?:\d{1,9}|\{[\w[\]]{1,64}\})$/.test((word as OpenWord).text)) word = null;
          endWord();
          redirect = sign === '<' && text[at + 1] === '>' ? '<>' : sign;
          at += redirect.length;
          while (at < length && (text[at] === sign || text[at] === '|') && redirect.length < 3) {
            redirect += text[at];
            at += 1;
          }
          break;
        case '(':
          // name() is a function; otherwise a bracket opens a group.
          if (word !== null && text[at + 1] === ')') {
            begin().text += '()';
            at += 2;
          } else if (word !== null && !opensGroup(word as OpenWord)) {
            // f(x) is code of another kind and stays in the word.
            const open = begin();
            open.text += '(';
            open.brackets += 1;
            at += 1;
          } else {
            endCommand();
            groups.push(at);
            at += 1;
          }
          break;
        case ')': {
          const open = word as OpenWord | null;
          at += 1;
          if (open !== null && open.brackets > 0) {
            open.text += ')';
            open.brackets -= 1;
            break;
          }
          const group = groups.pop();
          // `(a|b|c)` is an expression of other kinds too: a command with arguments has a blank.
          if (open !== null && group !== undefined && lastBlank < group) {
            open.text += ')';
            break;
          }
          at -= 1;
          endCommand();
          at += 1;
          if (group === undefined && close === ')') return here;
          break;
        }
        case '`':
          if (close === '`') {
            endCommand();
            at += 1;
            return here;
          }
          if (at < lastTick && depth < DEEPEST) {
            const open = begin();
            at += 1;
            addAll(open.runs, commands('`', depth + 1, true));
          } else {
            endCommand();
            at += 1;
          }
          break;
        case '$': {
          if (text[at + 1] === '(' && depth >= DEEPEST) {
            endCommand();
            at += 2;
            break;
          }
          if (dollar(begin(), depth, false) === ' ') {
            // $IFS stands for a blank.
            const open = word as OpenWord | null;
            if (open !== null && open.braces > 0) open.text += ' ';
            else if (open !== null && open.text === '' && open.runs.length === 0) word = null;
            else endWord();
          }
          break;
        }
        case "'": {
          const open = begin();
          if (at >= lastSingle) {
            open.text += sign;
            at += 1;
            break;
          }
          const end = text.indexOf("'", at + 1);
          open.text += text.slice(at + 1, end);
          open.quoted = true;
          at = end + 1;
          break;
        }
        case '"': {
          const open = begin();
          if (at >= lastDouble) {
            open.text += sign;
            at += 1;
            break;
          }
          at += 1;
          doubleQuoted(open, depth);
          break;
        }
        default:
          // A backslash keeps the next character as it is and removes a line break.
          if (text[at + 1] === '\n' || (text[at + 1] === '\r' && text[at + 2] === '\n'))
            at += text[at + 1] === '\n' ? 2 : 3;
          else {
            const open = begin();
            open.text += text[at + 1] ?? '\\';
            open.quoted = true;
            at += 2;
          }
      }
    }
    at = Math.min(at, length);
    endCommand();
    return here;
  }

  function doubleQuoted(open: OpenWord, depth: number): void {
    open.quoted = true;
    let from = at;
    const take = (): void => {
      open.text += text.slice(from, at);
    };
    while (at < length) {
      const sign = text[at];
      if (sign === '"') {
        take();
        at += 1;
        return;
      }
      if (sign === '\\' && at + 1 < length && '"\\$`'.includes(text[at + 1] as string)) {
        take();
        from = at + 1;
        at += 2;
      } else if (sign === '$' && depth < DEEPEST) {
        take();
        if (dollar(open, depth, true) === ' ') open.text += ' ';
        from = at;
      } else if (sign === '`' && at < lastTick && depth < DEEPEST) {
        take();
        at += 1;
        addAll(open.runs, commands('`', depth + 1, true));
        from = at;
      } else at += 1;
    }
    take();
  }

  while (at < length) commands(null, 0, false);
  return { commands: found, set: variables.set };
}
