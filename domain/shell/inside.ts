import { words } from '../text.js';
import { onlyReads } from './touches.js';

/**
 * Which words of a command may be a command that its program runs. No list has all programs that run another one, and no program says which
 * of its options do; so any word of a program may, unless it is known that the program only reads what it is given.
 */

/** Their own rules tell what they run (programs.ts), or their words are code, statements, names of packages or texts for people. */
const TOLD_APART = words(
  `git gh glab hg svn curl wget http https xh psql mysql mariadb sqlite3 cockroach clickhouse-client duckdb sqlcmd osql cqlsh snowsql usql
  mysqlsh sqlplus isql bcp mongo mongosh redis-cli valkey-cli keydb-cli logger notify-send say wall mail mailx kill pkill killall jq yq
  powershell pwsh iex invoke-expression osascript at batch zip 7z openssl nc ncat netcat telnet useradd usermod groupadd`,
);
/** They run text that is read elsewhere, or code: of their words only whole ones may be a command. */
const RUNS_CODE = words(
  `sh bash zsh dash ksh ash fish csh tcsh python python2 python3 pypy pypy3 perl ruby node nodejs deno bun php lua tclsh cmd su sg runuser
  script flock env ssh`,
);
/** Of the programs that run another one, those that are known by name even where a text may be a sentence. */
const RUNNERS = words(
  `npx bunx pnpx uvx pipx poetry uv pdm hatch rye bundle bundler valgrind tmux screen gdb lldb ssh-agent xvfb-run dbus-launch hyperfine entr
  direnv mise asdf nvm fnm rbenv pyenv conda mamba nix-shell nix guix proot bwrap lxc-attach machinectl catchsegv rlwrap tsocks
  daemonize start-stop-daemon newgrp cgexec numactl prlimit perf emacs`,
);
export const isRunner = (program: string): boolean => RUNNERS.has(program);

/** The words behind these verbs are names of packages. */
const INSTALLS = words('install i add reinstall upgrade update remove uninstall purge search show info download');
const PACKAGERS = words(
  'apt apt-get aptitude yum dnf brew rpm pacman apk zypper snap pip pip3 npm yarn pnpm cargo gem conda',
);

