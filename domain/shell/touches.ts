import { words } from '../text.js';
import { filesWritten } from './sed.js';
import type { Paths } from './paths.js';

/**
 * Which of the words of a program name what it changes. No list has all that writes, so every word counts that is not known to be read: a
 * vital path among the words of a program that is no known reader is a change of it.
 */

/** They read what they are given, or only speak of it; or the path is one of another machine. */
const READERS = words(
  `cat less more tail head strings base64 base32 type grep egrep fgrep zgrep rg ag ack cut nl tac od hexdump rev diff cmp ls dir echo
  printf find fd wc stat date whoami id uname uptime df du which whereis cd pushd popd chdir tr basename dirname realpath readlink true
  false test [ [[ source . file md5sum sha1sum sha224sum sha256sum sha384sum sha512sum cksum sum b2sum ldd nm objdump readelf size tree lsof
  fuser jq column fold fmt paste join comm expand look diff3 sdiff zcat bzcat xzcat man info help getent getfacl lsattr namei ps top htop
  pgrep pidof free vmstat ping dig nslookup host whatis apropos locate command hash eval alias export declare typeset readonly local unset
  set read trap umask ulimit wait sleep seq exit return break continue for case select function let getopts shift ssh docker podman nerdctl
  docker-compose podman-compose kubectl oc k3s k helm gpg-agent journalctl systemd-analyze nginx httpd apachectl sshd sysctl ssh-add
  configure`,
);
/** Their own rules tell which of their words they write (programs.ts). */
const OWN_RULES = words(
  `cp mv install ln dd tar bsdtar unzip scp rsync sort sed gsed awk gawk mawk perl ruby chmod chown chgrp setfacl rm rmdir unlink shred srm
  del erase rd`,
);
/** Their first word is what they run or read. */
const READS_FIRST = words(
  `sh bash zsh dash ksh ash fish csh tcsh python python2 python3 pypy pypy3 node nodejs deno bun php lua uniq xxd split csplit pytest phpunit mocha convert pwsh powershell tclsh osascript`,
);
/** What is no option of theirs they read. */
const READS_OPERANDS = words(
  `curl wget http https xh gcc g++ cc c++ clang clang++ ld go rustc javac java dotnet psql mysql mariadb ansible ansible-playbook iconv
  shuf openssl gpg`,
);
const COMPILES = 'ILBilcSEgxfmWODU';
/** Short options by which a program is told what it reads, and those of compilers that take nothing. */
const READS_BEHIND: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  curl: 'KbTEdFHxXuAe',
  wget: 'iU',
  gcc: COMPILES,
  'g++': COMPILES,
  cc: COMPILES,
  'c++': COMPILES,
  clang: COMPILES,
  'clang++': COMPILES,
  ld: 'LlT',
  psql: 'f',
  ansible: 'i',
  'ansible-playbook': 'i',
  ffmpeg: 'i',
  java: 'c',
  javac: 'c',
  pip: 'rc',
  pip3: 'rc',
  xargs: 'a',
  git: 'mF',
  gh: 'mtbF',
  glab: 'mtbd',
  hg: 'ml',
  svn: 'mF',
});
/** Long options by which any program is told what it reads, and texts of people. */
const READS_LONG = words(
  `in input input-file config conf config-file configuration cacert cafile capath ca ca-certificate ca-file certificate cert certs key
  private-key pubkey kubeconfig inventory requirement env-file from-file rcfile init-file defaults-file netrc-file cookie upload-file data
  data-binary data-raw form post-file body-file load-cookies include exclude exclude-from include-dir sysroot reference schema template
  profile message title body description notes shell`,
);

/** Verbs of git that write nothing but where `--output` says. */
const GIT_READS = words(
  `status log diff show blame shortlog rev-parse rev-list describe ls-files ls-tree ls-remote cat-file grep help version merge-base
  name-rev whatchanged count-objects fsck check-ignore`,
);

