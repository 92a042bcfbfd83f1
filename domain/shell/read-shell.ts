import { isToldToRemove } from './removal-words.js';
import type { ShellInArguments, ShellFinding } from '../../contracts/policy.js';
import { eachText, namesAmong } from '../argument-texts.js';
import { decodeEscapes } from '../inspection/escapes.js';
import { visibleText } from '../visible-text.js';
import { type ShellAct, shellActOf } from './acts.js';
import { Allowance } from './allowance.js';
import { JoiningBudget, linesOfList, linesOfMembers } from './joined.js';
import { foldersBeside, linesWritten } from './beside.js';
import type { Command, Word } from './command.js';
import { readCommands } from './lexer.js';
import { FUNCTIONS, namesGiven } from './names-given.js';
import { fed, readsCommands } from './fed.js';
import { ENTERS, Folders, MOST_FOLDERS, type View } from './folders.js';
import { namesEntered, type Paths } from './paths.js';
import { commandLine } from './named-program.js';
import {
  type Call,
  CHANGES_SYSTEM,
  COMPRESSES,
  isKnownProgram,
  judgeProgram,
  type ShellReading,
  TAKES_PATHS,
} from './programs.js';
import { changesByPrefix, changesVital, filesMade } from './touches.js';
import { HARMLESS_RUN, loadsByVariable, movesSettings } from './variables.js';
import { isRunner, leavesFiles, mayRun, textWithin } from './inside.js';
import { words } from '../text.js';
import type { Checkpoint } from '../in-place.js';

/**
 * Finds the shell commands in the arguments of a call. The result depends only on the arguments. Takes linear time, and throws only what the
 * allowance's checkpoint throws.
 */
export type ShellReader = (argumentsOfCall: unknown, allowance?: Allowance) => ShellActs;

export interface ShellActs extends Omit<ShellInArguments, 'found'> {
  readonly found: readonly FoundAct[];
}

/** The same in the words that rules and people are told. */
export const shellTold = ({ worst, found, more }: ShellActs): ShellInArguments => ({
  worst,
  found: found.map(({ effect, act, form, path }) => ({ effect, kind: shellActOf(act).says, form, path })),
  more,
});

/** Findings kept, the gravest first. */
const FINDINGS = 16;
/** The deepest nesting of commands in the arguments of other commands: `bash -c "sh -c '...'"`. */
const DEEPEST = 4;
/**
 * Commands read per text that name a known program. Long scripts have some hundred; a text with more than this limit is reported as not
 * fully read.
 */
const MOST_COMMANDS = 4_096;

const RANKS: readonly ShellFinding['effect'][] = ['changes', 'takes_over', 'removes_root'];
const worse = (one: ShellReading | null, other: ShellReading | null): ShellReading | null =>
  one === null || (other !== null && RANKS.indexOf(other.effect) > RANKS.indexOf(one.effect)) ? other : one;

/** A finding by what Gate calls it. */
export type FoundAct = Omit<ShellFinding, 'kind'> & { readonly act: ShellAct };
type Found = Omit<FoundAct, 'path'>;
/** Any finding in a command is graver than any in a sentence, because the text runs if a shell gets it. */
const graveness = ({ form, effect }: Found): number => RANKS.indexOf(effect) + (form === 'command' ? RANKS.length : 0);
const graver = (one: Found | null, other: Found | null): Found | null =>
  one === null || (other !== null && graveness(other) > graveness(one)) ? other : one;

export interface ShellArgumentNames {
  /** What tools carry to a file or a reader, by the names of arguments: the rules tell places by these and no others. */
  readonly carriers: readonly { readonly arguments: readonly string[] }[];
}

export const createShellReader = ({ carriers }: ShellArgumentNames): ShellReader => {
  const told = namesAmong(carriers.flatMap((carrier) => carrier.arguments));
  const isSamePlace = (one: readonly string[], other: readonly string[]): boolean => {
    if (isSamePath(one, other)) return true;
    const names = told(one);
    return names !== '' && names === told(other);
  };
  return (value, allowance = new Allowance(value)) => {
    const found: FoundAct[] = [];
    let more = false;
    // One of each effect at a place: what is said of an argument hides nothing that is said of another.
    const keep = (finding: FoundAct): void => {
      const like = found.findIndex(({ effect, path }) => effect === finding.effect && isSamePlace(path, finding.path));
      if (like >= 0) {
        if (graveness(found[like] as FoundAct) >= graveness(finding)) return;
        found.splice(like, 1);
      }
      const at = found.findIndex((one) => graveness(one) < graveness(finding));
      found.splice(at < 0 ? found.length : at, 0, finding);
      if (found.length > FINDINGS) {
        found.pop();
        more = true;
      }
    };
    const look = (text: string, path: readonly string[], isJoined = false): void => {
      allowance.checkpoint();
      const reading = readText(text, allowance, isJoined);
      if (reading !== null) keep({ ...reading, path: [...path] });
    };
    const joining = new JoiningBudget(value, allowance.checkpoint);
    eachText(value, {
      text: look,
      list: (items, path) => {
        allowance.checkpoint();
        for (const line of linesOfList(items, startsCommand)) look(line, path);
      },
      members: (members, path) => {
        const { lines, isWhole } = linesOfMembers(members, startsCommand, joining);
        for (const { name, line } of lines) look(line, [...path, name], true);
        if (!isWhole) keep({ ...DECODED, form: 'command', path: [...path] });
        const folders = foldersBeside(members, allowance.paths);
        if (folders.length === 0) return;
        const run = [...lines, ...linesWritten(members)];
        for (const folder of folders)
          for (const { name, line } of run) {
            const moved = `${commandLine(['cd', folder])}; ${line}`;
            if (!joining.spend(moved.length)) return keep({ ...DECODED, form: 'command', path: [...path] });
            look(moved, [...path, name], true);
          }
      },
    });
    return { worst: found[0]?.effect ?? 'none', found, more };
  };
};

const isSamePath = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((name, at) => name === other[at]);

/** Reads the text in every way that a tool may: as written, decoded, and as the rest of a quoted string that it closes. */
function readText(text: string, allowance: Allowance, isJoined: boolean): Found | null {
  if (!mayHoldCommand(text)) return null;
  const visible = visibleText(text);
  const decoded = /[%&]|\\[ux]/.test(visible) ? decodeEscapes(visible) : visible;
  let worst: Found | null = null;
  for (const reading of new Set([text, visible, decoded])) {
    worst = graver(worst, readWhole(reading, allowance, isJoined));
    // If the caller's tool puts the text between quotes, a quote in the text ends the string early.
    for (const quote of ["'", '"'])
      if (reading.includes(quote)) worst = graver(worst, readWhole(quote + reading, allowance, isJoined));
  }
  return worst;
}

function readWhole(text: string, allowance: Allowance, isJoined: boolean): Found | null {
  if (!allowance.begin(text, isJoined)) return UNREAD;
  const worst = readPlain(text, 0, allowance);
  return allowance.isSpent ? graver(worst, UNREAD) : worst;
}

/** Reads a text within a text; `isRun` where it is certain that a shell gets it. What lies deeper than is read hides what it does. */
const readWithin = (text: string, depth: number, allowance: Allowance, isRun = true): Found | null =>
  depth >= DEEPEST ? UNREAD : allowance.mayReadAgain(text.length) ? readPlain(text, depth + 1, allowance, isRun) : null;

