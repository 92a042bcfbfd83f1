import type { Allowance } from './allowance.js';
import { expandBraces } from './braces.js';

/** One word of a command, as a shell passes it to the program. */
export interface Word {
  /** The word without quotes and escapes, and with substitutes for blanks replaced. */
  readonly text: string;
  /** The word as written. */
  readonly raw: string;
  /** Part of the word was quoted or escaped. */
  readonly quoted: boolean;
  /** What the shell runs to build the word: `$(...)`, backticks, `<(...)`. */
  readonly runs: readonly Command[];
  /** The name of the first expansion whose value the text does not tell; empty when there is none. */
  readonly unknown: string;
  /** Such an expansion does more than insert: `${0##x}`, `${a[1]}`. */
  readonly operated: boolean;
  /** The word as it is where such expansions are empty. */
  readonly bare: string;
}

export interface Redirect {
  readonly operator: string;
  readonly target: Word | null;
}

/** One simple command: a program, its arguments, and where its input comes from and its output goes. */
export interface Command {
  readonly words: readonly Word[];
  readonly redirects: readonly Redirect[];
  /** The command whose output this one reads. */
  readonly reads: Command | null;
  /** The command is between backticks, which Markdown shows as code. */
  readonly ticked: boolean;
  /** The variables that the text sets for this command, or for those behind it where it has no program. */
  readonly assigned: readonly Assignment[];
  /** Braces make more words of it than are read. */
  readonly isCut: boolean;
}
export interface Assignment {
  readonly name: string;
  readonly value: string;
  /** The name stands in quotes, which a shell takes for a program: `"A="b`. */
  readonly isQuoted: boolean;
}

/** Escapes in `$'…'` that stand for another character. */
const ANSI: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };
/** The deepest nesting of substitutions. Deeper ones are read as if they were not nested. */
const DEEPEST = 32;
/** Limits the value inserted for a variable that the text itself sets, so that `$a$a$a` cannot grow without bound. */
const LONGEST_VALUE = 64;
/** Of what a text gives a variable, that much is kept; the rest only a shell knows. */
const LONGEST_KEPT = 256;
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
const LONGEST_VARIABLE = 64;
const ASSIGNS = /^([A-Za-z_]\w{0,63})(\+|\[[^\]]{0,64}\])?=$/;
/** Commands that set variables by their names, or what the shell is given. */
const SETTERS = new Set(
  'for select read mapfile readarray getopts declare local typeset export readonly printf set shift'.split(' '),
);
/** Commands that may change any variable. */
const RESETTERS = new Set(['eval', 'unset', 'source', '.', 'trap']);
/** Words of the grammar behind which a bracket opens a group: `if(rm x)`. */
const LONGEST_KEYWORD = 6;
const BEFORE_GROUP = new Set(['if', 'then', 'else', 'elif', 'while', 'until', 'do', '!', 'time', 'coproc', '{']);

