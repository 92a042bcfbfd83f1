import { decodeEscapes } from '../inspection/escapes.js';
import { words } from '../text.js';

/**
 * What a path names, however it is spelled. Every spelling that some program, shell or system reads as the path counts, because nobody knows
 * which of them reads it. Takes linear time, never throws, and looks at no disk: of links only those that every system has are known.
 */

/** Nothing above the folder that a path starts from is known, so what leaves it counts as a path from the root. */
interface Place {
  /** In lower case, because some file systems ignore case. A segment may be a pattern. */
  readonly segments: readonly string[];
  readonly isRooted: boolean;
}

/** Spellings of one path that are looked at. One with more counts as the worst. */
const SPELLINGS = 32;
/** No longer name is a file on any system; a longer pattern counts as one that fits. */
const LONGEST_PATTERN = 255;
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu;

const BELOW_ROOT = [...words('etc boot bin sbin lib lib64 usr root proc sys')];
const VITAL_FOLDERS = words('.ssh .aws .kube');
const VITAL_FILES = words('.bashrc .bash_profile .profile .zshrc .netrc');
const SYSTEM_SECRETS = words('shadow gshadow sudoers master.passwd');
/** Behind what folder which names hold secrets, each by its beginning. */
const SECRETS: readonly (readonly [folder: string, name: string])[] = [
  ...[...SYSTEM_SECRETS].map((name) => ['etc', name] as const),
  ['.ssh', 'id_'],
  ['.aws', 'credentials'],
  ['.kube', 'config'],
  ['.docker', 'config'],
];
const SECRET_FILES = words('.netrc .pgpass .git-credentials');
const DISK = /^dev\/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|mapper|dm-|md|loop|mem|kmem|port|nst|rdisk)/;

/** Whether a path names a file that controls access or how the system and its shells start, or the folder of such files. */
export const isVitalFile = (path: string): boolean => isOf(path, isVital);
/** Whether a path names a file that holds passwords or keys. */
export const isSecretFile = (path: string): boolean => isOf(path, isSecret);
/** Whether a path names a disk or memory device. */
export const isDisk = (path: string): boolean =>
  /^\\\\\.\\physicaldrive/i.test(path) ||
  isOf(path, ({ segments, isRooted }) => isRooted && DISK.test(segments.slice(0, 2).join('/')));
/** Whether a path names the root, or everything in it. */
export const isRootFolder = (path: string): boolean =>
  /^[/\\]/.test(path) && isOf(path, ({ segments: [first = '*', second] }) => first === '*' && second === undefined);

/** The same path as every reader may have it, as one text each: `/etc/passwd`, `c:/windows`, `~/.ssh`. */
export const spelledOut = (path: string): readonly string[] =>
  (placesOf(path) ?? []).map(({ segments, isRooted }) => `${isRooted ? '/' : ''}${segments.join('/')}`);