/** A command contains a blank or something that stands for one. A single word, a path or a number does not. */
const mayHoldCommand = (text: string): boolean => text.length > 3 && /[\s$;|&`<>{(%\u00a0\u3000]|\\[ux]/.test(text);

function readPlain(text: string, depth: number, allowance: Allowance, isRun = false): Found | null {
  const { commands, set } = readCommands(text, mayMatter, allowance);
  let given: ReadonlySet<string> | null = null;
  const mayBeSet = (name: string): boolean => (given ??= namesGiven(text)).has(name);
  // A text that a program is told to run is never a sentence.
  const spoken = depth === 0;
  const shown = spoken && showsCode(text);
  let worst: Found | null = STOPS_LAST.test(text) ? { ...STOPPED, form: 'command' } : null;
  if (isRun && !isPlainLine(text)) worst = graver(worst, { ...DECODED, form: 'command' });
  const files = new Set<string>();
  const written = new Map<string, string>();
  const functions = new Set<string>();
  const aliases = new Map<string, string>();
  let fifo = false;
  let evaluates = false;
  let isGitMoved = false;
  let known = 0;
  const sources: Sources = new Map();
  const folders = new Folders(allowance.paths);
  for (const command of commands) {
    allowance.checkpoint();
    const call = callOf(command.words);
    if (call !== null && isKnownProgram(call.program)) known += 1;
    if (known > MOST_COMMANDS) return graver(worst, UNREAD);
    const fetches = isFetcher(command, call);
    sources.set(command, sourceOf(command, call, fetches, sources));
    const prose = (shown && command.ticked) || (spoken && call !== null && isSpoken(call.rest));
    const add = (reading: ShellReading | null): void => {
      if (reading !== null) worst = graver(worst, { ...reading, form: prose ? 'prose' : 'command' });
    };
    const sets = command.assigned.map(({ name, value }) => `${name}=${value}`);
    if (call !== null && EXPORTERS.has(call.program)) sets.push(...call.args);
    if (call?.program === 'printf' && call.args[0]?.startsWith('-v')) {
      const [option = '', ...behind] = call.args;
      const given = option === '-v' ? behind : [option.slice(2), ...behind];
      sets.push(`${given[0] ?? ''}=${given.slice(1).join(' ')}`);
      if (given[0] === 'PATH' && movesPrograms(given.slice(1).join(' '), isRun)) add(MOVED);
    }
    for (const one of sets) {
      folders.search(one);
      folders.settle(one);
    }
    if (call === null || EXPORTERS.has(call.program)) isGitMoved ||= sets.some(movesGit);
    else if (isGitMoved && call.program === 'git') add(LOADED);
    if (call !== null) folders.enter(call.program, call.args);
    if (folders.isLost) add(DECODED);
    if (command.isCut && (isRun || (call !== null && namesProgram(call.program)))) add(UNREAD);
    add(judge(command, call, sources, folders, depth, allowance, isRun));
    // From here on: where it makes the link itself, the name is still its own.
    if (call !== null) folders.link(call.program, call.args);
    if ((isRun || mayBeginAtRoot(command, allowance.paths)) && writesUnsurely(command, set)) add(UNSURE);
    // Whatever feeds it: a pipe or a redirect may be of the group that it stands in.
    if (isRun && call !== null && SHELLS.has(call.program) && call.args.length === 0) add(PIPED);
    if (call !== null) add(hidden(call, command.ticked, set, mayBeSet, isRun, depth, allowance));
    worst = graver(worst, assigned(command, call, depth, allowance, isRun));
    for (const { text: word } of command.words)
      if (word.includes('()')) functions.add(word.slice(0, word.indexOf('()')));
    add(forkBomb(command, functions));
    if (call === null) continue;
    if (call.program === 'mkfifo' || (call.program === 'mknod' && call.args.includes('p'))) fifo = true;
    if (fifo && /^(?:nc|ncat|netcat|telnet|openssl)$/.test(call.program) && call.args.length > 1) add(SHELL_AWAY);
    // IEX (iwr http://...): the content of the brackets is a command of its own.
    if (/^(?:iex|invoke-expression)\(?/.test(call.program)) evaluates = true;
    if (evaluates && (fetches || command.words.some(({ text: word }) => /downloadstring|new-object/i.test(word))))
      add(DOWNLOADED);
    if (runsWhatItFetched(call, files)) add(DOWNLOADED);
    if (aliases.has(call.rest[0]?.text ?? '')) {
      const [head, ...behind] = call.rest;
      const line = [aliases.get(head?.text ?? ''), ...behind.map(quotedAgain)].join(' ');
      worst = graver(worst, readWithin(line, depth, allowance));
    }
    if (call.program === 'alias')
      for (const arg of call.args) {
        const equals = arg.indexOf('=');
        if (equals > 0) aliases.set(arg.slice(0, equals), arg.slice(equals + 1));
      }
    if (depth < DEEPEST) worst = graver(worst, runsWhatItWrote(command, call, written, depth, allowance));
  }
  return worst;
}

/** `${name}`, and what only words print: `$(date +%s)`. */
const PLAIN_EXPANSION = /^\$(?:\{\w{1,60}\}|\([\w ./:+%-]{1,60}\))/;
const LONGEST_EXPANSION = 64;
/**
 * Whether a text that a shell is certain to run is only commands of words, pipes and redirects to files. What else a shell knows, groups,
 * substitutions, operands, here documents, comments, has more forms than are read here.
 */
function isPlainLine(text: string): boolean {
  const lastTick = text.lastIndexOf('`');
  let quote = '';
  let isWordOpen = false;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at] as string;
    if (quote === "'") {
      // A shell reads some words again: let 'a[$(x)]'.
      if (sign === '`' || (sign === '$' && text[at + 1] === '(')) return false;
      if (sign === quote) quote = '';
      continue;
    }
    if ((sign === '`' && at < lastTick) || (sign === '$' && /[({'"]/.test(text[at + 1] ?? ''))) {
      const plain = PLAIN_EXPANSION.exec(text.slice(at, at + LONGEST_EXPANSION))?.[0];
      if (plain === undefined || plain.startsWith('$(case ')) return false;
      at += plain.length - 1;
      isWordOpen = true;
      continue;
    }
    if (sign === '\\' && /['"\n\r]/.test(text[at + 1] ?? '\n')) return false;
    if (quote === '"') {
      if (sign === quote) quote = '';
      continue;
    }
    if (sign === "'" || sign === '"') quote = sign;
    else if ('(){}<'.includes(sign) || (sign === '#' && !isWordOpen) || /[^\t\n\x20-\x7e]/.test(sign)) return false;
    isWordOpen = !/[\s;|&]/.test(sign);
  }
  return true;
}

/** Holds the call for review whatever the tool: the part that was not read may be anything. */
const UNREAD: Found = { effect: 'takes_over', act: 'unread', form: 'command' };
const SHELL_AWAY: ShellReading = { effect: 'takes_over', act: 'shell_handed_away' };
const DOWNLOADED: ShellReading = { effect: 'takes_over', act: 'runs_download' };
const DECODED: ShellReading = { effect: 'takes_over', act: 'runs_hidden' };
const LEFT: ShellReading = { effect: 'changes', act: 'runs_left_script' };
const PIPED: ShellReading = { effect: 'changes', act: 'runs_given' };

const RUNS: Readonly<Record<Source, ShellReading>> = { given: PIPED, decoded: DECODED, fetched: DOWNLOADED };

const ENGLISH = words(
  `the an is are was were be how what why when where which who whose does do did can cannot should would could to of in for with without
  from and or vs versus not it its this that these those my your our their i we you they by as if after before using because than then
  so about into explained explain meaning safely instead difference between actually really never always just please`,
);
/**
 * Whether a command whose first word names a program is a sentence: "find the file that is missing". Its first words say so, and nothing
 * in it may be an option, a path or a number: words of English behind a command are arguments that the program takes or complains of.
 */
const isProse = ([, ...behind]: readonly Word[], program: string): boolean =>
  !TAKES_NAMES.has(program) &&
  isEnglish(behind[0]) &&
  behind.slice(1).some(isEnglish) &&
  behind.every(({ text, quoted, runs }) => !quoted && runs.length === 0 && PLAIN_WORD.test(text));
/** Each word behind these is a name of what they stop, and none of them too many. */
const TAKES_NAMES = words('killall');
const PLAIN_WORD = /^[A-Za-z](?:[A-Za-z'-]{0,30}[A-Za-z])?[,.:;!?]{0,3}$/;
const isEnglish = (word: Word | undefined): boolean =>
  word !== undefined && !word.quoted && ENGLISH.has(word.text.toLowerCase().replace(/[,.:;!?]$/, ''));

/** Words of a command that no program is told, but a reader is. It may be run all the same: the program takes them, or complains too late. */
const isSpoken = (command: readonly Word[]): boolean => {
  const spoken = command.slice(1).filter(isEnglish);
  if (spoken.length >= 2) return true;
  const last = command.at(-1);
  return command.length > 2 && last !== undefined && !last.quoted && /[a-z]\?$/i.test(last.text) && spoken.length > 0;
};

/** Markdown: sentences around code between backticks. A shell would still run the code. Comments do not count as sentences. */
function showsCode(text: string): boolean {
  if (!text.includes('`')) return false;
  let outside = 0;
  let english = 0;
  let inside = false;
  for (const part of text.split('`')) {
    if (!inside)
      for (const line of part.split('\n')) {
        // A "#" at the start of a line marks a heading, not a comment.
        const [said = ''] = line.split(' #', 1);
        for (const word of said.split(/\s/)) {
          if (/^[A-Za-z][a-z']{0,20}[,.:;!?]?$/.test(word)) outside += 1;
          if (ENGLISH.has(word.toLowerCase())) english += 1;
        }
      }
    inside = !inside;
  }
  return outside >= 3 && english >= 1;
}

const SHELLS = words(
  `sh bash zsh dash ksh ash fish csh tcsh rbash rksh rzsh mksh oksh pdksh ksh93 lksh yash posh osh ysh elvish xonsh nu cmd busybox-sh
  $0 $shell $bash`,
);
const INTERPRETERS = new Set([
  ...SHELLS,
  ...words('python python2 python3 perl ruby node nodejs php lua pwsh powershell'),
]);
// It reads its input as a terminal does: a program that is given one is no script.
INTERPRETERS.delete('cmd');
const FETCHERS = words(
  'curl wget fetch aria2c lwp-request http https xh iwr invoke-webrequest invoke-restmethod irm nc ncat ftp tftp scp lynx',
);
const DECODERS = words('base64 base32 xxd rev openssl gunzip gzip zcat uudecode tr printf hex python perl');

/** Programs that run another program, with those of their options that take a value. */
const PREFIXES: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  (
    [
      ['sudo', '-u -g -h -p -C -r -t -U -D'],
      ['doas', '-u -C'],
      ['env', '-u -C -S --unset --chdir'],
      ['nohup', ''],
      ['time', '-f -o'],
      ['timeout', '-k -s'],
      ['nice', '-n'],
      ['ionice', '-c -n -p'],
      ['stdbuf', '-i -o -e'],
      ['setsid', ''],
      ['command', ''],
      ['builtin', ''],
      ['exec', '-a'],
      ['xargs', '-I -n -P -d -L -s -E -a --max-args'],
      ['watch', '-n --interval'],
      ['busybox', ''],
      ['toybox', ''],
      ['chroot', ''],
      ['nsenter', '-t -w -r -S -G --target --wd --root'],
      ['unshare', '-w -R -S -G --wd --root'],
      ['strace', '-o -e -p'],
      ['flock', '-w'],
      ['systemd-run', '-u -p'],
      ['parallel', '-j'],
      ['proxychains', '-f'],
      ['proxychains4', '-f'],
      ['start', ''],
      ['start-process', ''],
      ['call', ''],
      ['pkexec', '--user'],
      ['runuser', '-u -g -G --user --group'],
      ['dbus-run-session', '--config-file'],
      ['firejail', ''],
      ['fakeroot', ''],
      ['ltrace', '-o -e -p'],
      ['gosu', ''],
      ['su-exec', ''],
      ['taskset', ''],
      ['chrt', ''],
      ['setpriv', ''],
      ['torsocks', ''],
      ['unbuffer', ''],
    ] as const
  ).map(([name, valued]) => [name, words(valued)]),
);
const SPLITS = /^(?:-[a-zA-RT-Z0]{0,8}S|--split-string(?:=|$))/;
/** `. <(curl …)`: what a shell is to read is made by a command, or handed to it. */
const isMade = (word: Word | undefined): boolean =>
  word !== undefined && (word.runs.length > 0 || /^\/dev\/(?:stdin|fd\/)/.test(word.text));
/** These take one argument of their own before the program. */
const ONE_MORE = words('timeout chroot flock gosu su-exec taskset chrt');
/** These add arguments that they read to those of the program. */
const FEEDERS = words('xargs parallel');
/** Words that open a block, a prompt or a bullet point; not programs. */
const OPENERS = words('{ ! then do else elif if while until $ % - * • & . function @echo run execute please type');

/** Words of the grammar, and commands by which later ones run something else than they say. */
const GRAMMAR = words(
  'case function coproc select for read mapfile readarray getopts set shift declare local typeset alias eval',
);

const baseName = (word: Pick<Word, 'raw' | 'text'>): string => {
  if (word.raw === word.text && /^[a-z][a-z0-9-]{0,31}$/.test(word.raw)) return word.raw;
  // docs/rm is a file name. A program has an absolute path, a path that starts with ./ or ../, or no path.
  const cooked = /^(?:\/|\.{1,2}\/|~|\$)/.test(word.text) ? word.text.slice(word.text.lastIndexOf('/') + 1) : word.text;
  // C:\Windows\System32\cmd.exe: here a backslash separates folders and is no escape.
  const written = /^[a-z]:\\|^\\\\|\\(?:system32|windows)\\/i.test(word.raw)
    ? (word.raw.split('\\').at(-1) ?? '')
    : cooked;
  return written
    .replace(/^[@^(]{1,4}/, '')
    .replaceAll('^', '')
    .replace(/\.(?:exe|com|bat|cmd)$/i, '')
    .toLowerCase();
};

interface Called extends Pick<Call, 'program' | 'args'> {
  /** The words from the program on. */
  readonly rest: readonly Word[];
  readonly prefixed: boolean;
  /** More arguments come from the input. */
  readonly fed: boolean;
  /** What stands for them in the arguments, where a prefix says so: `xargs -I{}`. */
  readonly place: string;
}

/** How many words of the grammar stand before a command: `function f {`, `coproc NAME {`, `case x in(y)`. */
function grammar(all: readonly Word[], at: number): number {
  const [first, second, third] = all.slice(at, at + 3);
  if (first === undefined || first.quoted || second === undefined) return 0;
  if (first.text === 'function') return 2;
  if (first.text === 'coproc') return third?.text === '{' ? 2 : 1;
  if (first.text !== 'case') return 0;
  const pattern = all
    .slice(at, at + KEPT_OF_CASE)
    .findIndex(({ text }) => text.startsWith('in(') && text.endsWith(')'));
  return pattern + 1;
}
const KEPT_OF_CASE = 8;

/** The program that a simple command finally runs, and its arguments; null when it names no program. */
function callOf(all: readonly Word[]): Called | null {
  let at = 0;
  let prefixed = false;
  let fed = false;
  let place = '';
  while (at < all.length) {
    const word = all[at] as Word;
    const skipped = grammar(all, at);
    if (skipped > 0) {
      at += skipped;
      continue;
    }
    const program = baseName(word);
    if (
      (OPENERS.has(word.text) && !(word.text === '.' && isMade(all[at + 1]))) ||
      (word.unknown === '' && /^[\w.-]{1,32}[:.)]$/.test(word.text) && !/^[a-z]:$/i.test(word.text)) ||
      word.text.endsWith('()') ||
      word.text.endsWith('(){')
    ) {
      at += 1;
      continue;
    }
    const valued = PREFIXES.get(program);
    // What env splits is a command of its own, with its program in the same word.
    const ahead = all.slice(at + 1, at + 8);
    const splits =
      (program === 'env' && ahead.some(({ text }) => SPLITS.test(text))) ||
      (program === 'runuser' && ahead.some(({ text }) => text === '-c' || text === '--command'));
    // `xargs env` runs what it reads.
    if (fed && valued !== undefined && at + 1 >= all.length)
      return { program: 'sh', args: [], rest: all.slice(at), prefixed, fed, place };
    if (valued === undefined || splits || at + 1 >= all.length)
      return { program, args: all.slice(at + 1).map(({ text }) => text), rest: all.slice(at), prefixed, fed, place };
    prefixed = true;
    fed ||= FEEDERS.has(program);
    if (program === 'parallel') place = '{}';
    at += 1;
    let own = ONE_MORE.has(program) ? 1 : 0;
    while (at < all.length) {
      const { text } = all[at] as Word;
      if (FEEDERS.has(program)) place ||= placeOf(text, all[at + 1]?.text ?? '');
      if (takesValue(valued, text)) at += 2;
      else if (text.startsWith('-') || /^[A-Za-z_]\w{0,63}=/.test(text)) at += 1;
      else if (own > 0) {
        own -= 1;
        at += 1;
      } else break;
    }
  }
  // `xargs timeout 5` runs what it reads.
  return fed ? { program: 'sh', args: [], rest: all.slice(-1), prefixed, fed, place } : null;
}

/** `-u`, `-nu`, `--us`: whether the value of an option is the next word. */
function takesValue(valued: ReadonlySet<string>, option: string): boolean {
  if (valued.has(option)) return true;
  if (/^--[a-z]/.test(option) && !option.includes('=')) return [...valued].some((one) => one.startsWith(option));
  return (
    /^-[a-zA-Z0-9]{2,8}$/.test(option) &&
    Array.from(option.slice(1)).findIndex((one) => valued.has(`-${one}`)) === option.length - 2
  );
}

/** `of=x`, `--output=x`: only what stands behind the name is a path. */
const argumentIn = (view: View, arg: string): string => {
  const name = /^(?:if|of|--[a-z-]{1,32})=/.exec(arg)?.[0];
  if (name !== undefined) return name + view(arg.slice(name.length));
  return arg.startsWith('-') ? arg : view(arg);
};

/** What stands before the program: the prefixes, with their options. */
const prefixesOf = ({ words: all }: Command, call: Called | null): readonly string[] =>
  (call?.prefixed ?? false) ? all.slice(0, all.length - (call?.rest.length ?? 0)).map(({ text }) => text) : [];

const FOLDER_IN = /^(?:(?:--c[hdir]{0,4}|--wd|--working-directory)=|-[a-zA-Z0-9]{0,8}?[CDw])/;
const FOLDER_BEHIND = /^(?:-[a-zA-Z0-9]{0,8}[CDw]|--c[hdir]{0,4}|--wd|--working-directory)$/;
/**
 * The folders in which prefixes run a program, `env -C /etc`, `sudo --chdir=/etc`, and the other words of them. Null where there are more
 * folders than are followed: the program is then read in none, and counts as one that hides what it does.
 */
function foldersOf(before: readonly string[]): {
  readonly folders: readonly string[] | null;
  readonly others: readonly string[];
} {
  const folders = new Set<string>();
  const others: string[] = [];
  for (const [at, text] of before.entries()) {
    const option = FOLDER_IN.exec(text)?.[0];
    if (option !== undefined && option !== text) folders.add(text.slice(option.length));
    else if (FOLDER_BEHIND.test(before[at - 1] ?? '')) folders.add(text);
    else others.push(text);
  }
  return { folders: folders.size > MOST_FOLDERS ? null : [...folders], others };
}

const UNSURE: ShellReading = { effect: 'changes', act: 'unsure_file_written' };
/** Words that only a shell makes a path of, apart from those variables that lead to no folder of the system. */
const isUnsure = ({ text, unknown, runs, operated }: Word, set: ReadonlySet<string>): boolean =>
  runs.some((inner) => !saysNothing(inner)) ||
  operated ||
  (unknown !== '' &&
    (!PLAIN_VARIABLES.has(unknown) || set.has(unknown) || text.indexOf('$') !== text.lastIndexOf('$')));
const PLAIN_VARIABLES = words('HOME PWD USER UID HOSTNAME $ ? # !');
const WRITES_LAST = words('cp mv install ln');
const WRITES_ANY = words('tee sponge truncate chmod chown chgrp setfacl');
const OUTPUT = /^(?:-[a-zA-Z]{0,8}[oOt]|--output|--output-document|--target-directory|-fprint[0f]?|-fls)$/;
/** Whether a command writes to a file that only a shell knows: `cp x $y`, `> $(z)`. `isLost`: it does not know the folder either. */
export function writesUnsurely(command: Command, set: ReadonlySet<string>, isLost = false): boolean {
  const unsure = (word: Word): boolean =>
    isUnsure(word, set) || (isLost && (!/^[/~&]/.test(word.text) || namesEntered(word.text)));
  if (command.redirects.some(({ operator, target }) => operator.includes('>') && target !== null && unsure(target)))
    return true;
  const call = callOf(command.words);
  if (call === null) return false;
  const { program, rest } = call;
  const plain = rest.slice(1).filter(({ text }) => !text.startsWith('-'));
  const edits = rest.some(({ text }) => /^(?:-[a-zA-Z]{0,8}i|--in-place)/.test(text));
  const writesAny = WRITES_ANY.has(program) || (edits && /^(?:sed|perl|ruby)$/.test(program));
  // What `xargs` reads is not told either.
  if (call.fed && (writesAny || WRITES_LAST.has(program))) return true;
  if (writesAny) return plain.some(unsure);
  if (WRITES_LAST.has(program) && plain.slice(1).slice(-1).some(unsure)) return true;
  if (program === 'dd') return plain.some((word) => word.text.startsWith('of=') && unsure(word));
  if (!WRITES_LAST.has(program) && !/^(?:curl|wget|find)$/.test(program)) return false;
  return rest.some(
    (word, at) =>
      at > 0 &&
      ((OUTPUT.test(rest[at - 1]?.text ?? '') && unsure(word)) ||
        (/^--(?:output|output-document|target-directory)=/.test(word.text) && unsure(word))),
  );
}
/** `${PWD:0:1}etc/passwd`: whether what is left of a value may make a path of the system of the words behind it. */
const mayBeginAtRoot = ({ words: all, redirects }: Command, paths: Paths): boolean =>
  [...all, ...redirects.map(({ target }) => target)].some(
    (word) => (word?.operated ?? false) && paths.isVitalFile(`/${word?.bare ?? ''}`),
  );
/** Whether a command enters a folder that only a shell knows. */
export const getsLost = (command: Command, set: ReadonlySet<string>): boolean => {
  const call = callOf(command.words);
  if (call === null || !ENTERS.has(call.program)) return false;
  const words = call.rest.slice(1);
  return (
    words.some((word) => isUnsure(word, set)) || (set.has('HOME') && words.every(({ text }) => /^[-~]/.test(text)))
  );
};
/** Whether a shell is given a program that has a vital path among its words and is no known reader. */
export const changesSystem = (command: Command, paths: Paths): boolean => {
  const call = callOf(command.words);
  return (
    call !== null &&
    (changesVital({ ...call, paths }) || changesByPrefix(foldersOf(prefixesOf(command, call)).others, paths))
  );
};

const ENDS_WORK = words('rm unlink rmdir shred reboot halt poweroff shutdown');
/** Whether a command given to a shell removes, empties or stops something, however plainly it says so. */
export const endsSomething = (command: Command, checkpoint: Checkpoint): boolean => {
  const call = callOf(command.words);
  if (call === null) return command.redirects.some(({ operator }) => operator === '>');
  const { program, args } = call;
  if (program === ':' || program === 'true') return command.redirects.some(({ operator }) => operator === '>');
  if (program === 'crontab') return args.some((arg) => /^-[a-zA-Z]{0,8}r/.test(arg));
  if (isToldToRemove(program, args, checkpoint)) return true;
  return ENDS_WORK.has(program) && !args.some((arg) => arg === '--help' || arg === '--version');
};

const placeOf = (option: string, next: string): string => {
  if (option === '-I') return next;
  const [, , own] = /^(-[Ii]|--replace=?)(.{0,64})$/s.exec(option) ?? [];
  return own === '' ? '{}' : (own ?? '');
};

/** Whether a command with this word among its first words must be read to its end. */
const mayMatter = (word: string): boolean => {
  for (let at = 0; at < word.length; at += 1) {
    const unit = word.charCodeAt(at) | 0x20;
    if ((unit < 0x61 || unit > 0x7a) && unit !== 0x2c) return true;
  }
  if (word.length > LONGEST_NAME) return false;
  return namesProgram(word.toLowerCase()) || GRAMMAR.has(word) || ENTERS.has(word);
};
const namesProgram = (word: string): boolean =>
  isKnownProgram(word) ||
  isRunner(word) ||
  [INTERPRETERS, FETCHERS, PREFIXES, SCHEDULERS, PRINTERS].some((names) => names.has(word));
/** Whether a text begins with the name of a program that this file knows, in whatever folder it is. */
const startsCommand = (text: string): boolean => {
  const [first = ''] = text.trimStart().split(/\s/, 1);
  const plain = visibleText(first);
  const program = baseName({ text: plain, raw: plain });
  return namesProgram(program) || SHELL_WORDS.has(program);
};
const SHELL_WORDS = words('eval source .');
const PRINTERS = words('echo printf which type');
/** They run later what they are given. Words of English too, so they count as programs only where they are given something. */
const SCHEDULERS = words('at batch');
const TIME = /^(?:now|noon|midnight|teatime|today|tomorrow|\+\d{0,4}|\d{1,4}(?::\d{2})?(?:am|pm)?|-[fmqtv])$/i;
const POWER = words('reboot halt poweroff shutdown');
/** `sleep 5 && halt`, `sync; reboot`: alone they are words of English, behind another command they are none. */
const STOPS_LAST =
  /(?:&&|\|\||\b(?:sync|sleep [0-9smh]{1,8}) {0,4};) {0,4}(?:sudo )?(?:reboot|halt|poweroff|shutdown) {0,4}(?:$|[;&|\n])/;
/** The length of the longest program name that consists of letters only. */
const LONGEST_NAME = 24;

/** A program named by a file pattern: `/???/r?`, `/b*n/sh`. */
const byPattern = ({ text, quoted }: Word): boolean =>
  !quoted && /^\/[a-z?*[\]/]{2,64}$/.test(text) && /[?*]/.test(text) && text.lastIndexOf('/') > 0;

function judge(
  command: Command,
  call: Called | null,
  sources: Sources,
  entered: Folders,
  depth: number,
  allowance: Allowance,
  isRun: boolean,
  isWithin = false,
): ShellReading | null {
  const { folders: own, others } = foldersOf(prefixesOf(command, call));
  if (own === null) return DECODED;
  const [folders, views] = [entered.with(own), entered.views(own)];
  const { paths } = allowance;
  let worst = redirected(command, views, allowance);
  if (call === null) return worst;
  const { program, args, rest } = call;
  if (isProse(rest, program)) return worst;
  if (others.length > 0 && changesByPrefix(others, paths)) worst = worse(worst, CHANGES_SYSTEM);
  const [head] = rest;
  if (head !== undefined && byPattern(head) && rest.length > 1) worst = worse(worst, DECODED);
  // Its name is printed by another command: `echo rm` -rf /srv.
  if (head !== undefined && head.runs.length > 0) {
    const name = head.runs.map(tells);
    if (name.every((part) => part !== null)) {
      const line = [`${name.join('')}${head.text}`, ...rest.slice(1).map(quotedAgain)].join(' ');
      worst = worse(worst, readWithin(line, depth, allowance));
    }
  }
  // The program's name is itself produced by a command: `$(echo cm0= | base64 -d) -rf /`.
  if (
    head !== undefined &&
    head.runs.length > 0 &&
    head.text === '' &&
    head.runs.some((inner) => sources.get(inner) === 'decoded')
  )
    worst = worse(worst, DECODED);
  worst = worse(worst, interpreted(call, command, sources, folders, depth, allowance));
  worst = worse(worst, toldByInput(call, command, sources, depth, allowance));
  worst = worse(worst, scheduled(call, command));
  if (!isWithin)
    for (const inner of commandsWithin(command, call, depth, allowance, isRun))
      worst = worse(
        worst,
        'effect' in inner ? inner : judge(inner, callOf(inner.words), sources, entered, depth, allowance, isRun, true),
      );
  const told = RUN_BY_OPTION[program];
  if (
    told !== undefined &&
    args.some((arg, at) => told.test(arg) && !runsNothing(program, optionValue(arg, args[at + 1])))
  )
    worst = worse(worst, INSIDE);
  // Alone the word is one of English; behind sudo or with its folder it is a program.
  if (POWER.has(program) && args.length === 0 && (call.prefixed || /^\/(?:usr\/)?s?bin\//.test(head?.raw ?? '')))
    worst = worse(worst, STOPPED);
  if (isKnownProgram(program)) {
    const given = call.fed ? [...args, './fed'] : args;
    worst = worse(worst, judgeProgram({ program, args: given, command, paths }));
    const emptied = withoutUnset(rest);
    if (emptied !== null) worst = worse(worst, judgeProgram({ program, args: emptied, command, paths }));
    if (TAKES_PATHS.has(program))
      for (const view of views) {
        allowance.checkpoint();
        // Without a folder some programs read the one that they are in.
        const seen = [...given.map((arg) => argumentIn(view, arg)), ...(readsHere(program, args) ? [view('.')] : [])];
        if (!allowance.mayView(seen)) break;
        worst = worse(worst, judgeProgram({ program, args: seen, command, paths }, true));
      }
  } else if (isRun && changesVital({ program, args, paths })) worst = worse(worst, CHANGES_SYSTEM);
  const made = filesMade({ program, args });
  if (made.some((file) => paths.isVitalFile(file) || views.some((view) => paths.isVitalFile(view(file)))))
    worst = worse(worst, CHANGES_SYSTEM);
  if (SENDERS.has(program) && args.length > 0 && readsVitalFile(command, paths)) worst = worse(worst, SENT);
  if (
    args.some((arg) => /\/dev\/(?:tcp|udp)\/[^\s/]{1,255}\/[\d$]/.test(arg)) ||
    args.some((arg) => arg.startsWith('stratum+'))
  )
    worst = worse(worst, SHELL_AWAY);
  worst = worse(worst, codeOf(rest));
  return worst;
}

/** `push $x--force`: a variable that stands for nothing leaves an option or a verb. Null where no word has such a one. */
function withoutUnset([, ...behind]: readonly Word[]): readonly string[] | null {
  const leaves = ({ unknown, bare, text }: Word): boolean =>
    unknown !== '' && bare !== text && /^-{0,2}[A-Za-z]/.test(bare) && !/[/~.]/.test(bare);
  return behind.some(leaves) ? behind.map((word) => (leaves(word) ? word.bare : word.text)) : null;
}

/** Of the words of one command, those that are read as commands of their own; and of each name, as often as it stands there. */
const MOST_WITHIN = 16;
const MOST_OF_A_NAME = 3;
/** What a program may run of its words: commands that begin at one of them, and what is found in texts within a word. */
function* commandsWithin(
  command: Command,
  { program, args, rest }: Called,
  depth: number,
  allowance: Allowance,
  isRun: boolean,
): Generator<Command | ShellReading> {
  if (program === 'find' || program === 'fd') {
    yield* runOnFound(command, rest);
    return;
  }
  const isKnown = isRun || isKnownProgram(program) || isRunner(program);
  // Of any other program that may as well be the first word of a sentence, only what looks like no sentence is read.
  if (!isKnown && (!maySayProgram(rest[0]) || isSpoken(rest))) return;
  const how = mayRun(program, args);
  if (how === 'nothing') return;
  const names = new Map<string, number>();
  let begun = 0;
  for (const [at, word] of rest.entries()) {
    if (at === 0) continue;
    if (!isKnown && (isEnglish(word) || /[,.:;!?]$/.test(word.text))) return;
    if (isText(word)) {
      // `A=1 rm x` is a command by itself.
      for (const inner of how === 'texts' ? new Set([word.text, textWithin(word.text)]) : []) {
        if (!isText({ ...word, text: inner }) || (!isKnown && !startsCommand(inner))) continue;
        allowance.checkpoint();
        const found =
          depth >= DEEPEST ? (startsCommand(inner) ? UNREAD : null) : readWithin(inner, depth, allowance, false);
        if (found !== null) yield found;
      }
      continue;
    }
    if (!startsCommand(word.text)) continue;
    const name = baseName(word);
    const times = (names.get(name) ?? 0) + 1;
    names.set(name, times);
    if (times > MOST_OF_A_NAME) continue;
    begun += 1;
    if (begun > MOST_WITHIN) {
      if (isKnown) yield DECODED;
      return;
    }
    allowance.checkpoint();
    yield { ...command, words: rest.slice(at), redirects: [], assigned: [] };
  }
}
/** Whether the first word of what may be a sentence is written as programs are. */
const maySayProgram = (head: Word | undefined): boolean =>
  head !== undefined &&
  !isEnglish(head) &&
  /^(?:(?:\.{1,2}|~)?\/(?:[\w.+-]{1,64}\/){0,16})?[a-z][\w.+-]{0,31}$/.test(head.text);

const ON_FOUND: ShellReading = { effect: 'changes', act: 'run_on_found' };
const EXECUTES = /^-(?:exec|execdir|ok|okdir)$/;
/** `-exec env rm {} +`: what is no reader changes the files that it is given. */
function* runOnFound(command: Command, rest: readonly Word[]): Generator<Command | ShellReading> {
  for (let at = 0; at < rest.length; at += 1) {
    if (!EXECUTES.test(rest[at]?.text ?? '')) continue;
    const from = at + 1;
    while (at < rest.length && !/^\\?;$|^\+$/.test(rest[at]?.text ?? '')) at += 1;
    const given = rest.slice(from, at);
    const call = callOf(given);
    if (call !== null && (!leavesFiles(call.program, call.args) || call.args.some((arg) => EXECUTES.test(arg))))
      yield ON_FOUND;
    yield { ...command, words: given, redirects: [], assigned: [] };
  }
}

/**
 * A command whose program is not written there. In a text that is certainly run, whatever stands for a program and is no plain word hides
 * it; elsewhere `$x` may be a template, so it does where the text itself sets what it stands for.
 */
function hidden(
  { rest, prefixed }: Called,
  /** Between backticks, as Markdown and templates of JavaScript have them too. */
  isTicked: boolean,
  set: ReadonlySet<string>,
  mayBeSet: (name: string) => boolean,
  isRun: boolean,
  depth: number,
  allowance: Allowance,
): ShellReading | null {
  const [head] = rest;
  if (head === undefined || isProse(rest, head.text.toLowerCase())) return null;
  // `watch 'rm -rf x'`, `flock a -c 'rm -rf x'`.
  if (prefixed && isText(head)) return readWithin(head.text, depth, allowance);
  const rewires = REWIRES[head.text];
  if (rewires !== undefined && rest.slice(1, KEPT_OF_CASE).some(({ text }) => rewires.test(text))) return DECODED;
  if (isRun) {
    const isMadeHere = head.runs.length > 0 && !head.runs.every((inner) => tells(inner) !== null);
    return head.unknown !== '' || isMadeHere || isPattern(head) ? DECODED : null;
  }
  if (head.runs.some((inner) => !inner.ticked && tellsFile(inner))) return DECODED;
  if (head.unknown === '') return null;
  if (set.has(/^[0-9@*]$/.test(head.unknown) ? '@' : head.unknown)) return DECODED;
  // Behind a quote, a whole sentence is one word with what is behind it; an address or a query with a place for a value is no program.
  if (!/[\s=?{:<>|]/.test(head.bare) && rest.length > 1 && mayBeSet(head.unknown)) return DECODED;
  if (set.has(FUNCTIONS) && /^[0-9@*]$/.test(head.unknown)) return DECODED;
  const behind = rest[1]?.text ?? '';
  const isOption = /^--?[A-Za-z]/.test(behind) && !isTicked && !POWERSHELL_OPERATORS.has(behind.toLowerCase());
  if ((head.operated && rest.length > 1) || (head.bare === '' && isOption)) return DECODED;
  // `r$@m -rf x`: what is empty is no part of the name.
  if (rest.length < 2 || !namesProgram(baseName({ text: head.bare, raw: head.bare }))) return null;
  const line = [head.bare, ...rest.slice(1).map(quotedAgain)].join(' ');
  return readWithin(line, depth, allowance) === null ? null : DECODED;
}
/** Commands of a shell, with the options by which they make a later word mean another program, or run what stands behind. */
const REWIRES: Readonly<Record<string, RegExp>> = Object.assign(Object.create(null), {
  hash: /^-\w{0,4}p/,
  compgen: /^-[CF]/,
  enable: /^-f/,
});
/** `$x -eq 5`, `$name -split ','`: no program has these options. */
const POWERSHELL_OPERATORS = words(
  '-eq -ne -gt -ge -lt -le -split -replace -match -notmatch -like -notlike -contains -notcontains -join',
);
/** `$(cat a)`, `$(<a)` */
const tellsFile = ({ words: [head, ...behind], redirects }: Command): boolean =>
  head === undefined ? redirects.length > 0 : behind.length > 0 && TELLERS.has(head.text);
const TELLERS = words(
  'cat head tail sed awk gawk cut grep tr xxd base64 base32 sort jq curl wget find strings rev tac',
);
/** A shell makes other words of these: `/b?n/r*`, `{rm,x}`. */
const isPattern = ({ text, raw, quoted }: Word): boolean =>
  !quoted &&
  raw === text &&
  text.length > 1 &&
  text !== '[[' &&
  /[*?]|\[[^\]]|\{[^}]{0,64}(?:,|\.\.)|^\{\}$/.test(text);

/** They look through the folder that they are in where no other is named. */
const SEARCHES = words('grep egrep fgrep zgrep rg ag ack');
const readsHere = (program: string, args: readonly string[]): boolean =>
  SEARCHES.has(program) && args.filter((arg) => !arg.startsWith('-')).length <= 1;
const SENDERS = words('nc ncat netcat nc.traditional nc.openbsd socat curl telnet ssh');
const SENT: ShellReading = { effect: 'changes', act: 'data_sent' };
/** Whether what a command reads comes from a file of the system: `cat /etc/passwd | base64 | nc host 1`. */
function readsVitalFile({ reads }: Command, paths: Paths): boolean {
  let giver = reads;
  for (let back = 0; giver !== null && back < DEEPEST; back += 1) {
    if (giver.words.some(({ text }) => paths.isVitalFile(text))) return true;
    giver = giver.reads;
  }
  return false;
}

const LOADED: ShellReading = { effect: 'takes_over', act: 'code_loaded' };
const movesGit = (set: string): boolean => {
  const equals = set.indexOf('=');
  return equals > 0 && movesSettings(set.slice(0, equals), set.slice(equals + 1));
};
const MOVED: ShellReading = { effect: 'takes_over', act: 'programs_moved' };
/** Whether programs may be taken from a folder to which anybody writes, or from folders that are none of the system's. */
function movesPrograms(path: string, isRun: boolean): boolean {
  const folders = path.split(':', MOST_OF_PATH + 1);
  if (folders.length > MOST_OF_PATH) return true;
  if (folders.some((folder) => /^\/(?:(?:private\/)?(?:var\/)?tmp|dev\/shm)(?:\/|$)/.test(folder))) return true;
  const [first = ''] = folders;
  if (first === '.' || (first === '' && folders.length > 1)) return true;
  // Elsewhere it may be a setting of anything: `PATH=/api`.
  return isRun && !folders.some((folder) => /[$%`]|^(?:\/usr(?:\/local)?)?\/s?bin\/?$/.test(folder));
}
const MOST_OF_PATH = 64;
const EXPORTERS = words('export declare typeset readonly setenv');
/** Judges what a text sets: variables that load code, and values that are commands, which a shell or a program may run later. */
function assigned(
  { assigned: own, words: all }: Command,
  call: Called | null,
  depth: number,
  allowance: Allowance,
  isRun: boolean,
): Found | null {
  if (isEnglish(all[0])) return null;
  let worst: Found | null = null;
  const look = (name: string, value: string): void => {
    if (value === '') return;
    // The shell's own tables of what a name runs.
    if (name === 'BASH_CMDS' || name === 'BASH_ALIASES') worst = graver(worst, { ...DECODED, form: 'command' });
    if (loadsByVariable(name, value) || (call?.program === 'git' && movesSettings(name, value)))
      worst = graver(worst, { ...LOADED, form: 'command' });
    if (name === 'PATH' && movesPrograms(value, isRun)) worst = graver(worst, { ...MOVED, form: 'command' });
    if (depth < DEEPEST && /\s/.test(value)) worst = graver(worst, readWithin(value, depth, allowance, false));
  };
  for (const { name, value, isQuoted } of own) if (!isQuoted) look(name, value);
  const first = all[0]?.text ?? '';
  if (EXPORTERS.has(first) || (call?.prefixed ?? false))
    for (const { text } of all.slice(1)) {
      const equals = text.indexOf('=');
      if (equals > 0) look(text.slice(0, equals), text.slice(equals + 1));
    }
  // `git --git-dir=/srv/x status`, as `GIT_DIR=/srv/x git status`.
  if (call?.program === 'git' && gitFolders(call.args).some((folder) => movesSettings('GIT_DIR', folder)))
    worst = graver(worst, { ...LOADED, form: 'command' });
  return worst;
}
const gitFolders = (args: readonly string[]): readonly string[] =>
  args.flatMap((arg, at) =>
    arg === '--git-dir' ? [args[at + 1] ?? ''] : arg.startsWith('--git-dir=') ? [arg.slice('--git-dir='.length)] : [],
  );

/** Options of programs by which they are told what to run. */
const RUN_BY_OPTION: Readonly<Record<string, RegExp>> = Object.assign(Object.create(null), {
  man: /^(?:-[a-zA-Z]{0,8}[PH]|--pager|--html)/,
  rg: /^--(?:pre|hostname-bin)(?:=|$)/,
  sort: /^--com[a-z-]{0,16}(?:=|$)/,
  tcpdump: /^-[AbdDefhHIJKlLnNOpqStuUvxX#]{0,8}z/,
  ag: /^--pager/,
  ack: /^--pager/,
  bat: /^--pager/,
  fd: /^(?:-[xX]|--exec)/,
});
const optionValue = (option: string, next = ''): string =>
  option.startsWith('--')
    ? option.includes('=')
      ? option.slice(option.indexOf('=') + 1)
      : next
    : option.replace(/^-[a-zA-Z]{0,8}?[PHxXz]/, '') || next;
const runsNothing = (program: string, value: string): boolean =>
  HARMLESS_RUN.test(value) ||
  (/^(?:sort|tcpdump)$/.test(program) && COMPRESSES.test(value)) ||
  (program === 'rg' && value === '');
const INSIDE: ShellReading = { effect: 'takes_over', act: 'runs_inside' };

const STOPPED: ShellReading = { effect: 'changes', act: 'machine_stopped' };
const SCHEDULED: ShellReading = { effect: 'changes', act: 'schedule_changed' };
/** `echo 'rm -rf /srv' | at now`, `at now <<< '…'`, `at -f job.sh 23:00`. */
function scheduled({ program, args }: Called, { reads, redirects }: Command): ShellReading | null {
  if (!SCHEDULERS.has(program)) return null;
  const giver = reads?.words[0]?.text ?? '';
  const given =
    (reads !== null && reads.words.length > 1 && /^(?:echo|printf|cat)$/.test(giver)) || redirects.length > 0;
  if (program === 'batch') return given && args.length === 0 ? SCHEDULED : null;
  const file = args.indexOf('-f');
  const timed = args.some((arg) => TIME.test(arg));
  return timed && (given || (file >= 0 && args.length > file + 2) || file > 0) ? SCHEDULED : null;
}

/** What a command that only prints would print: its words; for `which rm` and `command -v rm` the program. */
function printed({ words: [head, ...behind] }: Command): string | null {
  if (head === undefined || !(PRINTERS.has(head.text) || head.text === 'command')) return null;
  const first = behind.findIndex(({ text }) => !/^--?[A-Za-z]{0,16}$/.test(text));
  if (first < 0) return null;
  const texts = behind.slice(first).map(({ text }) => text);
  const line = head.text === 'printf' ? formatted(texts) : texts.join(' ');
  return line.includes('\\') ? line.replaceAll(PRINTED_ESCAPES, (_, code: string) => unescaped(code)) : line;
}
/** The same, where what other commands make of it is told as well: `echo $(echo rm)`. */
function tells(command: Command): string | null {
  if (command.words.every(({ runs }) => runs.length === 0)) return printed(command);
  const words: Word[] = [];
  for (const word of command.words) {
    const made = word.runs.map(tells);
    if (!made.every((part) => part !== null)) return null;
    words.push({ ...word, text: `${made.join('')}${word.text}` });
  }
  return printed({ ...command, words });
}
const PRINTED_ESCAPES = /\\(x[0-9a-fA-F]{1,2}|0?[0-7]{1,3}|[nt])/g;
const unescaped = (code: string): string =>
  /^[nt]/.test(code)
    ? code === 'n'
      ? '\n'
      : '\t'
    : String.fromCharCode(code.startsWith('x') ? Number.parseInt(code.slice(1), 16) : Number.parseInt(code, 8));
/** The words in the places of a short format, as often as there are words for it. */
function formatted([format = '', ...given]: readonly string[]): string {
  if (!format.includes('%') || given.length === 0 || format.length > LONGEST_FORMAT)
    return [format, ...given].join(' ');
  const parts = format.split(/%[sbq]/);
  const places = parts.length - 1;
  if (places === 0) return format;
  const last = parts[places] ?? '';
  const printed = given.map((one, at) => `${at > 0 && at % places === 0 ? last : ''}${parts[at % places]}${one}`);
  return printed.join('') + last;
}
const LONGEST_FORMAT = 64;

const isFetcher = ({ words: all }: Command, call: Called | null): boolean =>
  call !== null &&
  ((FETCHERS.has(call.program) && call.args.length > 0) ||
    all.some(
      ({ text }, at) =>
        at + 1 < all.length && FETCHERS.has(text.toLowerCase()) && /[./:-]/.test(all[at + 1]?.text ?? ''),
    ));
/** Where the output of a command comes from, including everything the command reads. */
type Source = 'given' | 'decoded' | 'fetched';
/** Contains every command read so far. A command comes after those that it reads from. */
type Sources = Map<Command, Source>;

function sourceOf({ reads }: Command, call: Called | null, fetches: boolean, sources: Sources): Source {
  const before = reads === null ? 'given' : (sources.get(reads) ?? 'given');
  if (before === 'fetched' || fetches) return 'fetched';
  return before === 'decoded' || DECODERS.has(call?.program ?? '') ? 'decoded' : 'given';
}

/** What a program reads instead of a file: its input, or another descriptor. */
const INPUT = /^\/(?:dev\/(?:stdin|fd\/\d{1,9})|proc\/self\/fd\/\d{1,9})$/;
/** The script among the arguments of a shell: the first word that is no option and no value of one. */
function scriptOf(args: readonly string[]): string | undefined {
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] as string;
    if (/^--(?:rcfile|init-file|emulate)$/.test(arg)) at += 1;
    else if (/^[-+]./.test(arg)) {
      if (!arg.startsWith('--')) for (const letter of arg.slice(1, 16)) if (letter === 'o' || letter === 'O') at += 1;
    } else if (arg !== '' && arg !== '-') return arg;
  }
  return undefined;
}

/** Judges a shell or another interpreter by what it is given to run. */
function interpreted(
  call: Called,
  command: Command,
  sources: Sources,
  folders: readonly string[],
  depth: number,
  allowance: Allowance,
): ShellReading | null {
  const { program, args, rest } = call;
  let worst: ShellReading | null = null;
  const evaluates = program === 'eval' || program === 'source' || program === '.';
  if (INTERPRETERS.has(program) || evaluates || program === 'tclsh') {
    for (const { runs } of rest)
      for (const inner of runs) {
        const source = sources.get(inner) ?? 'given';
        if (source !== 'given') worst = worse(worst, RUNS[source]);
      }
    worst = worse(worst, handed(call, depth, allowance));
    // An interpreter with a script argument does not run its input.
    const script = SHELLS.has(program)
      ? !INPUT.test(scriptOf(args) ?? '/dev/stdin')
      : args.some((arg) => !arg.startsWith('-') && arg !== '' && !INPUT.test(arg));
    if (args.some((arg) => /^\/(?:tmp|var\/tmp|dev\/shm)\/./.test(arg))) worst = worse(worst, LEFT);
    const stdin = !script || args.includes('-s') || args.includes('-');
    const isInput = (arg: string | undefined): boolean => INPUT.test(arg ?? '');
    if (command.reads !== null && evaluates && program !== 'eval' && isInput(args[0])) worst = worse(worst, PIPED);
    if (command.reads !== null && stdin && !evaluates) {
      const source = sources.get(command.reads) ?? 'given';
      // Not a list of names: | Perl, a language | Ruby - another one |
      if (source !== 'given' || args.every((arg) => /^[-+\w=./:]{1,64}$/.test(arg))) worst = worse(worst, RUNS[source]);
    }
    const isFed = ({ operator, target }: Command['redirects'][number]): boolean =>
      operator.startsWith('<<') || (operator.startsWith('<') && SHELLS.has(program) && target !== null);
    if (stdin && (!evaluates || args.length > 0) && command.redirects.some(isFed)) worst = worse(worst, PIPED);
    if (SHELLS.has(program) && args.includes('-i') && command.redirects.length > 0) worst = worse(worst, SHELL_AWAY);
  }
  const inner = innerCommand(call, allowance);
  if (inner === null) return worst;
  const entered = folders.map((folder) => `${commandLine(['cd', folder])}; `).join('');
  return worse(worst, readWithin(entered + inner, depth, allowance));
}

/** Judges what a program is told by its input: `psql <<< 'drop table a'`, `echo flushall | redis-cli`, `ed a <<< '!rm b'`. */
function toldByInput(
  { program, args }: Called,
  command: Command,
  sources: Sources,
  depth: number,
  allowance: Allowance,
): ShellReading | null {
  const { reads, redirects } = command;
  const given = redirects.filter(({ operator }) => operator === '<<<');
  // A document in the text (`<<EOF`) is not read as what it tells, nor what another command passes on that was given it: `cat <<< x | redis-cli`.
  const isToldUnread = [...redirects.filter((one) => !given.includes(one)), ...(reads?.redirects ?? [])].some(
    ({ operator }) => operator.startsWith('<<'),
  );
  if ((reads === null && given.length === 0 && !isToldUnread) || !readsCommands(program, args)) return null;
  const source = reads === null ? 'given' : (sources.get(reads) ?? 'given');
  let worst: ShellReading | null = source === 'given' ? null : RUNS[source];
  if (isToldUnread) worst = worse(worst, INSIDE);
  const texts = [...given.map(({ target }) => target?.text ?? ''), ...(reads === null ? [] : [tells(reads) ?? ''])];
  for (const text of texts) {
    if (text.trim() === '') continue;
    const told = fed(program, args, text);
    if (told === 'runs another program') worst = worse(worst, INSIDE);
    else if ('line' in told) worst = worse(worst, readWithin(told.line, depth, allowance));
    else
      for (const one of told.args) {
        allowance.checkpoint();
        worst = worse(worst, judgeProgram({ program, args: one, command, paths: allowance.paths }));
      }
  }
  return worst;
}

/** Judges what other commands print and an interpreter runs: `bash <(echo x)`, `eval "$(echo x)"`, `sh -c "$(cat f)"`. */
function handed({ program, rest }: Called, depth: number, allowance: Allowance): ShellReading | null {
  const isEval = program === 'eval';
  const isSource = program === 'source' || program === '.';
  if (!isEval && !isSource && !SHELLS.has(program)) return null;
  const behind = isEval ? rest.slice(1) : rest.slice(1, rest.findIndex(isText, 1) + 1 || undefined);
  let worst: ShellReading | null = null;
  for (const { runs, text } of behind)
    for (const inner of runs) {
      // `. "$(x)"` names a file, and "`a`. `b`" are sentences.
      if (saysNothing(inner) || (isSource && !text.startsWith('<'))) continue;
      const told = tells(inner);
      if (told === null) {
        worst = worse(worst, DECODED);
        continue;
      }
      for (const line of new Set([told, `${told}${text}`, `${text}${told}`]))
        worst = worse(worst, readWithin(line, depth, allowance));
    }
  return worst;
}
const isText = ({ text }: Word): boolean => /\s/.test(text);
/** What these print is no command. */
const saysNothing = ({ words: [head, ...behind] }: Command): boolean =>
  head !== undefined &&
  ((behind.length === 0 && /^(?:pwd|hostname|whoami|nproc|uname|id|tty)$/.test(head.text)) ||
    (head.text === 'date' && behind.every(({ text }) => /^(?:-u|\+(?:%[A-Za-z]|[-:_.T]){1,32})$/.test(text))));

/** A word as a shell would read it again as one. */
const quoted = (arg: string): string => (/\s/.test(arg) ? `'${arg.replaceAll("'", `'\\''`)}'` : arg);
const quotedAgain = ({ text }: Word): string => quoted(text);

const POSITIONS = /"?\$\{?[0-9@*]\}?"?/g;
/** `sh -c '$0 -rf /' rm`: what stands behind the text stands in it. */
function positioned(text: string, given: readonly string[], allowance: Allowance): string {
  // Where they are moved or set again, they stay what nobody knows.
  if (given.length === 0 || !text.includes('$') || /\b(?:shift|set)\b/.test(text)) return text;
  // Outside of quotes a shell splits what it inserts.
  const words = given.map((word) => (/^[\w\s./:=@%+,-]{0,4096}$/.test(word) ? word : quoted(word)));
  const all = words.slice(1).join(' ');
  return text.replaceAll(POSITIONS, (place) => {
    const digit = /[0-9]/.exec(place)?.[0];
    const inserted = digit === undefined ? all : (words[Number(digit)] ?? '');
    return allowance.mayInsert(inserted.length) ? inserted : '';
  });
}

const CMD_TEXT = /^(?:\/[abd-jl-z](?::\w{1,8})?){0,8}\/[ck]/i;
/** Shells whose text may stand in the same word as the option. */
const TAKES_ATTACHED = words('fish nu elvish xonsh');
const LONG_COMMAND = /^--(?:init-)?command(?:=|$)/;
/** The text that a shell is told to run, and what it is given: the first word behind its options, where one of them is `-c`. */
function toldToShell(program: string, args: readonly string[]): readonly string[] | null {
  let isTold = false;
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] as string;
    if (LONG_COMMAND.test(arg)) {
      const own = arg.replace(LONG_COMMAND, '');
      return own === '' ? args.slice(at + 1) : [own, ...args.slice(at + 1)];
    }
    if (arg === '--' || arg === '-') return isTold ? args.slice(at + 1) : null;
    if (arg.startsWith('--')) {
      if (/^--(?:rcfile|init-file|emulate)$/.test(arg)) at += 1;
    } else if (/^[-+]./.test(arg)) {
      const own = arg.toLowerCase().indexOf('c') + 1;
      const attached = TAKES_ATTACHED.has(program) && own > 0 && own < arg.length ? arg.slice(own) : undefined;
      if (attached !== undefined) return [attached, ...args.slice(at + 1)];
      isTold ||= /^-[a-zA-Z]{0,16}c/i.test(arg);
      // `-o pipefail`, `-O extglob`: a word more for each of them.
      for (const letter of arg.slice(1, 16)) if (letter === 'o' || letter === 'O') at += 1;
    } else return isTold ? args.slice(at) : null;
  }
  return null;
}

/** The text behind `-c` of a program that hands it to a shell, in the same word or the next: `su -lc x`, `--command=x`. */
function behindCommand(args: readonly string[]): string | null {
  const at = args.findIndex((arg) => LONG_COMMAND.test(arg) || /^-[a-zA-Z]{0,16}c/.test(arg));
  const [option = '', next] = args.slice(at, at + 2);
  if (at < 0) return null;
  const own = option.startsWith('--') ? option.replace(LONG_COMMAND, '') : option.slice(option.indexOf('c') + 1);
  return own === '' ? (next ?? null) : own;
}

/** The text that a program is told to run as a command. */
function innerCommand({ program, args, fed, place }: Called, allowance: Allowance): string | null {
  if (SHELLS.has(program)) {
    if (program === 'cmd') {
      const at = args.findIndex((arg) => CMD_TEXT.test(arg));
      return at >= 0 ? [(args[at] ?? '').replace(CMD_TEXT, ''), ...args.slice(at + 1)].join(' ') : null;
    }
    const told = toldToShell(program, args);
    if (told === null) return null;
    // What comes from the input is not known: whatever stands for it stays a variable.
    const [line = '', ...given] = told;
    return fed ? (place === '' ? line : line.replaceAll(place, '$fed')) : positioned(line, given, allowance);
  }
  switch (program) {
    case 'powershell':
    case 'pwsh': {
      const at = args.findIndex((arg) => /^[-/]c/i.test(arg) && 'command'.startsWith(arg.slice(1).toLowerCase()));
      return at >= 0 ? args.slice(at + 1).join(' ') : null;
    }
    case 'env': {
      const at = args.findIndex((arg) => SPLITS.test(arg));
      if (at < 0) return null;
      const own = (args[at] ?? '').replace(SPLITS, '');
      const split =
        own === '' ? [args[at + 1] ?? '', ...args.slice(at + 2).map(quoted)] : [own, ...args.slice(at + 1).map(quoted)];
      return split.join(' ');
    }
    case 'eval':
      return args.join(' ');
    case 'alias':
      return args.map((arg) => arg.slice(arg.indexOf('=') + 1)).join('\n');
    case 'su':
    case 'sg':
    case 'runuser':
    case 'script':
    case 'flock':
      return behindCommand(args);
    case 'trap':
      return args.find((arg) => arg !== '--') ?? null;
    case 'ssh': {
      const at = args.findIndex((arg, place) => !arg.startsWith('-') && !/^-[ilpoFJbLRD]$/.test(args[place - 1] ?? ''));
      return at >= 0 && at + 1 < args.length ? args.slice(at + 1).join(' ') : null;
    }
    case 'docker':
    case 'podman':
    case 'kubectl': {
      const at = args.findIndex((arg) => SHELLS.has(arg.split('/').at(-1) ?? ''));
      return at >= 0 ? args.slice(at).map(quoted).join(' ') : null;
    }
    default:
      return null;
  }
}

const CODE_HEAD =
  /^(?:import\b|__import__\(|os\.(?:system|popen|exec)|subprocess\.|require\(['"]?child_process|process\.mainmodule|system\(|exec\(|eval\(|shell_exec\(|passthru\()/i;
const CODE_DEED =
  /\bos\.(?:system|popen|remove|unlink|exec[lv])|\bsubprocess\.(?:run|call|popen|check_output)|shutil\.rmtree|child_process['"]?\)\.|\b(?:exec|eval|system|shell_exec|passthru)\(\S/i;
/** A line of a programming language that starts a shell. */
const codeOf = (rest: readonly Word[]): ShellReading | null => {
  const [head] = rest;
  if (head === undefined || !CODE_HEAD.test(head.text)) return null;
  return CODE_DEED.test(head.text) || head.text.startsWith('__import__')
    ? { effect: 'changes', act: 'code_runs' }
    : null;
};

/** Judges where a command's output goes. */
function redirected(
  { redirects, words: all }: Command,
  views: readonly View[],
  { paths }: Allowance,
): ShellReading | null {
  for (const { operator, target } of redirects) {
    if (target === null || !operator.includes('>')) continue;
    const { text } = target;
    if (paths.isDisk(text)) return { effect: 'takes_over', act: 'disk_written' };
    if (/^\/dev\/(?:tcp|udp)\//.test(text)) return SHELL_AWAY;
    const isVital =
      paths.isVitalFile(text) || (!text.startsWith('&') && views.some((view) => paths.isVitalFile(view(text))));
    if (isVital && (all.length > 0 || operator === '>')) return { effect: 'takes_over', act: 'system_written' };
  }
  for (const { target } of redirects)
    if (target !== null && /^\/dev\/(?:tcp|udp)\/[^\s/]{1,255}\/[\d$]/.test(target.text)) return SHELL_AWAY;
  return null;
}

/** `:(){ :|:& };:` is a function that starts itself twice. `%0|%0` is the same in a batch file. */
function forkBomb(command: Command, functions: ReadonlySet<string>): ShellReading | null {
  const name = command.words[0]?.text;
  const before = command.reads?.words.at(-1)?.text;
  const bomb = name !== undefined && name === before && (functions.has(name) || name === '%0');
  return bomb ? { effect: 'takes_over', act: 'runs_without_end' } : null;
}

/** Detects `curl -o a.sh http://... && sh a.sh`. Records the names of downloaded files in `files`. */
function runsWhatItFetched({ program, args }: Pick<Call, 'program' | 'args'>, files: Set<string>): boolean {
  const names = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
  if (/^(?:curl|wget|aria2c|fetch|certutil)$/.test(program)) {
    args.forEach((arg, at) => {
      if (/^(?:-o|-O|--output|--output-document)$/.test(arg) && args[at + 1] !== undefined)
        files.add(names(args[at + 1] as string));
      if (/^https?:\/\//.test(arg)) files.add(names(arg));
    });
    return false;
  }
  if (files.size === 0) return false;
  if (files.has(program)) return true;
  return INTERPRETERS.has(program) || program === 'source' || program === '.' || program === 'chmod'
    ? args.some((arg) => files.has(names(arg)) && (program !== 'chmod' || args.some((mode) => /\+x|7/.test(mode))))
    : false;
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
/** Judges `echo '...' > a.sh; sh a.sh`. Records in `written` what is printed to which file. */
function runsWhatItWrote(
  command: Command,
  { program, args }: Called,
  written: Map<string, string>,
  depth: number,
  allowance: Allowance,
): Found | null {
  const copied = program === 'tee' && command.reads !== null;
  const text = printed(copied ? (command.reads as Command) : command);
  const targets = copied
    ? args.filter((arg) => !arg.startsWith('-'))
    : command.redirects.flatMap(({ operator, target }) => (operator.includes('>') && target ? [target.text] : []));
  if (text !== null && text.includes(' ')) for (const target of targets) written.set(nameOf(target), text);
  if (written.size === 0) return null;
  const runs = INTERPRETERS.has(program) || program === 'source' || program === '.';
  const name = runs ? args.map(nameOf).find((arg) => written.has(arg)) : nameOf(program);
  const held = name === undefined ? undefined : written.get(name);
  if (held === undefined || name === undefined) return null;
  // Read once, however often it is run.
  written.delete(name);
  return readWithin(held, depth, allowance);
}