/** Options of readers that are known to run nothing; `touches.ts` has those by which a program is told what it reads. */
const HARMLESS = words(
  `all almost-all after-context apparent-size attributes-only auto before-context binary-files block-size boot brief buffer-size
  byte-offset bytes chars characters check classify clean clobber color colour column complement context count create cumulative date debug
  decode delimiter depth dereference dereference-recursive dictionary-order directories directory exclude-dir exclude-vcs expression
  extended-regexp extract field-separator fields files files-with-matches files-without-match fixed-strings follow force forest format
  full full-time general-numeric-sort glob group group-directories-first head heading help hidden human-numeric-sort human-readable iglob
  ignore ignore-all-space ignore-blank-lines ignore-case ignore-garbage ignore-leading-blanks ignore-nonprinting ignore-space-change
  in-place initial-tab inode interactive invert-match iso-8601 json key label line-buffered line-length line-number line-numbers line-regexp
  lines list max-columns max-count max-depth maxdepth mindepth minimal mode month-sort multiline newer new-file no-clobber no-config
  no-dereference no-filename no-group no-headers no-heading no-ignore no-ignore-vcs no-line-number no-messages no-pager
  no-same-owner no-target-directory normal null null-data number number-nonblank numeric-sort numeric-uid-gid one-file-system only-matching
  output output-delimiter owner parallel parents passthru perl-regexp pid posix preserve print0 priority quiet quote-style random-sort
  recursive reflink regexp regexp-extended relative report-identical-files resolve retry reverse rfc-3339 rfc-email sandbox separate
  show-all show-ends show-nonprinting show-tabs si side-by-side silent size smart-case sort sortr sparse speed-large-files squeeze-blank
  stable stats stdin strip-components strip-trailing-cr strip-trailing-slashes style suffix summarize suppress-common-lines symbolic system
  tabs tail target-directory temporary-directory text threads time time-style total transform type type-add type-not unbuffered unified
  unique unit until since update user utc verbose version version-sort vimgrep whole width wildcards with-filename without-match
  word-regexp words wrap zero zero-terminated`,
);
const SHORT = /^(?:-[A-Za-z0-9#]{1,12}(?:[=.,/].{0,256})?|-{1,2}|-[A-Za-z]\S{0,64}|\+(?:[\w-]{1,16}|[%/].{0,256}))$/s;
const LONG = /^--([a-z][a-z0-9-]{0,40})(?:=|$)/;
/** Whether an option is known to run nothing. */
const isHarmless = (option: string): boolean => {
  const name = LONG.exec(option)?.[1];
  return name === undefined ? SHORT.test(option) : HARMLESS.has(name) || onlyReads.byOption(name);
};

/** Whether a program only reads its words, or changes what they name: a reader with an option that is not known is none. */
const isReader = (program: string, args: readonly string[]): boolean =>
  onlyReads.program(program) && args.every((arg) => !/^[-+]./.test(arg) || isHarmless(arg));

/** Programs that look at files, with the options by which they would change some, or run something. */
const LOOKS: Readonly<Record<string, RegExp>> = Object.assign(Object.create(null), {
  shellcheck: /^$/,
  identify: /^-(?:write|process)/,
  exiftool:
    /=|^-(?:if|p|o|w|W|@|api|config|execute|stay_open|geo\w{0,16}|tagsfromfile|delete\w{0,16}|overwrite\w{0,32})\d?$/i,
  markdownlint: /^(?:-f|-o|-r|--fix|--output|--rules)/,
  'markdownlint-cli2': /^--(?:fix|config)/,
  prettier: /^(?:-w|--w|--plugin|--config)/,
  eslint: /^(?:-o|-c|--fix|--output|--config|--rulesdir|--plugin|--parser|--resolve|--format|-f)/,
  yamllint: /^$/,
  jsonlint: /^-i|^--in-place/,
  hadolint: /^$/,
  gofmt: /^-(?:w|-?cpuprofile)/,
  ffprobe: /^-(?:o|report)$/,
  mediainfo: /^--logfile/i,
  pdfinfo: /^$/,
});
/** Programs that only look at files where they are told so. */
const LOOKS_BY: Readonly<Record<string, readonly string[]>> = Object.assign(Object.create(null), {
  tsc: ['--noEmit'],
  node: ['--check', '-c'],
  nodejs: ['--check', '-c'],
  php: ['-l'],
  black: ['--check'],
});
/** `prettier --check x`, `node --check x`, and those behind npx. */
const looksAt = (program: string, args: readonly string[]): boolean => {
  if (/^(?:npx|bunx|pnpx)$/.test(program)) {
    const at = args.findIndex((arg) => !/^(?:-y|--yes|--no-install)$/.test(arg));
    const [behind = ''] = args.slice(at, at + 1);
    return at >= 0 && !/^(?:npx|bunx|pnpx)$/.test(behind) && looksAt(behind, args.slice(at + 1));
  }
  const changing = LOOKS[program];
  if (changing !== undefined) return !args.some((arg) => changing.test(arg));
  // One option says it, and no other is given.
  const said = LOOKS_BY[program];
  return said !== undefined && said.includes(args[0] ?? '') && args.slice(1).every((arg) => !arg.startsWith('-'));
};

/** They read, or copy to where their own rules look. */
const COPIES = words('cp ln awk gawk mawk sort tar bsdtar unzip scp rsync');
/** Whether a program leaves the files that it is given as they are. */
export const leavesFiles = (program: string, args: readonly string[]): boolean =>
  looksAt(program, args) || (isReader(program, args) && (onlyReads.anything(program) || COPIES.has(program)));

/** How the words of a program may be what it runs: not at all, whole ones alone, or whole ones and texts within words. */
export function mayRun(program: string, args: readonly string[]): 'nothing' | 'words' | 'texts' {
  if (TOLD_APART.has(program) || isReader(program, args)) return 'nothing';
  if (PACKAGERS.has(program) && INSTALLS.has(args.find((arg) => !arg.startsWith('-')) ?? '')) return 'nothing';
  return RUNS_CODE.has(program) ? 'words' : 'texts';
}

/** What stands before a command within a word: `commands=`, `+!`, `-ex=`, `-XX:OnError=`, `hook:`, `a/b=`. */
const BEFORE = /^(?:[-\w./]{1,64}[=:]|[+:!&|@\s]){1,4}/;
export const textWithin = (word: string): string => word.replace(BEFORE, '');
