import { NAMES_ARGUMENTS, NAMES_FILE_TOO, NAMES_PROGRAM, NAMES_VERB, plain } from '../argument-names.js';
import { isShellShaped } from '../tool-shape.js';
import type { Checkpoint } from '../in-place.js';
import { quoted } from '../printable.js';
import { shellActOf } from '../shell/acts.js';
import { Allowance } from '../shell/allowance.js';
import type { Command, Word } from '../shell/command.js';
import { readCommands } from '../shell/lexer.js';
import { commandLine } from '../shell/named-program.js';
import type { Paths } from '../shell/paths.js';
import { CHANGES_SYSTEM, isKnownProgram, readsSecrets } from '../shell/programs.js';
import { changesSystem, endsSomething, getsLost, writesUnsurely } from '../shell/read-shell.js';
import { words } from '../text.js';
import { wordsOf } from '../argument-values.js';
import { type Finding, isCarried, type ReadCall, type Readers } from './finding.js';
import { connects, READS, verbOf } from './verbs.js';

/** What a shell would be given: a command line, or the names of its programs where they stand beside their arguments. */
export interface CommandLine {
  readonly text: string;
  readonly path: readonly string[];
}

/** Of the lines and their commands, the ones that are listed. More are never said to only look. */
const LINES = 16;
const COMMANDS = 64;
/** Arguments that hold a program of some language where the tool runs one. */
const CODES = words('code script source input text content body line lines snippet');

/** The command lines in the arguments, and the single words there which say what the tool is to do: `{"command": "view"}`. */
export function commandsIn(
  call: Pick<ReadCall, 'tool' | 'groups'>,
  named: readonly string[],
  data: Readers['data'],
): { readonly lines: readonly CommandLine[]; readonly verbs: readonly string[] } {
  const lines: CommandLine[] = [];
  const verbs: string[] = [];
  const runs = isShellShaped(named);
  const onlyReads =
    READS.has(named[0] ?? '') &&
    verbOf(named, data) === 'read' &&
    !connects(named) &&
    !named.some((word) => APPLIES.has(word));
  for (const { path, members } of call.groups) {
    const beside = members.find(([name]) => NAMES_ARGUMENTS.has(plain(name)));
    const others = wordsOf(beside?.[1]) ?? [];
    let hasProgram = false;
    for (const [name, value] of members) {
      const short = plain(name);
      if (beside?.[0] === name) continue;
      const isProgram = NAMES_PROGRAM.has(short) && !NAMES_FILE_TOO.has(short);
      if (!isProgram && !(short === 'script' || short === 'argv' || (runs && CODES.has(short)))) continue;
      const given = wordsOf(value);
      if (given === undefined) continue;
      const line = asLine(given, others);
      if (!runs && isSingleWord(line) && !isKnownProgram(line.toLowerCase()) && !SAFE.has(line)) {
        verbs.push(line);
        continue;
      }
      hasProgram = true;
      lines.push({ text: line, path: [...path, name] });
    }
    if (!hasProgram && beside !== undefined && others.length > 0) {
      const [program = ''] = call.tool
        .toLowerCase()
        .split(/[^a-z0-9-]/)
        .slice(-1);
      const own = named.find((word) => isKnownProgram(word)) ?? program;
      if (isKnownProgram(own) && !COMMON.has(own))
        lines.push({ text: asLine([own], others), path: [...path, beside[0]] });
      else if (runs || plain(beside[0]) === 'argv')
        lines.push({ text: asLine([], others), path: [...path, beside[0]] });
    }
    const holder = path.findLast((name) => !JOINS.has(name)) ?? '';
    if (onlyReads && FILTERS.has(plain(holder))) continue;
    for (const [name, value] of members)
      if (NAMES_VERB.has(plain(name)) && typeof value === 'string' && isSingleWord(value)) verbs.push(value);
  }
  return { lines, verbs };
}
/** What records are looked for by: `find {filter: {action: "delete"}}` finds what was deleted. */
const FILTERS = words('filter filters where criteria condition conditions match');
/** What joins the conditions of a filter in MongoDB. */
const JOINS = words('$and $or $nor $not');
/** What does something with what is found, in words that change nothing by themselves. */
const APPLIES = words('apply enforce process handle perform do act');
/** Programs whose names are verbs of many tools. */
const COMMON = words(
  'find sort format install kill at cut head tail type less more test start watch split service scale',
);

