import type { Checkpoint } from '../in-place.js';
import { decodeEscapes } from '../inspection/escapes.js';
import { words } from '../text.js';
import { Allowance } from '../shell/allowance.js';
import { LONGEST_FOLDER, MOST_FOLDERS } from '../shell/folders.js';
import { hasOtherScheme, inFolder, isAddress, isUnsure, type Paths } from '../shell/paths.js';
import { asUrlParsersRead, isPartOfAddress, isSpeech, namesAddress } from './addresses.js';
import type { Leaf } from '../argument-values.js';
import type { Finding, ReadCall } from './finding.js';
import { reachOf, type Verb } from './verbs.js';

const PATHS = words(
  `path paths file files filename filenames filepath filepaths src dst dest srcpath dstpath destpath sourcepath destinationpath targetpath
  oldpath newpath frompath topath directory directories dir dirs folder folders folderpath dirpath localpath remotepath sourcefile
  destinationfile targetfile outputfile inputfile outputpath inputpath outputdir relativepath absolutepath fullpath fname`,
);
/** The two ends of a move, where the name of the tool says that it is one of files. */
const ENDS = words('source destination from to target name pathname location output input');
/** What a path beside it may start from. */
const BASES = words(
  `cwd root base basedir basepath basedirectory rootdir rootpath rootdirectory workdir workingdir workingdirectory workspace parent
  parentpath parentdir prefix directory dir folder dirpath folderpath location path`,
);
/** Whatever it is the folder of: `project_path`, `rootUri`, `bucket`. */
const BASE_ENDS =
  /(?:path|dir|directory|folder|root|base|cwd|workspace|uri|url|prefix|parent|location|repo|project|bucket)$/;
/** What a file in a folder may be called: `relative_file`, `entry`, `key`. */
const NAME_ENDS = /(?:path|file|name|entry|key|child|item|document|target|object|member|leaf)$/;
const FILES = words('file document');
const FOLDERS = words('directory folder dir');
/** A path by its look, whatever its argument is called. */
const LOOKS_LIKE_PATH = /^(?:[/\\~]|\.{1,2}[/\\]|[a-z]:[/\\]|file:)/i;

