import { words } from '../text.js';

/**
 * Settings of git that run nothing, whatever their value. What git runs, it is told by settings and options of many names, of other programs
 * too (`lfs.customtransfer.x.path`), so all the others count as a command.
 */
const HARMLESS_SECTIONS = words(
  `user author committer color column advice init log status interactive clean fetch pull push gc pack index i18n rerere safe protocol feature maintenance
  transfer receive uploadpack blame tag commit branch stash checkout clone grep help notes showbranch versionsort worktree url apply am
  format mailinfo mailmap reset rebase submodule fsck pretty http https diff merge core credential`,
);
/** Of these sections only what is named here: the others name programs, files that are read, or places where programs are. */
const HARMLESS_NAMES: Readonly<Record<string, ReadonlySet<string>>> = Object.assign(Object.create(null), {
  init: words('defaultbranch defaultobjectformat'),
  interactive: words('singlekey'),
  core: words(
    `quotepath autocrlf eol safecrlf filemode ignorecase precomposeunicode longpaths symlinks abbrev bare compression whitespace
    commentchar preloadindex untrackedcache checkstat trustctime loosecompression bigfilethreshold protecthfs protectntfs sparsecheckout
    repositoryformatversion logallrefupdates sharedrepository multipackindex commitgraph fscache`,
  ),
  diff: words(
    `algorithm colormoved colormovedws context interhunkcontext mnemonicprefix noprefix renamelimit renames indentheuristic submodule
    wordregex wserrorhighlight statgraphwidth suppressblankempty ignoresubmodules autorefreshindex dirstat orderfile relative guitool tool`,
  ),
  merge: words(
    'ff conflictstyle renames renamelimit stat log autostash verbosity verifysignatures branchdesc tool guitool',
  ),
  credential: words('usehttppath username'),
  http: words(
    `proxy sslverify sslversion postbuffer lowspeedlimit lowspeedtime useragent version followredirects maxrequests extraheader emptyauth`,
  ),
  https: words('proxy'),
  url: words('insteadof pushinsteadof'),
  submodule: words('recurse active fetchjobs propagatebranches'),
  rebase: words('autosquash autostash stat updaterefs missingcommitscheck abbreviatecommands'),
  grep: words('linenumber column patterntype extendedregexp threads fallbacktonoindex fullname'),
  gc: words(
    'auto autodetach autopacklimit pruneexpire worktreepruneexpire reflogexpire reflogexpireunreachable aggressivedepth logexpiry',
  ),
  uploadpack: words('allowfilter allowanysha1inwant allowreachablesha1inwant allowtipsha1inwant hiderefs keepalive'),
  format: words(
    'pretty signoff numbered suffix attach from to cc headers subjectprefix notes thread outputdirectory coverletter',
  ),
});
const PAGES = /^core\.pager=(?:cat|less|more|delta|less -[A-Za-z]{1,8})?$/i;
/** Helpers that come with git, and no helper at all. */
const HELPS =
  /^credential\.(?:[^=]{1,128}\.)?helper=(?:cache|store|manager|manager-core|osxkeychain|libsecret|wincred)?$/i;
const SWITCHES_PAGER = /^pager\.[\w-]{1,32}=(?:true|false|cat|less)$/i;

/** `a.b`, `a.sub.b`, `a.b=value`: whether git may run what such a setting says. */
export function runsBySetting(setting: string): boolean {
  if (PAGES.test(setting) || HELPS.test(setting) || SWITCHES_PAGER.test(setting)) return false;
  if (setting.includes('ext::')) return true;
  const [key = ''] = setting.split('=', 1);
  const section = key.slice(0, Math.max(0, key.indexOf('.'))).toLowerCase();
  const name = key.slice(key.lastIndexOf('.') + 1).toLowerCase();
  // `remote.o.url=x`, and none of the programs on the other side.
  if (section === 'remote')
    return !/^(?:url|pushurl|fetch|push|mirror|prune|prunetags|tagopt|skipfetchall|promisor|proxy)$/.test(name);
  if (!HARMLESS_SECTIONS.has(section)) return true;
  const names = HARMLESS_NAMES[section];
  return names !== undefined && !names.has(name);
}