/** Whether only whoever opens it knows what a path names: `$DIR/a`, `%TEMP%\a`, `$(x)/a`. */
export const isUnsure = (path: string): boolean => /\$[\w{(@*!?#$-]|%[A-Za-z_]\w{0,63}%|`/.test(path);

/** Whether what lies in a folder may be vital or hold secrets by its name alone. */
export const isVitalFolder = (folder: string): boolean =>
  isVitalFile(folder) || isSecretFile(`${folder}/config`) || isOf(`${folder}/`, mayLeadToVital);
const mayLeadToVital = ({ segments: [first, second = 'spool'], isRooted }: Place): boolean =>
  isRooted && (first === undefined || (fits(first, 'var') && fits(second, 'spool')));

/** A path as it is from a folder. */
export const inFolder = (folder: string, path: string): string =>
  /^(?:[/\\~]|[a-z]:|file:)/i.test(path) ? path : `${folder}/${path}`;

const isVital = ({ segments, isRooted }: Place): boolean =>
  (isRooted &&
    (BELOW_ROOT.some((name) => fits(segments[0], name)) ||
      (fits(segments[0], 'var') && fits(segments[1], 'spool') && fits(segments[2], 'cron')))) ||
  segments.some(
    (segment, at) =>
      segment.startsWith('.') &&
      (anyFits(segment, VITAL_FOLDERS) || (at === segments.length - 1 && anyFits(segment, VITAL_FILES))),
  ) ||
  segments[0] === '~root';

const isSecret = ({ segments }: Place): boolean =>
  segments.some((segment, at) => {
    const next = segments[at + 1];
    if (next === undefined) return segment.startsWith('.') && anyFits(segment, SECRET_FILES);
    if (SECRETS.some(([folder, name]) => fits(segment, folder) && (next.startsWith(name) || fits(next, name))))
      return true;
    // The names of keys: `~/.ssh/*`, `~/.ssh/id*`.
    if (fits(segment, '.ssh') && KEYS.some((name) => fits(next, name))) return true;
    return fits(segment, 'proc') && segments.slice(at + 2, at + 5).some((last) => fits(last, 'environ'));
  });
const KEYS = ['id_rsa', 'id_dsa', 'id_ecdsa', 'id_ed25519'];

function isOf(path: string, holds: (place: Place) => boolean): boolean {
  if (!/[/\\.%~&]|[^\0-\x7f]/.test(path) || isAddress(path)) return false;
  return placesOf(path)?.some(holds) ?? true;
}
const isAddress = (path: string): boolean => /^(?!file:)[a-z][a-z0-9+.-]{1,31}:\/\//i.test(path);

/** Null where the path has more spellings than are looked at. */
function placesOf(path: string): readonly Place[] | null {
  const spellings = new Set<string>();
  const add = (text: string): void => {
    spellings.add(text);
    // Behind this a program written in C sees nothing.
    if (text.includes('\0')) spellings.add(text.slice(0, text.indexOf('\0')));
  };
  add(path);
  const visible = /[^\x21-\x7e]/.test(path) ? path.normalize('NFKC').replaceAll(INVISIBLE, '').trim() : path;
  add(visible);
  if (/[%&\\]/.test(visible)) add(decodeEscapes(visible));
  for (const text of spellings) if (text.includes('\\')) add(text.replaceAll('\\', '/'));
  for (const text of spellings) for (const local of localOf(text)) add(local);
  const expanded: string[] = [];
  for (const text of spellings) {
    const alternatives = withoutBraces(text);
    if (alternatives === null || expanded.length + alternatives.length > SPELLINGS * 4) return null;
    expanded.push(...alternatives);
  }
  const places = expanded.map((text) => placeOf(text, false));
  // To some shells `.?` and `.*` are the folder above too.
  for (const text of expanded) if (/(?:^|\/)\.[*?.[]/.test(text)) places.push(placeOf(text, true));
  return places;
}

/** What a `file:` URL names: behind its host, or as a tool has it that cuts off `file://`; with a query and without. */
function localOf(text: string): readonly string[] {
  const scheme = /^\s{0,16}file:/i.exec(text)?.[0];
  if (scheme === undefined) return [];
  const behind = text.slice(scheme.length);
  const slashes = /^\/{0,2}/.exec(behind)?.[0].length ?? 0;
  const host = slashes === 2 ? behind.indexOf('/', 2) : 0;
  const whole = [`/${behind.slice(slashes)}`, ...(host > 0 ? [behind.slice(host)] : [])];
  return whole.flatMap((one) => [one, one.slice(0, Math.max(0, one.search(/[?#]|$/)))]);
}

/** The words that a shell makes of a path with `{a,b}` in it; `{1..9}` may be anything. */
function withoutBraces(text: string): readonly string[] | null {
  const done: string[] = [];
  const open = [text];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const braces = bracesIn(next);
    if (braces === null) done.push(next);
    else {
      const [from, to] = braces;
      const inner = next.slice(from + 1, to);
      const parts = inner.includes(',') ? inner.split(',') : ['*'];
      if (done.length + open.length + parts.length > SPELLINGS) return null;
      for (const part of parts) open.push(next.slice(0, from) + part + next.slice(to + 1));
    }
  }
  return done;
}

/** Where the first innermost braces are that a shell expands. */
function bracesIn(text: string): readonly [from: number, to: number] | null {
  let from = -1;
  let expands = false;
  for (let at = text.indexOf('{'); at >= 0 && at < text.length; at += 1) {
    const sign = text[at] as string;
    if (sign === '{') [from, expands] = [text[at - 1] === '$' ? -1 : at, false];
    else if (/\s/.test(sign)) from = -1;
    else if (sign === ',' || (sign === '.' && text[at + 1] === '.')) expands = true;
    else if (sign === '}') {
      if (from >= 0 && expands) return [from, at];
      from = -1;
    }
  }
  return null;
}

const SHARE = /^\/\/[^/]{1,255}\/([a-z])\$(?=\/|$)/i;
const DEVICE = /^\/\/[?.]\/(?:globalroot\/)?(?=[a-z]:)/i;

function placeOf(text: string, dotsGoUp: boolean): Place {
  const path = text.toLowerCase().replace(DEVICE, '').replace(SHARE, '$1:');
  let isRooted = path.startsWith('/');
  const kept: string[] = [];
  for (const segment of path.split('/')) {
    const name = trimmed(segment);
    if (name === '' || name === '.') continue;
    if (name === '..' || (dotsGoUp && /^\.[*?.[]/.test(name) && fits(name, '..'))) {
      const last = kept.at(-1);
      if (last !== undefined && /^[a-z]:$/.test(last)) continue;
      kept.pop();
      if (last === undefined || (kept.length === 0 && /^[~$]/.test(last))) isRooted = true;
      continue;
    }
    kept.push(name);
    if (isRooted) isRooted = follow(kept);
  }
  return { segments: kept, isRooted };
}

/** Windows leaves out points and blanks at the end of a name. */
const trimmed = (segment: string): string => {
  const least = segment.startsWith('..') ? 2 : 1;
  let end = segment.length;
  while (end > least && (segment[end - 1] === '.' || segment[end - 1] === ' ')) end -= 1;
  return segment.slice(0, end);
};

/** Goes through the links that every system has, and says whether the path still starts at the root. */
function follow(kept: string[]): boolean {
  const [first, second, third] = kept;
  const { length } = kept;
  // The root, and the folder where the process is, which may be the root.
  if (
    first === 'proc' &&
    ((length === 3 && /^(?:root|cwd)$/.test(third ?? '')) || (length === 5 && kept[4] === 'root'))
  )
    kept.length = 0;
  else if (length === 2 && first === 'private' && /^(?:etc|var|tmp)$/.test(second ?? '')) kept.shift();
  else if (length === 2 && first === 'var' && second === 'run') kept.shift();
  else if (length === 3 && kept.join('/') === 'system/volumes/data') kept.length = 0;
  else if (length === 2 && /^(?:mnt|cygdrive)$/.test(first ?? '') && /^[a-z]$/.test(second ?? '')) {
    kept.splice(0, 2, `${second ?? ''}:`);
    return false;
  }
  return true;
}

const anyFits = (pattern: string, names: ReadonlySet<string>): boolean => {
  if (!isPattern(pattern)) return names.has(pattern);
  for (const name of names) if (fits(pattern, name)) return true;
  return false;
};
const isPattern = (segment: string): boolean => /[*?[]|[@!+]\(/.test(segment);

/** Whether a segment of a path may be this name: it is the name, or a pattern of a shell that fits it. */
export function fits(segment: string | undefined, name: string): boolean {
  if (segment === undefined) return false;
  if (!isPattern(segment)) return segment === name;
  if (segment.length > LONGEST_PATTERN) return true;
  // What stands in brackets counts as any character, and a group of alternatives as anything.
  const pattern = segment.replace(/[@!+*?]\(.{0,255}/s, '*').replaceAll(/\[[^\]]{1,64}\]/g, '?');
  // A pattern fits no hidden name, unless it has the point itself.
  if (name.startsWith('.') && !pattern.startsWith('.')) return false;
  let reached = [true, ...Array.from(name, () => false)];
  for (const sign of pattern) {
    const next = reached.map(() => false);
    for (let at = 0; at < reached.length; at += 1) {
      if (sign === '*') next[at] = (reached[at] ?? false) || (next[at - 1] ?? false);
      else if (at > 0) next[at] = (reached[at - 1] ?? false) && (sign === '?' || sign === name[at - 1]);
    }
    reached = next;
  }
  return reached.at(-1) ?? false;
}
