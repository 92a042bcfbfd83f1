import { type Checkpoint, unlimited } from '../in-place.js';
import { words } from '../text.js';

/** Words that say, in a name or behind a program, that something is removed. */
export const REMOVES_IN_NAME = words(
  'delete destroy remove drop purge erase wipe truncate terminate uninstall unlink deprovision decommission flush',
);
/** The same behind a program, and what stops something there. */
const BEHIND = words(
  `delete del destroy remove rm rmi rmtree rmr drop purge erase wipe truncate terminate uninstall unlink deprovision decommission flush flushall flushdb
  stop down kill prune shutdown halt poweroff teardown nuke reset-all`,
);
/** What stands before the word: what follows is looked for, or shown. */
const LOOKS = words(
  'get list describe view show info help explain inspect status ls ps cat diff version man search find grep jest vitest mocha rspec pytest install i add build create new init docs doc which whatis',
);
/** The same of these programs alone: others have a group of commands that is called so. */
const LOOKS_OF_SOME: readonly (readonly [words: ReadonlySet<string>, programs: ReadonlySet<string>])[] = [
  [
    words('log logs test t plan checkout'),
    words(
      `kubectl oc docker podman nerdctl docker-compose npm pnpm yarn npx bun cargo go gh terraform tofu terragrunt mvn gradle dotnet flutter mix
      swift deno ng nx playwright svn hg`,
    ),
  ],
  [words('log logs'), words('pm2 fly flyctl heroku')],
  // `kubectl auth can-i delete pods`.
  [words('can-i'), words('kubectl oc')],
  // What `nx` generates may be a removal: `nx g rm lib`.
  [words('g generate'), words('rails ng nest')],
];
/** What they make may be named for a removal: `php artisan make:migration drop_x`. */
const MAKES = /^(?:php[\d.]{0,8}|artisan|sail)$/;
const looksBy = (program: string, word: string): boolean =>
  LOOKS.has(word) ||
  (MAKES.test(program) && word.startsWith('make:')) ||
  LOOKS_OF_SOME.some(([looks, programs]) => programs.has(program) && looks.has(word));
/** Their words are files, patterns and texts. */
const NAMES_FILES = words(
  `cp mv ln mkdir touch install ls cat echo printf head tail grep egrep fgrep zgrep rg ag ack find fd wc stat date whoami id uname uptime df du which type whereis
  whatis man apropos info help cd pwd cut tr nl diff cmp comm sort uniq basename dirname realpath readlink true false test [ less more most tree file strings
  awk gawk mawk sed gsed jq yq xxd od hexdump tee vim vi nano emacs code chmod chown chgrp read export set unset alias history tar zip unzip gzip gunzip
  say espeak cowsay figlet toilet notify-send dict wn aspell translate trans spellcheck playerctl gcc cc clang g++ c++ clang++ rustc javac tsc eslint
  prettier black ruff jest vitest mocha rspec phpunit pgrep
  seq expr let command hash pytest md5sum sha256sum sha1sum cksum column fold fmt rev tac paste join split yes sleep wait look ping dig nslookup host printenv locale column`,
);
/** Their options tell a text whose words say nothing. */
const TOLD = /^(?:-m|-b|-t|-F|-S|-G|--(?:message|title|body|notes|grep|author|search|query|subject))$/;
const OPTION =
  /^--?(?:delete|remove|destroy|purge|drop|wipe|erase|uninstall|terminate|truncate|shutdown|stop|kill|prune)(?:$|=|-(?!on-error|destination|source-tag))/i;
