import { decodeEscapes } from '../inspection/escapes.js';
import { words } from '../text.js';
import { fits, isRootFolder, isSecretFile, isUnsure, isVitalFile, spelledOut } from '../shell/paths.js';
import { asUrlParsersRead, namesAddress } from './addresses.js';
import type { Finding, ReadCall } from './finding.js';
import { reachOf, type Verb } from './verbs.js';

const PATHS = words(
  `path paths file files filename filenames filepath filepaths src dst srcpath dstpath sourcepath destinationpath targetpath oldpath newpath
  frompath topath directory directories dir dirs folder folders folderpath dirpath localpath remotepath sourcefile destinationfile
  targetfile outputfile inputfile outputpath inputpath relativepath absolutepath fullpath`,
);
/** The two ends of a move, where the name of the tool says that it is one of files. */
const ENDS = words('source destination from to target name');
const FILES = words('file document');
const FOLDERS = words('directory folder dir');
/** No path is longer on Linux. */
const LONGEST_PATH = 4_096;

const SECRET =
  /(?:^|[/\\])(?:\.ssh|\.gnupg|\.aws|\.kube|\.docker|\.azure)(?:[/\\]|$)|(?:^|[/\\])(?:\.env(?:\.[\w.-]{1,32})?|\.netrc|\.pgpass|\.npmrc|\.pypirc|\.git-credentials|id_(?:rsa|dsa|ecdsa|ed25519)|credentials(?:\.json)?|secrets?\.(?:ya?ml|json|env|txt)|[^/\\]{1,128}\.(?:pem|key|p12|pfx|jks|kdbx|keystore))$/i;
/** Of those names the ones that a pattern may stand for. */
const SECRET_NAMES = [
  '.env .netrc .pgpass .npmrc .pypirc .git-credentials id_rsa id_dsa id_ecdsa id_ed25519 credentials credentials.json',
  '.ssh .gnupg .aws .kube .docker .azure',
].flatMap((names) => [...words(names)]);
/** A pattern says little where it has fewer characters of its own: `src/*` is no search for keys. */
const LEAST_SAID = 2;
const mayBeSecret = (segment: string): boolean =>
  isPattern(segment) &&
  segment.replaceAll(/[*?]/g, '').length >= LEAST_SAID &&
  SECRET_NAMES.some((name) => fits(segment, name));
const isSecret = (path: string): boolean =>
  isSecretFile(path) ||
  SECRET.test(path) ||
  spelledOut(path).some((one) => SECRET.test(one) || one.split('/').some(mayBeSecret));
const SYSTEM = /^(?:[a-z]:)?[/\\](?:windows|program files|system volume information|system32)(?:[/\\]|$)/i;
const isSystem = (path: string): boolean =>
  isVitalFile(path) || isRootFolder(path) || SYSTEM.test(path) || spelledOut(path).some((one) => SYSTEM.test(one));
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

/** The files of a call and what is done to them; nothing where no argument is a path. */
export function readFiles(call: ReadCall, verb: Verb): readonly Finding[] {
  const isAboutFiles = call.words.some((word) => FILES.has(word) || FOLDERS.has(word));
  const paths = call.leaves.flatMap(({ name, value }) => {
    if (typeof value !== 'string') return [];
    const isNamed = PATHS.has(name) || (isAboutFiles && ENDS.has(name));
    if (!isNamed && !namesAddress(name)) return [];
    const url = asUrlParsersRead(value);
    if (/^file:/i.test(url) && url.length <= LONGEST_PATH) return [url];
    return isNamed && isPath(value) ? [value] : [];
  });
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
          reasons: ['a file or folder is removed', ...spread, ...about(paths, 'removes')],
        },
      ];
    case 'send': {
      const secrets = paths.some((path) => isSecret(path) || isUnsure(path));
      return [
        {
          ...common,
          operation_class: 'network',
          severity: secrets ? 'destructive' : 'risky',
          act: `send ${noun}`,
          kind: 'send',
          reversible: 'no',
          reasons: ['what is sent cannot be called back', ...about(paths, 'sends'), ...spread],
        },
      ];
    }
    case 'write':
    case 'copy':
    case 'pay': {
      const faults = about(paths, 'writes');
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
      const secrets = paths.some((path) => isSecret(path) || isUnsure(path));
      return [
        {
          ...common,
          operation_class: 'read',
          severity: secrets ? 'risky' : 'safe',
          act: `read ${noun}`,
          kind: 'read',
          reversible: 'yes',
          reasons: secrets
            ? [...(paths.some(isSecret) ? ['such a file holds secrets'] : []), ...unsurely(paths)]
            : ['a file or folder is only read'],
        },
      ];
    }
    default: {
      const faults = about(paths, 'touches');
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
const isPath = (text: string): boolean =>
  text.trim() !== '' &&
  text.length <= LONGEST_PATH &&
  !text.includes('\n') &&
  !/^(?!file:)[a-z][a-z0-9+.-]{1,31}:\/\//i.test(text);

const about = (paths: readonly string[], does: string): readonly string[] => [
  ...(paths.some(isSystem) ? [`it ${does} what the system needs`] : []),
  ...(paths.some(isSecret) ? [`it ${does} a file that holds secrets or grants access`] : []),
  ...(paths.some(escapes) ? ['the path leaves its folder with ".."'] : []),
  ...unsurely(paths),
];
const unsurely = (paths: readonly string[]): readonly string[] =>
  paths.some(isUnsure) ? ['the path has a variable in it, so it may name any file'] : [];