const SYSTEM = /^(?:[a-z]:)?[/\\](?:windows|program files|system volume information|system32)(?:[/\\]|$)/i;
/** `a/../b` stays inside; `../a` and `a/../../b` leave the folder that they start from. */
function escapes(path: string): boolean {
  return leaves(path) || leaves(decodeEscapes(path));
}
function leaves(path: string): boolean {
  let depth = 0;
  for (const part of path.split(/[/\\]/)) {
    if (part === '..') depth -= 1;
    else if (part !== '' && part !== '.') depth += 1;
    if (depth < 0) return true;
  }
  return false;
}
const isPattern = (path: string): boolean => /[*?]/.test(path) || /\{[^{}]{1,256},/.test(path);

/** The paths of a call, and those that its arguments make of a folder and a name. */
function pathsOf(call: ReadCall, judged: Judged): readonly string[] {
  const isAboutFiles = call.words.some((word) => FILES.has(word) || FOLDERS.has(word));
  const isNamed = ({ name }: Leaf): boolean => PATHS.has(name) || (isAboutFiles && ENDS.has(name));
  const isByLook = ({ name, value }: Leaf): boolean =>
    typeof value === 'string' &&
    LOOKS_LIKE_PATH.test(value) &&
    !isSpeech(name) &&
    !isPartOfAddress(name) &&
    (isAboutFiles || judged.isSystem(value) || judged.isSecret(value));
  const found: string[] = [];
  const names = new Set<string>();
  const bases = new Set<string>();
  for (const leaf of call.leaves) {
    const { name, value } = leaf;
    if (typeof value !== 'string') continue;
    if (isPath(value)) {
      if (BASES.has(name) || BASE_ENDS.test(name)) bases.add(value);
      if (isNamed(leaf) || NAME_ENDS.test(name)) names.add(value);
    }
    const url = asUrlParsersRead(value);
    if (/^file:/i.test(url) && (isNamed(leaf) || namesAddress(name))) found.push(url);
    else if (isPath(value) && (isNamed(leaf) || isByLook(leaf))) found.push(value);
  }
  const isGrave = (path: string): boolean => judged.isSystem(path) || judged.isSecret(path);
  // What is named like a folder and like a file may be the file.
  const joined = [...names].filter((name) => bases.has(name) && isGrave(name));
  for (const [folder, madeOf] of foldersMadeOf(bases, judged))
    for (const name of names) {
      const path = inFolder(folder, name);
      // What stands behind the root has its slash already.
      if (!madeOf.has(name) && isGrave(path)) joined.push(path.replace(/^\/{2,}/, '/'));
    }
  // What is written comes first, and not what it is put together from.
  return [...new Set([...joined, ...found])];
}

/**
 * The folders that arguments make, alone and of each other, because nobody knows which of them starts from which; each with what it is made
 * of. Nothing starts from itself. Only those in which a name alone may be vital or hold secrets.
 */
function foldersMadeOf(bases: ReadonlySet<string>, judged: Judged): ReadonlyMap<string, ReadonlySet<string>> {
  const made = new Map<string, ReadonlySet<string>>();
  // Those that are added are met in the same loop.
  const open: [folder: string, madeOf: ReadonlySet<string>][] = [['', new Set()]];
  for (const [from, madeOf] of open)
    for (const base of bases) {
      if (madeOf.has(base)) continue;
      const folders = judged.paths.spelledOut(from === '' ? base : inFolder(from, base));
      judged.isLost ||= folders === null;
      for (const folder of folders ?? []) {
        if (made.has(folder) || !judged.paths.isVitalFolder(folder)) continue;
        judged.isLost ||= made.size >= MOST_FOLDERS || folder.length > LONGEST_FOLDER;
        if (judged.isLost) return made;
        const own = new Set([...madeOf, base]);
        made.set(folder, own);
        open.push([folder, own]);
      }
      if (judged.isLost) return made;
    }
  return made;
}

/** What is asked of the paths of one call. */
class Judged {
  /** There are more folders than are joined with names. */
  isLost = false;
  constructor(readonly paths: Paths) {}

  isSecret(path: string): boolean {
    return this.paths.isSecretFile(path);
  }
  isSystem(path: string): boolean {
    return (
      this.paths.isVitalFile(path) ||
      this.paths.isRootFolder(path) ||
      SYSTEM.test(path) ||
      (this.paths.spelledOut(path)?.some((one) => SYSTEM.test(one)) ?? true)
    );
  }
}

/** The files of a call and what is done to them; nothing where no argument is a path. */
export function readFiles(call: ReadCall, verb: Verb, checkpoint: Checkpoint): readonly Finding[] {
  const judged = new Judged(new Allowance(call.arguments, checkpoint).paths);
  const paths = pathsOf(call, judged);
  if (paths.length === 0) return [];
  const noun = call.words.some((word) => FOLDERS.has(word)) ? 'folder' : 'file';
  const reach = reachOf(call);
  const wildcards = reach.wildcards || paths.some(isPattern);
  const common = { targets: paths, wildcards, recursive: reach.recursive };
  const spread = [
    ...(wildcards ? ['a pattern, so it may reach more files than are named'] : []),
    ...(reach.recursive ? ['it includes all that is below'] : []),
  ];
  switch (verb) {
    case 'destroy':
    case 'remove':
      return [
        {
          ...common,
          operation_class: 'delete',
          severity: 'destructive',
          act: `delete ${noun}`,
          kind: 'delete',
          reversible: 'no',
          reasons: ['a file or folder is removed', ...spread, ...about(paths, judged, 'removes')],
        },
      ];
    case 'send': {
      const secrets =
        judged.isLost || paths.some((path) => judged.isSecret(path) || isUnsure(path) || hasOtherScheme(path));
      return [
        {
          ...common,
          operation_class: 'network',
          severity: secrets ? 'destructive' : 'risky',
          act: `send ${noun}`,
          kind: 'send',
          reversible: 'no',
          reasons: ['what is sent cannot be called back', ...about(paths, judged, 'sends'), ...spread],
        },
      ];
    }
    case 'write':
    case 'copy':
    case 'pay': {
      const faults = about(paths, judged, 'writes');
      return [
        {
          ...common,
          operation_class: 'write',
          severity: faults.length > 0 ? 'destructive' : 'risky',
          act: `${verb === 'copy' ? 'copy' : call.words.some((word) => MOVES.has(word)) ? 'move' : 'write'} ${noun}`,
          kind: call.words.some((word) => MAKES.has(word)) ? 'create' : 'modify',
          reversible: faults.length > 0 ? 'no' : 'unknown',
          reasons: [...faults, 'a file is written, and what it held before may be lost', ...spread],
        },
      ];
    }
    case 'read': {
      const secrets =
        judged.isLost || paths.some((path) => judged.isSecret(path) || isUnsure(path) || hasOtherScheme(path));
      return [
        {
          ...common,
          operation_class: 'read',
          severity: secrets ? 'risky' : 'safe',
          act: `read ${noun}`,
          kind: 'read',
          reversible: 'yes',
          reasons: secrets
            ? [
                ...(paths.some((path) => judged.isSecret(path)) ? ['such a file holds secrets'] : []),
                ...(paths.some(hasOtherScheme) ? ['it has an address that may be opened as anything'] : []),
                ...unsurely(paths, judged),
              ]
            : ['a file or folder is only read'],
        },
      ];
    }
    default: {
      const faults = about(paths, judged, 'touches');
      return [
        {
          ...common,
          operation_class: 'unknown',
          severity: 'risky',
          act: `do something unknown to ${noun}`,
          kind: null,
          reversible: 'unknown',
          reasons: ['nothing says what is done to the file', ...faults, ...spread],
        },
      ];
    }
  }
}

const MOVES = words('move rename');
const MAKES = words('create mkdir make touch add upload');
const isPath = (text: string): boolean => text.trim() !== '' && !text.includes('\n') && !isRemote(text);
/** Unless it leaves the address with "..", if a program takes it for a path. */
const isRemote = (text: string): boolean => isAddress(text) && !escapes(text);

const about = (paths: readonly string[], judged: Judged, does: string): readonly string[] => [
  ...(paths.some((path) => judged.isSystem(path)) ? [`it ${does} what the system needs`] : []),
  ...(paths.some((path) => judged.isSecret(path)) ? [`it ${does} a file that holds secrets or grants access`] : []),
  ...(paths.some(escapes) ? ['the path leaves its folder with ".."'] : []),
  ...unsurely(paths, judged),
];
const unsurely = (paths: readonly string[], judged: Judged): readonly string[] => [
  ...(paths.some(isUnsure) ? ['the path has a variable in it, so it may name any file'] : []),
  ...(judged.isLost ? ['more folders are named than are read'] : []),
];
