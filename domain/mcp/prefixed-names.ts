/**
 * Names of several upstreams behind one door. A tool or prompt `list_issues` of the upstream with the prefix `tracker` is
 * `tracker__list_issues` for agents, rules, records and pins; a resource `file:///a` of it is `tracker+file:///a`, which is a URI too
 * (RFC 3986, section 3.1: a scheme may hold `+`). The upstream itself is sent its own name.
 */
const SEPARATOR = '__';
const URI_SEPARATOR = '+';

export const PREFIX = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/;
export const LONGEST_PREFIX = 32;

export interface OwnName {
  readonly prefix: string;
  readonly own: string;
}

export const prefixedName = (prefix: string, own: string): string => `${prefix}${SEPARATOR}${own}`;
export const prefixedUri = (prefix: string, own: string): string => `${prefix}${URI_SEPARATOR}${own}`;

/** Whose name it is. No prefix holds a separator, so the first one ends it. */
export const ownNameOf = (name: string): OwnName | null => splitAt(name, SEPARATOR);
export const ownUriOf = (uri: string): OwnName | null => splitAt(uri, URI_SEPARATOR);

function splitAt(text: string, separator: string): OwnName | null {
  const at = text.indexOf(separator);
  const prefix = text.slice(0, at);
  const own = text.slice(at + separator.length);
  return at > 0 && prefix.length <= LONGEST_PREFIX && PREFIX.test(prefix) && own !== '' ? { prefix, own } : null;
}

const LOOKS: readonly (readonly [string, string])[] = [
  ['0', 'o'],
  ['1', 'l'],
  ['i', 'l'],
  ['2', 'z'],
  ['5', 's'],
  ['8', 'b'],
  ['rn', 'm'],
  ['vv', 'w'],
];

/** Two prefixes of one look are one to a person who reads quickly, and to a model: `bank` and `b-ank`, `mail` and `rna1l`. */
export function lookOf(prefix: string): string {
  let look = prefix
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '');
  for (const [written, seen] of LOOKS) look = look.replaceAll(written, seen);
  return look;
}

/** Whether an upstream's own name begins like the prefix of another one, and so passes for a name of it. */
export function passesForAnother(own: string, looksOfOthers: ReadonlySet<string>): boolean {
  const [first = '', ...more] = own.split(/__|[./:\\#@]/);
  return more.length > 0 && looksOfOthers.has(lookOf(first));
}

/** The same of an address: its scheme begins with the prefix of another one. */
export function uriPassesForAnother(own: string, looksOfOthers: ReadonlySet<string>): boolean {
  const at = own.indexOf(URI_SEPARATOR);
  return at > 0 && looksOfOthers.has(lookOf(own.slice(0, at)));
}