const isSingleWord = (text: string): boolean => /^[\w.-]{1,64}$/.test(text.trim());
/** One text is a line for a shell; of a list each item is a word. */
const asLine = (given: readonly string[], others: readonly string[]): string => {
  const [first = ''] = given;
  const head = given.length === 1 ? first : commandLine(given);
  const [only = ''] = others;
  const rest = others.length === 1 ? only : commandLine(others);
  return [head, rest].filter((part) => part !== '').join(' ');
};

/** Programs that only look, as long as nothing is redirected or substituted. */
const SAFE = words(
  `ls cat pwd echo head tail grep egrep fgrep find wc stat date whoami id uname uptime df du which cd cut tr nl diff cmp basename dirname
  realpath readlink printf true false git`,
);
/** They tell of files, and nothing that is in them. */
const TELLS_NAMES = words('ls pwd echo find stat date whoami id uname uptime df du which cd basename dirname realpath');
const SAFE_GIT = words('status log diff show blame shortlog rev-parse describe ls-files');

/** The commands in the arguments, each as a shell reads it. */
export function readShellActs(
  call: ReadCall,
  lines: readonly CommandLine[],
  readers: Readers,
  checkpoint: Checkpoint,
): readonly Finding[] {
  const allowance = new Allowance(call.arguments, checkpoint);
  const { found, more } = readers.readShell(call.arguments, allowance);
  const isLine = (path: readonly string[]) => lines.some((line) => path[0] === line.path[0] || path.length === 0);
  const told = found.filter(
    ({ path, form }) => isLine(path) || (form === 'command' && !isCarried(call, path, readers)),
  );
  const joined =
    lines.length === 0
      ? null
      : readers.readShell(
          lines.map(({ text }) => text),
          new Allowance(call.arguments, checkpoint),
        );
  const acts = new Map([...told, ...(joined?.found ?? [])].map((one) => [one.act, one]));
  const findings: Finding[] = [...acts.values()].map(({ effect, act }) => {
    const { says, removes, isMild: isMildAct } = shellActOf(act);
    const isMild = effect === 'changes' && isMildAct === true;
    return {
      operation_class: 'exec',
      severity: isMild ? 'risky' : 'destructive',
      act: RUNS.act,
      kind: removes ? 'delete' : 'execute',
      targets: [],
      reversible: isMild ? 'unknown' : 'no',
      reasons: [`a shell command: ${says}`],
      ...(effect === 'removes_root' && { wildcards: true, recursive: true }),
    };
  });
  if (more) findings.push({ ...RUNS, severity: 'destructive', reasons: ['more shell commands than are read'] });
  if (lines.length === 0) return findings;
  let isUnsure = false;
  let isVital = false;
  let isEnd = false;
  const commands = lines.flatMap(({ text }) => {
    checkpoint();
    const read = new Allowance(text, checkpoint);
    if (!read.begin(text)) return [];
    const { commands: all, set } = readCommands(text, () => true, read);
    let isLost = false;
    for (const command of all) {
      isLost ||= getsLost(command, set);
      isUnsure ||= writesUnsurely(command, set, isLost);
      isVital ||= changesSystem(command, allowance.paths);
      isEnd ||= endsInside(command, read, 0);
    }
    return all;
  });
  if (isUnsure) findings.push(WRITES_UNSURELY);
  if (isVital && findings.every(({ severity }) => severity !== 'destructive')) findings.push(WRITES_SYSTEM);
  if (isEnd && findings.every(({ severity }) => severity !== 'destructive')) findings.push(ENDS);
  const isWhole = lines.length <= LINES && commands.length <= COMMANDS;
  const looks =
    isWhole &&
    commands.length > 0 &&
    findings.length === 0 &&
    commands.every((command) => onlyLooks(command, allowance.paths));
  const targets = commands.slice(0, COMMANDS).flatMap(targetsOf);
  const recursive = commands.some(({ words: all }) =>
    all.slice(1).some(({ text }) => /^(?:-[a-zA-Z]{0,8}[rR][a-zA-Z]{0,8}|--recursive)$/.test(text)),
  );
  const wildcards = targets.some((target) => /[*?]/.test(target));
  const shown = lines.map(({ text }) => text).join('; ');
  const own: Finding = looks
    ? {
        namesTargets: true,
        operation_class: 'read',
        severity: 'safe',
        act: `run ${quoted(shown)}`,
        kind: 'read',
        targets,
        reversible: 'yes',
        reasons: ['every command of it only looks'],
      }
    : {
        ...RUNS,
        act: `run ${quoted(shown)}`,
        targets,
        reasons: ['a shell runs what it is given'],
        wildcards,
        recursive,
        namesTargets: true,
      };
  return findings.length === 0
    ? [own]
    : findings.map((one) => ({
        ...one,
        act: own.act,
        namesTargets: true,
        targets,
        wildcards: one.wildcards ?? wildcards,
        recursive: one.recursive ?? recursive,
      }));
}

