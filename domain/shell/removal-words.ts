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
  'get list describe view show info help explain inspect status ls ps cat diff version man search find grep log install i add build create new init docs doc which whatis',
);
/** Their words are files, patterns and texts. */
const NAMES_FILES = words(
  `cp mv ln mkdir touch install ls cat echo printf head tail grep egrep fgrep zgrep rg ag ack find fd wc stat date whoami id uname uptime df du which type whereis
  whatis man apropos info help cd pwd cut tr nl diff cmp comm sort uniq basename dirname realpath readlink true false test [ less more most tree file strings
  awk gawk mawk sed gsed jq yq xxd od hexdump tee vim vi nano emacs code chmod chown chgrp read export set unset alias history tar zip unzip gzip gunzip
  seq expr let command hash pytest md5sum sha256sum sha1sum cksum column fold fmt rev tac paste join split yes sleep wait look ping dig nslookup host printenv locale column`,
);
/** Their options tell a text whose words say nothing. */
const TOLD = /^(?:-m|-b|-t|-F|-S|-G|--(?:message|title|body|notes|grep|author|search|query|subject))$/;
const OPTION =
  /^--?(?:delete|remove|destroy|purge|drop|wipe|erase|uninstall|terminate|truncate|shutdown|stop|kill|prune)(?:$|=|-(?!on-error|destination|source-tag))/i;
/** Programs with such options. */
const SPEAKS = words('gh glab hub svn hg jj');
const MOST_WORDS = 8;
const FETCHES = words(
  'curl wget http https xh xhs httpie curlie fetch hurl aria2c lwp-request invoke-restmethod invoke-webrequest irm iwr',
);
const METHOD_OPTION = /^(?:-[a-zA-Z0-9#]{0,12}X|--?(?:request|method|custommethod|httpmethod))$/i;
const SAYS_DELETE = /^(?:-[a-zA-Z0-9#]{0,12}X=?|--?(?:request|method|custommethod|httpmethod)[=:])['"]?delete['"]?$/i;
const OVERRIDES = /(?:\bx-(?:http-)?method(?:-override)?\s{0,4}[:=]\s{0,4}|[?&]_method=|^_method=)['"]?delete\b/i;

/** Whether a word behind a program says that it removes or stops: `delete`, `delete-bucket`, `db:drop`, `topic-delete`. */
const removes = (word: string): boolean => {
  if (!/^[a-z][a-z:_-]{1,48}$/i.test(word)) return false;
  const low = word.toLowerCase();
  if (BEHIND.has(low)) return true;
  const parts = low.split(/[:_-]/);
  const [first = ''] = parts;
  return parts.length > 1 && (REMOVES_IN_NAME.has(first) || REMOVES_IN_NAME.has(parts.at(-1) ?? ''));
};

/**
 * Whether a program is told by a word or an option that it removes or stops something, whatever program it is: `gh repo delete x`,
 * `kafka-topics --delete`, `ip link set eth0 down`, `curl -X DELETE u`. Programs whose words are files or texts are not read so.
 */
export function isToldToRemove(program: string, args: readonly string[]): boolean {
  if (program === 'git') {
    const [sub = ''] = args.filter((arg, at) => !arg.startsWith('-') && !/^-[Cc]$/.test(args[at - 1] ?? ''));
    const isGroup = /^(?:stash|remote|worktree|submodule|notes|reflog|lfs|tag|branch|bundle)$/.test(sub);
    return removes(sub) || (isGroup && args.slice(args.indexOf(sub) + 1, args.indexOf(sub) + 2).some(removes));
  }
  if (/^--(?:help|version)$/.test(args.at(-1) ?? '') && !args.includes('--')) return false;
  const methods = args.some(
    (arg, at) => SAYS_DELETE.test(arg) || (METHOD_OPTION.test(args[at - 1] ?? '') && /^delete$/i.test(arg)),
  );
  if (methods && !NAMES_FILES.has(program)) return true;
  if (FETCHES.has(program))
    return (
      args.some((arg) => OVERRIDES.test(arg)) ||
      (/^(?:http|https|xhs?|httpie)$/.test(program) &&
        args
          .filter((arg) => !arg.startsWith('-'))
          .slice(0, 4)
          .some((arg) => /^delete$/i.test(arg)))
    );
  if (NAMES_FILES.has(program) || LOOKS.has(program)) return false;
  if (args.some((arg) => OPTION.test(arg))) return true;
  let words = 0;
  for (const [at, arg] of args.entries()) {
    const before = args[at - 1] ?? '';
    if (arg.startsWith('-') || (SPEAKS.has(program) && TOLD.test(before))) continue;
    words += 1;
    if (words > MOST_WORDS) return false;
    if (removes(arg)) return true;
    // The value of an option looks like such a word too.
    if (LOOKS.has(arg.toLowerCase()) && !(before.startsWith('-') && !before.includes('='))) return false;
  }
  return false;
}