/** Stands among the variables that a text sets, where it has functions: what those are given is `$1` and `$@` in them. */
export const FUNCTIONS = '()';
const HAS_FUNCTION = /\(\s{0,64}\)\s{0,64}(?:[{([]|if\s|for\s|while\s|until\s|case\s|select\s)/;
/** A comment may stand between the brackets of a function and its body. */
const hasFunction = (text: string): boolean =>
  HAS_FUNCTION.test(text) ||
  (text.includes('()') &&
    text.includes('#') &&
    HAS_FUNCTION.test(
      text
        .split('\n')
        .map((line) => line.split('#', 1)[0])
        .join('\n'),
    ));
/** `a=x`, `a+=x`, `a[0]=x`, `a"="x`, and not `a=$a` or `a="$a"`. */
function isGiven(text: string, end: number, name: string): boolean {
  const sign = /^["'\\]{0,2}(?:\+?=|\[)["'\\]{0,2}/.exec(text.slice(end, end + 8))?.[0];
  if (sign === undefined) return false;
  const value = text.slice(end + sign.length, end + sign.length + name.length + 3);
  return !value.startsWith(`$${name}`) && !value.startsWith(`\${${name}`);
}
const GIVEN_BY_SHELLS: readonly string[] = ['_', 'REPLY', 'MAPFILE', 'BASH_REMATCH', 'OPTARG', 'COPROC'];
const TAKES_COMMAND = new Set(['command', 'builtin']);
const BEFORE_SETTER = new Set([...TAKES_COMMAND, 'eval']);

/**
 * Names that a text may give a value, wherever in it and however deep in quotes and words before them: a name right before `=`, `+=` or `[`,
 * but not one that is given itself (`id=$id`, a template), and each behind a command that sets variables. A name behind `$` is none; one too
 * long counts by its beginning. A shell gives some names values by itself. Takes linear time.
 */
export function namesGiven(text: string): ReadonlySet<string> {
  const given = new Set(GIVEN_BY_SHELLS);
  let sets = false;
  let begins = true;
  let end = 0;
  for (const { 0: found, index } of text.matchAll(/[A-Za-z_]\w{0,63}|[;&|\n({]/g)) {
    // A setter sets where a command may begin, and not as a word of a sentence.
    begins &&= !/[^\s\\]/.test(text.slice(Math.max(end, index - LONGEST_VARIABLE), index));
    end = index + found.length;
    if (/[;&|\n({]/.test(found)) {
      begins = true;
      if (found !== '(' && found !== '{') sets = false;
      continue;
    }
    const isRead = text[index - 1] === '$' || (text[index - 1] === '{' && text[index - 2] === '$');
    const option = sets && text[index - 1] === '-' && found.startsWith('v') ? found.slice(1) : '';
    if (!isRead && (sets || found.length === LONGEST_VARIABLE || isGiven(text, end, found)))
      given.add(found).add(option);
    if (begins && SETTERS.has(found)) sets = true;
    begins &&= BEFORE_GROUP.has(found) || BEFORE_SETTER.has(found);
  }
  return given;
}

/** Whether an assignment may stand behind this word: at the beginning, and behind what begins a command of its own. */
const mayAssign = (before: { readonly text: string; readonly quoted: boolean } | undefined): boolean =>
  before === undefined || (!before.quoted && (BEFORE_GROUP.has(before.text) || /[){]$/.test(before.text.slice(-1))));

interface OpenWord {
  text: string;
  raw: string;
  from: number;
  quoted: boolean;
  runs: Command[];
  unknown: string;
  operated: boolean;
  bare: string;
  /** Where the expansions in the text begin and end, one after the other. */
  gaps: number[];
  /** Where braces and commas stand in the text that are not quoted, and how many of the braces are open. */
  marks: number[];
  braces: number;
  /** Brackets that the word itself opened: `f(x`. */
  brackets: number;
}
/** What makes `>&` a copy of a descriptor: its number, or `-` to close one. */
const DESCRIPTOR = /[ \t]{0,64}(?:\d{1,9}-?|-)(?=[\s;|&<>()]|$)/y;

interface OpenCommand {
  words: Word[];
  redirects: { operator: string; target: Word | null }[];
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

/** A text without the parts that begin and end at these places. */
function without(text: string, gaps: readonly number[]): string {
  let left = '';
  let from = 0;
  for (let at = 0; at < gaps.length; at += 2) {
    left += text.slice(from, gaps[at]);
    from = gaps[at + 1] ?? from;
  }
  return from === 0 ? text : left + text.slice(from);
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
  const variables = new Map<string, string>();
  /** Names of variables that the text sets, and those of them whose value is not known. `@` stands for all that a shell is given. */
  const set = new Set<string>(hasFunction(text) ? [FUNCTIONS] : []);
  const vague = new Set<string>();
  /** A command may have changed variables without naming them. */
  let resets = false;
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
      word.text += ansi();
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
        unknown(word, place, braced && text[at] !== '}', braced ? `\${${place}` : `$${place}`);
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
        if (operator.endsWith('=')) {
          set.add(called);
          if (operated) vague.add(called);
          else if (!variables.get(called)) variables.set(called, fallback.replaceAll(/["'\\]/g, ''));
        }
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
    const value = variables.get(called) ?? fallback;
    if (operated) unknown(word, called, true, '');
    if (value === '') {
      unknown(word, called, operated, `$${called}`);
      return null;
    }
    // With separators of its own, a shell makes other words of the value.
    if (resets || vague.has(called) || (set.has('IFS') && !inQuotes)) unknown(word, called, false, '');
    if (word.text.length < LONGEST_EXPANDED && allowance.mayInsert(value.length)) word.text += value;
    else unknown(word, called, false, '');
    return null;
  }

  /** Commas count within braces only. */
  function mark(word: OpenWord, code: number, place: number): void {
    if (code === 0x7b) word.braces += 1;
    else if (word.braces === 0) return;
    else if (code === 0x7d) word.braces -= 1;
    word.marks.push(place);
  }

  /** The words that a shell makes of one with braces. */
  function expanded(word: OpenWord, command: OpenCommand): readonly Word[] {
    const made = word.marks.length < 2 ? null : expandBraces(word.text, word.marks, allowance);
    if (made === null) return [word];
    command.isCut ||= !made.isWhole;
    const { quoted, runs, operated } = word;
    const isPlain = word.gaps.length === 0;
    return made.words.map((one) => ({
      text: one,
      raw: word.raw.includes('$') ? word.raw : one,
      quoted,
      runs,
      unknown: operated || one.includes('$') ? word.unknown : '',
      operated,
      bare: isPlain ? one : one.replaceAll(/\$(?:\w{1,64}|\S)/g, ''),
    }));
  }

  /** Notes the variables that a command sets: `read a`, `for a in x`, `set -- x`. */
  function sets(all: readonly Word[]): void {
    const first = all.findIndex(({ text: word }) => !BEFORE_GROUP.has(word) && !TAKES_COMMAND.has(word));
    const setter = all[first]?.text ?? '';
    resets ||= RESETTERS.has(setter) && all.length > first + 1 && variables.size > 0;
    if (!SETTERS.has(setter)) return;
    resets ||= /^-\w{0,8}n/.test(all[first + 1]?.text ?? '') && variables.size > 0;
    if (setter === 'set' || setter === 'shift') set.add('@');
    else
      for (const { text: given } of all.slice(first + 1, first + 1 + KEPT)) {
        const called = /^[A-Za-z_]\w{0,63}/.exec(given)?.[0];
        if (called === undefined) continue;
        set.add(called);
        vague.add(called);
      }
  }

  /** Puts an expansion whose value is not known into the word, as it is written. */
  function unknown(word: OpenWord, called: string, operated: boolean, written: string): void {
    word.gaps.push(word.text.length, word.text.length + written.length);
    word.text += written;
    if (word.unknown === '') word.unknown = called;
    word.operated ||= operated;
  }

  /** Reads from after `$'` to the closing quote. */
  function ansi(): string {
    let out = '';
    while (at < length && text[at] !== "'") {
      if (text[at] !== '\\') {
        out += text[at];
        at += 1;
        continue;
      }
      const code = text[at + 1] ?? '';
      if (code === 'x' || code === 'u' || code === 'U') {
        const digits = /^[0-9a-f]{1,8}/i.exec(text.slice(at + 2, at + 2 + (code === 'x' ? 2 : code === 'u' ? 4 : 8)));
        const point = Number.parseInt(digits?.[0] ?? '20', 16);
        out += point <= 0x10ffff ? String.fromCodePoint(point) : ' ';
        at += 2 + (digits?.[0].length ?? 0);
      } else if (code >= '0' && code <= '7') {
        const digits = /^[0-7]{1,3}/.exec(text.slice(at + 1, at + 4)) as RegExpExecArray;
        out += String.fromCharCode(Number.parseInt(digits[0], 8));
        at += 1 + digits[0].length;
      } else {
        out += ANSI[code] ?? code;
        at += 2;
      }
    }
    at += 1;
    return out;
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
    const begin = (): OpenWord =>
      (word ??= {
        text: '',
        raw: '',
        from: at,
        quoted: false,
        runs: [],
        unknown: '',
        operated: false,
        bare: '',
        gaps: [],
        marks: [],
        braces: 0,
        brackets: 0,
      });
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
      if (!done.quoted && done.text === 'function') set.add(FUNCTIONS);
      const equals = done.text.indexOf('=');
      const [, called, how] =
        equals > 0 && mayAssign(command.words.at(-1)) ? (ASSIGNS.exec(done.text.slice(0, equals + 1)) ?? []) : [];
      if (called !== undefined) {
        const known = variables.get(called);
        const whole = `${how === '+' ? (known ?? '') : ''}${done.text.slice(equals + 1)}`;
        const value = whole.slice(0, LONGEST_KEPT);
        variables.set(called, value);
        if (value !== whole) vague.add(called);
        set.add(called);
        // Only a shell knows which assignment reaches a command: one may be in a group, behind `false &&` or before another program.
        if (known !== undefined && known !== value) vague.add(called);
        if (done.unknown !== '' || done.runs.length > 0 || how?.startsWith('[') || done.text[equals + 1] === '(')
          vague.add(called);
        command.assigned.push({
          name: called,
          value: done.text.slice(equals + 1),
          isQuoted: /^["']/.test(done.raw),
        });
        // FOO=bar before a program is not a program, but the substitutions in it run.
        addAll(here, done.runs);
        return;
      }
      matters ||= done.quoted || done.unknown !== '' || done.raw.length !== done.text.length || mayMatter(done.text);
      for (const one of expanded(done, command)) push(one);
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
      sets(done.words);
      if (done.words.length > 0 || groups.length > 0 || depth > 0 || conditional)
        for (const { name: given } of done.assigned) vague.add(given);
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
  return { commands: found, set };
}
