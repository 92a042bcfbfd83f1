import { decodeEscapes } from '../inspection/escapes.js';
import { visibleText } from '../visible-text.js';
import { fits, type Segment, segmentOf } from './patterns.js';

/**
 * The places that a path may name, one for each spelling that some program, shell or system reads. Looks at no disk: of links only those
 * that every system has are known.
 */

/** Nothing above the folder that a path starts from is known, so what leaves it counts as a path from the root. */
export interface Place {
  readonly segments: readonly Segment[];
  readonly isRooted: boolean;
}

/** Whether so many more characters may be read. */
export type MayRead = (length: number) => boolean;

/** No path is longer on Linux. */
export const LONGEST_PATH = 4_096;
/** Spellings of one path that are looked at. One with more counts as the worst. */
const SPELLINGS = 32;

/** Null where the path has more spellings, or is longer, than is looked at. */
export function placesOf(path: string, mayRead: MayRead): readonly Place[] | null {
  if (path.length > LONGEST_PATH || !mayRead(path.length)) return null;
  const spellings = new Set<string>();
  const add = (text: string): void => {
    spellings.add(text);
    // Behind this a program written in C sees nothing.
    if (text.includes('\0')) spellings.add(text.slice(0, text.indexOf('\0')));
  };
  add(path);
  const visible = visibleText(path).trim();
  add(visible);
  if (/[%&\\]/.test(visible)) add(decodeEscapes(visible));
  for (const text of spellings) {
    if (text.includes('\\')) add(text.replaceAll('\\', '/'));
    // What a shell leaves of it.
    if (/['"\\]/.test(text)) add(text.replaceAll(/\$?['"]|\\/g, ''));
  }
  for (const text of spellings) for (const local of localOf(text)) add(local);
  const expanded = new Set<string>();
  for (const text of spellings) {
    const alternatives = withoutBraces(text, mayRead);
    if (alternatives === null || expanded.size + alternatives.length > SPELLINGS * 4) return null;
    for (const one of alternatives) expanded.add(one);
  }
  const places: Place[] = [];
  for (const text of expanded) {
    if (!mayRead(text.length)) return null;
    places.push(...placesOfText(text, false));
    // To some shells `.?` and `.*` are the folder above too.
    if (/(?:^|\/)\.[*?.[]/.test(text)) places.push(...placesOfText(text, true));
  }
  return places;
}

/** What a `file:` URL names: behind its host, or as a tool has it that cuts off `file://`; with a query and without. */
function localOf(text: string): readonly string[] {
  const scheme = /^\s{0,16}(?:jar:|netdoc:|url:){0,4}(?:file|netdoc):/i.exec(text)?.[0];
  if (scheme === undefined) return [];
  const behind = text.slice(scheme.length);
  const slashes = /^\/{0,2}/.exec(behind)?.[0].length ?? 0;
  const host = slashes === 2 ? behind.indexOf('/', 2) : 0;
  const whole = [`/${behind.slice(slashes)}`, ...(host > 0 ? [behind.slice(host)] : [])];
  return whole.flatMap((one) => [one, one.slice(0, Math.max(0, one.search(/[?#!]|$/)))]);
}

/** The words that a shell makes of a path with `{a,b}` in it; `{1..9}` may be anything. */
function withoutBraces(text: string, mayRead: MayRead): readonly string[] | null {
  if (!text.includes('{')) return [text];
  const done: string[] = [];
  const open = [text];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (!mayRead(next.length)) return null;
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

/** With the links that every system has and without: some have them not. */
function placesOfText(text: string, dotsGoUp: boolean): readonly Place[] {
  const followed = walk(text, dotsGoUp, true);
  return followed.isFollowed ? [followed, walk(text, dotsGoUp, false)] : [followed];
}

const SHARE = /^\/\/[^/]{1,255}\/([a-z])\$(?=\/|$)/i;
const DEVICE = /^\/\/[?.]\/(?:globalroot\/)?(?=[a-z]:)/i;
const UP = '..';

function walk(text: string, dotsGoUp: boolean, follows: boolean): Place & { readonly isFollowed: boolean } {
  const path = text.toLowerCase().replace(DEVICE, '').replace(SHARE, '$1:');
  let isRooted = path.startsWith('/');
  let isFollowed = false;
  const kept: Segment[] = [];
  for (const part of path.split('/')) {
    const name = trimmed(part);
    if (name === '' || name === '.') continue;
    const segment = segmentOf(name);
    if (name === UP || (dotsGoUp && /^\.[*?.[]/.test(name) && fits(segment, UP))) {
      const last = kept.at(-1)?.text;
      if (last !== undefined && /^[a-z]:$/.test(last)) continue;
      kept.pop();
      if (last === undefined || (kept.length === 0 && /^[~$]/.test(last))) isRooted = true;
      continue;
    }
    kept.push(segment);
    const end = isRooted ? linkOf(kept) : null;
    if (end === null || (!follows && !end.isDrive)) continue;
    isFollowed ||= !end.isDrive;
    kept.splice(0, kept.length, ...end.segments);
    isRooted = !end.isDrive;
  }
  return { segments: kept, isRooted, isFollowed };
}

/** Windows leaves out points and blanks at the end of a name. */
const trimmed = (segment: string): string => {
  const least = segment.startsWith(UP) ? 2 : 1;
  let end = segment.length;
  while (end > least && (segment[end - 1] === '.' || segment[end - 1] === ' ')) end -= 1;
  return segment.slice(0, end);
};

interface End {
  readonly segments: readonly Segment[];
  /** It names a drive of Windows, which is no link and not the root. */
  readonly isDrive?: boolean;
}
const IN_USR = ['bin', 'sbin', 'lib', 'lib64', 'lib32', 'libx32'];
const USR = segmentOf('usr');
const DESCRIPTORS = ['proc', 'self', 'fd'].map(segmentOf);

/** Where a path leads that ends at a link which every system has; null where it is none. */
function linkOf(kept: readonly Segment[]): End | null {
  const [first, second, third] = kept;
  const { length } = kept;
  if (length > 5 || first === undefined) return null;
  if (length === 1) return IN_USR.some((name) => fits(first, name)) ? { segments: [USR, first] } : null;
  const isOneOf = (segment: Segment | undefined, ...names: string[]) => names.some((name) => fits(segment, name));
  // The root, and the folder where the process is, which may be the root.
  if (
    fits(first, 'proc') &&
    ((length === 3 && isOneOf(third, 'root', 'cwd')) || (length === 5 && isOneOf(kept[4], 'root', 'cwd')))
  )
    return { segments: [] };
  if (length === 3)
    return fits(first, 'system') && fits(second, 'volumes') && fits(third, 'data') ? { segments: [] } : null;
  if (length > 2 || second === undefined) return null;
  if (fits(first, 'dev') && fits(second, 'fd')) return { segments: DESCRIPTORS };
  if (fits(first, 'private') && isOneOf(second, 'etc', 'var', 'tmp')) return { segments: [second] };
  if (fits(first, 'var') && fits(second, 'run')) return { segments: [second] };
  if (/^(?:mnt|cygdrive)$/.test(first.text) && /^[a-z]$/.test(second.text))
    return { segments: [segmentOf(`${second.text}:`)], isDrive: true };
  return null;
}
