import { words } from '../text.js';

/**
 * What programs are told by their input: `psql <<< '…'`, `echo '…' | redis-cli`. The same is read as where an option tells it to them, so that
 * one rule holds for both.
 */

const CLIENTS = words(
  `psql mysql mariadb sqlite3 cockroach clickhouse-client duckdb sqlcmd osql cqlsh snowsql usql mysqlsh sqlplus isql mongo mongosh gdb lldb
  osascript`,
);
/** The option by which others are told the same. */
const BY_OPTION: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  vim: '-c',
  vi: '-c',
  nvim: '-c',
  ex: '-c',
  view: '-c',
  awk: '',
  gawk: '',
  mawk: '',
  nawk: '',
  sed: '-e',
  gsed: '-e',
});
const REDIS = words('redis-cli valkey-cli keydb-cli');
const EDITORS = words('vim vi nvim ex view');
/** A script that is read from where the input is. */
const FROM_INPUT = /^(?:-|\/dev\/stdin|\/dev\/fd\/0|\/proc\/self\/fd\/0)$/;
/** `!x`, `.,$!x`, and behind any address `w !x` and `r !x`, in ed. */
const ED_RUNS = /^[\d\s.,$;%+-]{0,32}!|[rweRWE] {0,16}!/;
/** Debuggers, and what is written in a language of its own: whatever they are told may run anything. */
const RUN_ANYTHING = words('gdb lldb osascript');
/** How clients are told, at the beginning of a line, to hand it to a shell, to a program or to a file of further commands. */
const HANDS_OVER = /^(?:[!@:$]|(?:shell|system|source|so|host|ho|pipe|call|make|platform shell|command script)\s)/i;
/** What stands for a command of the client itself: at the beginning of a line `.x`, and anywhere `\x`. */
const OWN_COMMAND = /^\.[a-z]{1,32}|\\(?:[a-z]{1,32}|[!.?])/gi;
/** Those that only show something. */
const SHOWS =
  /^(?:\\(?:d[a-z]{0,8}|l|q|x|h|timing|conninfo|pset|encoding|p|u)|\.(?:tables?|schema|headers?|mode|quit|exit|index(?:es)?|databases|show|help|width|nullvalue|timer|eqp|echo|print))$/i;
const isHandedOver = (text: string): boolean =>
  text.split('\n').some((line) => {
    const told = line.trimStart();
    return HANDS_OVER.test(told) || (told.match(OWN_COMMAND) ?? []).some((own) => !SHOWS.test(own));
  });

export type Fed =
  /** Arguments as which the program is judged again. */
  | { readonly args: readonly (readonly string[])[] }
  /** A text that a shell runs. */
  | { readonly line: string }
  | 'runs another program';

/** Programs that do what their input says, or may by the option that is given. */
export function readsCommands(program: string, args: readonly string[]): boolean {
  if (program === 'ssh') return args.some((arg) => !arg.startsWith('-'));
  if (program === 'ed' || CLIENTS.has(program) || REDIS.has(program)) return true;
  if (EDITORS.has(program)) return program === 'ex' || args.some((arg) => /^-(?:[a-zA-Z]{0,8}[eEs]|$)/.test(arg));
  return (
    BY_OPTION[program] !== undefined && args.some((arg) => FROM_INPUT.test(arg.replace(/^-f|^--file=/, '') || '-'))
  );
}

/** How a text is read that is fed to such a program. */
export function fed(program: string, args: readonly string[], text: string): Fed {
  if (program === 'ssh') return { line: text };
  if (program === 'ed')
    return text.split('\n').some((line) => ED_RUNS.test(line)) ? 'runs another program' : { args: [] };
  if (REDIS.has(program))
    return { args: text.split('\n').map((line) => [...args, ...line.replaceAll(/["']/g, '').trim().split(/\s+/)]) };
  if (RUN_ANYTHING.has(program) || (CLIENTS.has(program) && isHandedOver(text))) return 'runs another program';
  const option = BY_OPTION[program];
  return { args: [[...args, ...(option === undefined || option === '' ? [] : [option]), text]] };
}