/** Whether a word may name something vital at all. */
const MAY_BE_PATH = /[/\\~$%.&*?[{'"]|[^\x21-\x7e]/;
const VALUE = /^[\w-]{1,64}=/;
const LONG = /^--?([A-Za-z][A-Za-z-]{1,40})(?:=|$)/;

/** The option that a word is, if its value is read. */
function readsBy(word: string, short: string): boolean {
  const long = LONG.exec(word)?.[1];
  if (long !== undefined && READS_LONG.has(long.toLowerCase())) return true;
  return /^-[A-Za-z]/.test(word) && !word.startsWith('--') && short.includes(word[1] as string);
}

function verbOfGit(args: readonly string[]): string | undefined {
  return args.find(
    (arg, at) => !arg.startsWith('-') && !/^(?:-[Cc]|--git-dir|--work-tree|--namespace)$/.test(args[at - 1] ?? ''),
  );
}

interface Called {
  readonly program: string;
  readonly args: readonly string[];
}

/** Readers that write where one of these options says. */
const WRITES_BEHIND: Readonly<Record<string, readonly string[]>> = Object.assign(Object.create(null), {
  tree: ['-o', '--output'],
  less: ['-o', '-O', '--log-file', '--LOG-FILE'],
  info: ['-o', '--output'],
  base64: ['-o', '--output'],
});
const isBehind = (option: string, arg: string, next: string, paths: Paths): boolean =>
  arg.startsWith(option) && paths.isVitalFile(arg === option ? next : arg.slice(option.length).replace(/^=/, ''));

/** Whether a program that is no known reader has a vital path among its words. */
export function changesVital({ program, args, paths }: Called & { readonly paths: Paths }): boolean {
  const writes = WRITES_BEHIND[program];
  if (writes?.some((option) => args.some((arg, at) => isBehind(option, arg, args[at + 1] ?? '', paths)))) return true;
  if (READERS.has(program) || OWN_RULES.has(program)) return false;
  if (program === 'git' && GIT_READS.has(verbOfGit(args) ?? 'help'))
    return args.some(
      (arg, at) => arg.startsWith('--o') && [arg, args[at + 1] ?? ''].some((one) => isVital(one, paths)),
    );
  const short = READS_BEHIND[program] ?? '';
  // Of what is copied the first word is read: `git clone /usr/src/x y`.
  let isFirst = READS_FIRST.has(program) || (program === 'git' && verbOfGit(args) === 'clone' && args.length > 2);
  const readsOperands = READS_OPERANDS.has(program);
  return args.some((arg, at) => {
    if (arg.startsWith('-') && arg.length > 1) return !readsBy(arg, short) && isVital(arg, paths);
    const before = args[at - 1] ?? '';
    const isValue = before.startsWith('-') && before.length > 1 && !before.includes('=');
    if (isValue) {
      if (readsBy(before, short) || (readsOperands && !mayTakeValue(before)) || !isVital(arg, paths)) return false;
      // `bash -x /usr/local/bin/a.sh`: most options of an interpreter take nothing.
      const runs = isFirst && !before.startsWith('--') && READS_FIRST.has(program);
      isFirst &&= !runs;
      return !runs;
    }
    if (readsOperands || (program === 'git' && arg === 'clone')) return false;
    if (isFirst) {
      isFirst = false;
      return false;
    }
    return isVital(arg, paths);
  });
}

/** `-o FILE`, `--trace FILE`: of options put together only the last takes a value. */
const mayTakeValue = (option: string): boolean => option.startsWith('--') || /^-[A-Za-z]{1,8}$/.test(option);

function isVital(word: string, paths: Paths): boolean {
  if (!MAY_BE_PATH.test(word)) return false;
  const value = VALUE.exec(word)?.[0] ?? /^--[a-z][a-z-]{0,40}=/i.exec(word)?.[0];
  const parts = word.startsWith('-')
    ? // `-sD/etc/x`: where options are put together, a path begins with its first sign.
      [word.slice(value?.length ?? 2), ...(value === undefined ? [word.slice(Math.max(2, word.search(/[/~\\]/)))] : [])]
    : [word, ...(value === undefined ? [] : [word.slice(value.length)])];
  return parts.some((part) => MAY_BE_PATH.test(part) && paths.isVitalFile(part));
}

const AWK_WRITES = />{1,2}\s{0,8}"([^"\n]{1,512})"/g;
/** The files that a program in the arguments writes: of sed, of awk. */
export function filesMade({ program, args }: Called): readonly string[] {
  if (program === 'sed' || program === 'gsed')
    return args.flatMap((arg) => filesWritten(arg.replace(/^-[a-zA-Z]{0,8}e|^--expression=/, '')));
  if (/^[gm]?awk$/.test(program)) {
    const inPlace = args.some(
      (arg, at) => /^(?:-i|--include[= ]?)?inplace$/.test(arg) && (arg !== 'inplace' || at > 0),
    );
    if (inPlace) return args.filter((arg) => !arg.startsWith('-'));
    // `print > f`: the file is the value of a variable.
    const named = args.some((arg) => />\s{0,8}[A-Za-z_(]/.test(arg))
      ? args.flatMap((arg) => /^(?:-v)?[A-Za-z_]\w{0,63}=(.{1,512})$/s.exec(arg)?.[1] ?? [])
      : [];
    return [...named, ...args.flatMap((arg) => [...arg.matchAll(AWK_WRITES)].map(([, file = '']) => file))];
  }
  return [];
}

/** Whether what stands before a program names something vital that is no variable, no folder to be in and no program: `time -o /etc/x`. */
export const changesByPrefix = (before: readonly string[], paths: Paths): boolean =>
  before.some((word, at) => {
    const option = before[at - 1] ?? '';
    const isOwn = word.startsWith('-') ? word.length > 2 : /^-[\w-]{1,40}$/.test(option);
    return isOwn && !readsBy(word, '') && !readsBy(option, 'a') && isVital(word, paths);
  });

/** They run what they are told to, on this machine or another one. */
const RUN_WORDS = words('ssh docker podman nerdctl docker-compose podman-compose kubectl oc k3s k helm');
const onlyReadsWords = (program: string): boolean => READERS.has(program) && !RUN_WORDS.has(program);
/** What is known of programs and options that run nothing. */
export const onlyReads = {
  /** It changes nothing either. */
  anything: onlyReadsWords,
  program: (program: string): boolean => onlyReadsWords(program) || OWN_RULES.has(program),
  byOption: (name: string): boolean => READS_LONG.has(name),
};