/** What is taken off something, which stays: `gh issue edit 3 --remove-label x`. A label is one of any program. */
const TAKES_OFF = /^--remove-(?:(label)|assignee|reviewer|milestone|project)s?(?:=|$)/i;
const saysRemoval = (program: string, arg: string): boolean => {
  const off = TAKES_OFF.exec(arg);
  return OPTION.test(arg) && (off === null || (off[1] === undefined && !SPEAKS.has(program)));
};
/** Programs with such options. */
const SPEAKS = words('gh glab hub svn hg jj');
const MOST_WORDS = 8;
const FETCHES = words(
  'curl wget http https xh xhs httpie curlie fetch hurl aria2c lwp-request invoke-restmethod invoke-webrequest irm iwr',
);
/** Programs take long options cut short. */
const METHOD_OPTION = /^(?:-[a-zA-Z0-9#]{0,12}X|--?(?:req[uest]{0,4}|met[hod]{0,3}|custommethod|httpmethod))$/i;
const SAYS_DELETE =
  /^(?:-[a-zA-Z0-9#]{0,12}X=?|--?(?:req[uest]{0,4}|met[hod]{0,3}|custommethod|httpmethod)[=:])['"]?delete['"]?$/i;
/** `-H'X-HTTP-Method-Override:DELETE'`, `-d_method=DELETE`, `--post-data=_method=DELETE`. */
const OVERRIDES = [
  /(?:^|[^a-z]|^-[a-z]{1,8})x-[a-z-]{0,24}method[a-z-]{0,24}\s{0,4}[:=]\s{0,4}['"]?delete\b/i,
  /(?:^|[?&]|^-[a-z]{1,8}|^--[a-z-]{1,24}=)_method=['"]?delete\b/i,
];

/** Whether a word behind a program says that it removes or stops: `delete`, `delete-bucket`, `db:drop`, `topic-delete`. */
const removes = (word: string): boolean => {
  if (!/^[a-z][a-z0-9:_-]{1,96}$/i.test(word)) return false;
  const low = word.toLowerCase();
  if (BEHIND.has(low)) return true;
  const parts = low.split(/[:_-]/);
  const [first = ''] = parts;
  return parts.length > 1 && (REMOVES_IN_NAME.has(first) || REMOVES_IN_NAME.has(parts.at(-1) ?? ''));
};

/** `./delete_all.sh`, `Stop-Service`. */
function isNamedForRemoval(program: string): boolean {
  const bare = program.replace(SCRIPT, '');
  if (/^(?:stop|remove|clear|uninstall|disable)-[a-z]/i.test(bare)) return true;
  return (
    removes(bare) && (bare !== program || !BEHIND.has(bare.toLowerCase()) || REMOVES_IN_NAME.has(bare.toLowerCase()))
  );
}
const SCRIPT = /\.(?:sh|bash|zsh|py|js|mjs|ts|rb|pl|php|ps1|bat|cmd|exe)$/;
/** Shells that are given a file: `bash x/delete_all.sh`. In other languages such a name is a program's as often as a deed's. */
const SHELL = /^(?:(?:ba|z|da|k|a|fi)?sh|source|\.)$/;
const CHECKS = /^(?:ba|z|da|k|a)?sh$/;
function runsNamedForRemoval({ program, args }: Told): boolean {
  if (!SHELL.test(program)) return false;
  const at = args.findIndex((arg, of) => !arg.startsWith('+') && isPlain(arg, args[of - 1], OF_SHELL));
  const script = args[at] ?? '';
  const says = (letter: RegExp): boolean => args.slice(0, at).some((arg) => letter.test(arg));
  // A line is read by itself, and a file that is only checked does nothing; further on `-n` may be the value of an option.
  const isChecked = CHECKS.test(program) && /^-[a-z]{0,8}n[a-z]{0,8}$/.test(args[0] ?? '') && !says(/^\+/);
  if (isChecked || (says(/^-[a-zA-Z]{0,8}c[a-zA-Z]{0,8}$/) && /\s/.test(script))) return false;
  return isNamedForRemoval(script.slice(script.lastIndexOf('/') + 1));
}

/** As the first option or the only one; behind others it may be the value of one. */
const onlyAsksForHelp = (args: readonly string[]): boolean =>
  !args.includes('--') &&
  /^--(?:help|version)$/.test(args.at(-1) ?? '') &&
  args.filter((arg) => arg.startsWith('-')).length === 1;

/** Their last words are what is done to a service, whatever it is called. */
const SERVICES = words('service rc-service invoke-rc.d supervisorctl sv');
const FILE_SYSTEMS = words('hdfs hadoop');
const stopsUnit = (args: readonly string[]): boolean =>
  args.some((arg) => /^(?:isolate|rescue|emergency|reboot)$/.test(arg)) ||
  (args.includes('--now') && args.some((arg) => /^(?:disable|mask)$/.test(arg)));

/** Programs that have another one run. */
const SPEAKS_EXEC = words(
  'kubectl oc docker podman nerdctl docker-compose nomad fly flyctl heroku lxc incus npm npx pnpm yarn bundle',
);
const PACKAGES = words('npm pnpm yarn bundle');
const OF_SHELL = /^(?:[-+][a-zA-Z]{0,8}[oO]|--(?:rcfile|init-file))$/;
const OF_SSH = /^-[BbcDEeFIiJLlmOopQRSWw]$/;
const isPlain = (arg: string, before: string | undefined, valued: RegExp): boolean =>
  !arg.startsWith('-') && !valued.test(before ?? '');
/** A program and what it is told. */
interface Told {
  readonly program: string;
  readonly args: readonly string[];
}
/** What a program is handed to run: its own program, and the words of that one. */
function handed(args: readonly string[]): boolean | readonly Told[] {
  const [program = '', ...rest] = args[0] === '--' ? args.slice(1) : args;
  if (program === '') return false;
  return removes(program) || [{ program, args: rest }];
}
/** Behind `exec` stands where, and then what: `kubectl exec pod -- rm x`, `nomad alloc exec id rm x`. */
function handedIn(args: readonly string[]): boolean | readonly Told[] {
  const behind = args.indexOf('--');
  // Behind more than where it is, this is told to the other program: `exec web npm test -- x`.
  const where = args.slice(0, Math.max(behind, 0)).filter((arg, at) => isPlain(arg, args[at - 1], /^-/));
  if (behind !== -1 && where.length < 2) return handed(args.slice(behind + 1));
  const programs: Told[] = [];
  let [named, before] = [0, ''];
  for (const [at, arg] of args.entries()) {
    if (arg.startsWith('-')) continue;
    if (removes(arg)) return true;
    if (named > 0) {
      if (NAMES_FILES.has(arg) || looksBy(before, arg)) break;
      programs.push({ program: arg, args: args.slice(at + 1) });
    }
    if (named >= MOST_WORDS) break;
    [named, before] = [named + 1, arg];
  }
  return programs;
}

/** Of the programs that a command may hand to each other. More are no plain command, and count as a removal. */
const MOST_PROGRAMS = 32;

/**
 * Whether a program is told by a word or an option that it removes or stops something, whatever program it is: `gh repo delete x`,
 * `kafka-topics --delete`, `ip link set eth0 down`, `curl -X DELETE u`. Programs whose words are files or texts are not read so.
 */
export function isToldToRemove(program: string, args: readonly string[], checkpoint: Checkpoint = unlimited): boolean {
  const programs: Told[] = [{ program, args }];
  // What is handed on are the last words, so that their number says which they are.
  const known = new Set([args.length]);
  for (const one of programs) {
    checkpoint();
    const told = toldBy(one);
    if (told === true) return true;
    for (const other of told === false ? [] : told) {
      if (known.has(other.args.length)) continue;
      if (known.size === MOST_PROGRAMS) return true;
      known.add(other.args.length);
      programs.push(other);
    }
  }
  return false;
}

/** Whether the words of one program say it, or which programs it is handed to run. */
function toldBy({ program, args }: Told): boolean | readonly Told[] {
  if (program === 'git') {
    const [sub = ''] = args.filter((arg, at) => !arg.startsWith('-') && !/^-[Cc]$/.test(args[at - 1] ?? ''));
    const isGroup = /^(?:stash|remote|worktree|submodule|notes|reflog|lfs|tag|branch|bundle)$/.test(sub);
    const isOfNames = sub === 'branch' || sub === 'tag';
    if (isOfNames && args.some((arg) => /^(?:-[a-zA-Z]{0,8}[dD][a-zA-Z]{0,8}|--del[ete]{0,3})$/.test(arg))) return true;
    return removes(sub) || (isGroup && args.slice(args.indexOf(sub) + 1, args.indexOf(sub) + 2).some(removes));
  }
  if (!FETCHES.has(program) && onlyAsksForHelp(args)) return false;
  const methods = args.some(
    (arg, at) =>
      SAYS_DELETE.test(arg) ||
      (/^delete$/i.test(arg) &&
        (METHOD_OPTION.test(args[at - 1] ?? '') || (program === 'lwp-request' && args[at - 1] === '-m'))),
  );
  if (methods && !NAMES_FILES.has(program)) return true;
  if (FETCHES.has(program))
    return (
      args.some((arg) => OVERRIDES.some((one) => one.test(arg))) ||
      (/^(?:http|https|xhs?|httpie)$/.test(program) &&
        args
          .filter((arg) => !arg.startsWith('-'))
          .slice(0, 4)
          .some((arg) => /^delete$/i.test(arg)))
    );
  if (NAMES_FILES.has(program) || LOOKS.has(program)) return false;
  if (isNamedForRemoval(program)) return true;
  if (program === 'ssh') return handed(args.slice(args.findIndex((arg, at) => isPlain(arg, args[at - 1], OF_SSH)) + 1));
  if (/^python[\d.]{0,8}$/.test(program) && args[0] === '-m') return handed(args.slice(1));
  if (runsNamedForRemoval({ program, args })) return true;
  if (SERVICES.has(program)) return args.some((arg) => !arg.startsWith('-') && removes(arg));
  if (program === 'systemctl' && stopsUnit(args)) return true;
  if (FILE_SYSTEMS.has(program) && args.some((arg) => /^-(?:rm|rmr|rmdir|expunge|delete[a-z]{0,16})$/i.test(arg)))
    return true;
  if (/^(?:terraform|tofu|terragrunt)$/.test(program) && args.find((arg) => !arg.startsWith('-')) === 'plan')
    return false;
  const exec = args.findIndex((arg) => /^exec$/i.test(arg));
  // What follows is another program's, whose options are read with it.
  if ((exec === -1 || !SPEAKS_EXEC.has(program)) && args.some((arg) => saysRemoval(program, arg))) return true;
  if (exec !== -1 && !args.slice(0, exec).some(removes)) {
    const behind = args.slice(exec + 1);
    // Of these what follows is no place but the program: `pnpm exec vitest run delete-user`.
    const isProgram = PACKAGES.has(program) && behind[0] !== undefined && !/^-(?!-$)/.test(behind[0]);
    return isProgram ? handed(behind) : handedIn(behind);
  }
  let words = 0;
  for (const [at, arg] of args.entries()) {
    const before = args[at - 1] ?? '';
    if (arg.startsWith('-') || (SPEAKS.has(program) && TOLD.test(before))) continue;
    // A name; of other programs a switch without a value may stand there.
    if (program === 'journalctl' && /^-[ut]$/.test(before)) continue;
    words += 1;
    if (words > MOST_WORDS) return false;
    if (removes(arg)) return true;
    // The value of an option looks like such a word too.
    const low = arg.toLowerCase();
    // `docker compose run app php artisan make:migration drop_x`.
    const isMade = /(?:^|\/)artisan$/.test(before) && looksBy('artisan', low);
    if ((isMade || looksBy(program, low)) && !(before.startsWith('-') && !before.includes('='))) return false;
  }
  return false;
}