/** A shell that is told a whole line in one word, itself or in a container. */
const LINES_IN = words(
  'sh bash zsh dash ksh ash fish ssh su eval watch trap heroku fly flyctl script tmux screen ansible salt vagrant gcloud docker podman nerdctl kubectl oc sudo env timeout nohup xargs',
);
const DEEPEST = 3;
const endsInside = (command: Command, read: Allowance, depth: number): boolean =>
  endsSomething(command, read.checkpoint) ||
  command.words.some(({ runs }) => runs.some((inner) => endsSomething(inner, read.checkpoint))) ||
  (depth < DEEPEST &&
    command.words.some(({ text }) => LINES_IN.has(text.slice(text.lastIndexOf('/') + 1))) &&
    command.words.some(
      ({ text }) =>
        /\s/.test(text.trim()) &&
        read.begin(text) &&
        readCommands(text, () => true, read).commands.some((inner) => endsInside(inner, read, depth + 1)),
    ));

const RUNS: Finding = {
  operation_class: 'exec',
  severity: 'risky',
  act: 'run a shell command',
  kind: 'execute',
  targets: [],
  reversible: 'unknown',
  reasons: [],
};

/** What a variable names may be a file of the system. */
const WRITES_UNSURELY: Finding = {
  ...RUNS,
  severity: 'destructive',
  reversible: 'no',
  reasons: [`a shell command: ${shellActOf('unsure_file_written').says}`],
};

const ENDS: Finding = {
  ...WRITES_UNSURELY,
  reasons: ['a shell command: something removed, emptied or stopped'],
};

/** The tool runs it, so any program counts, also one that is not known. */
const WRITES_SYSTEM: Finding = {
  ...WRITES_UNSURELY,
  reasons: [`a shell command: ${shellActOf(CHANGES_SYSTEM.act).says}`],
};

const GIT_ACTS = ['output', 'ext-diff', 'no-index'];
const DATE_ACTS = ['set'];
/** Programs take long options cut short: `--se=`, `--ext-dif`. */
function isOption(arg: string, names: readonly string[]): boolean {
  if (!arg.startsWith('--') || arg === '--') return false;
  const [given = ''] = arg.slice(2).split('=', 1);
  return names.some((name) => name.startsWith(given));
}

/** Of what the reader leaves, some shell may still make words. */
const hasBraces = ({ text, quoted }: Word): boolean =>
  !quoted && text.includes('{') && (text.includes(',') || text.includes('..'));

/** Without a redirection, a substitution or a variable: what a reader sees is what runs. */
function onlyLooks({ words: all, redirects, assigned, isCut }: Command, paths: Paths): boolean {
  const [head, ...behind] = all;
  if (head === undefined || !SAFE.has(head.text) || redirects.length > 0 || assigned.length > 0) return false;
  if (isCut || all.some(hasBraces)) return false;
  if (all.some(({ runs, unknown }) => runs.length > 0 || unknown !== '')) return false;
  const args = behind.map(({ text }) => text);
  if (args.some((arg) => /^--?files0/.test(arg))) return false;
  if (!TELLS_NAMES.has(head.text) && readsSecrets({ program: head.text, args, paths })) return false;
  switch (head.text) {
    case 'git':
      return SAFE_GIT.has(args[0] ?? '') && !args.some((arg) => arg.startsWith('-O') || isOption(arg, GIT_ACTS));
    case 'find':
      return !args.some((arg) => /^-(?:delete|exec|ok|fprint|fls)/.test(arg));
    case 'printf':
      return !args.some((arg) => arg.startsWith('-v'));
    case 'date':
      return !args.some(
        (arg) => /^(?:-[^-dfrI]{0,8}s|\d)/.test(arg) || isOption(arg, DATE_ACTS) || /^(?:-[^-dr]{0,8}f|--fi)/.test(arg),
      );
    default:
      return true;
  }
}

/** The first word behind these is what they are to do. */
const MULTI = words(
  'git kubectl oc helm docker podman terraform tofu npm yarn pnpm pip pip3 apt apt-get systemctl service gh aws gcloud az cargo brew',
);

/** What the programs are told that is no option: paths, addresses, names. */
const targetsOf = ({ words: [head, ...all], redirects }: Command): readonly string[] => [
  ...all
    .slice(MULTI.has(head?.text ?? '') ? 1 : 0)
    .flatMap(({ text }) => (text === '' || text.startsWith('-') ? [] : [text])),
  ...redirects.flatMap(({ target }) => (target === null ? [] : [target.text])),
];
