import { errorText, GateError } from '../errors.js';
import { bareHost, isPublicAddress, literalAddress } from './addresses.js';

/** One place that callbacks may go to: scheme, host, port, and everything below the path. */
export interface CallbackBoundary {
  readonly protocol: 'http:' | 'https:';
  readonly host: string;
  readonly port: number;
  /** Starts with `/` and does not end with one; empty for the root. */
  readonly path: string;
}
export type CallbackAllowlist = readonly CallbackBoundary[];

export interface CallbackRules {
  /** `host:port` pairs that may be reached although they are not public (`GATE_CALLBACK_ALLOW_PRIVATE`). */
  readonly allowPrivate: readonly string[];
}

const MAX_URL_CHARACTERS = 2_048;
const LOCAL_NAME = /(?:^|\.)(?:localhost|local|internal|home\.arpa)$/;

/**
 * Reads the allowlist, for example `https://hooks.example.com/gate`. Throws, naming the entry, when it is not an http(s) URL or has user
 * information, a query or a fragment. A wrong boundary must stop the start instead of silently allowing or refusing something.
 */
export function parseCallbackAllowlist(entries: readonly string[]): CallbackAllowlist {
  return entries.map((entry) => {
    try {
      const url = parseUrl(entry);
      if (entry.includes('?')) throw new Error('a boundary has no query');
      return {
        protocol: url.protocol as CallbackBoundary['protocol'],
        host: bareHost(url.hostname),
        port: effectivePort(url),
        path: url.pathname.replace(/(?<!\/)\/+$/, ''),
      };
    } catch (error) {
      throw new Error(`callback allowlist entry "${entry}": ${errorText(error)}`, { cause: error });
    }
  });
}

/**
 * The address as it will be used, its host in lower-case IDNA form without trailing dot. Throws GateError `callback_not_allowed` that names
 * the broken rule (docs/architecture/outbound.md#callback-addresses). Checks the form, the scheme, names and addresses that are not public,
 * and then the allowlist. An empty allowlist refuses everything. The query never grants access.
 */
export function checkCallbackUrl(text: string, allowlist: CallbackAllowlist, { allowPrivate }: CallbackRules): URL {
  try {
    if (allowlist.length === 0) throw new Error('the allowlist is empty; no callback is accepted');
    const url = parseUrl(text);
    if (!isAllowedPrivate(url.hostname, effectivePort(url), allowPrivate)) refuseLocal(text, url);
    if (!allowlist.some((boundary) => within(url, boundary))) throw new Error('the address is outside the allowlist');
    return url;
  } catch (error) {
    throw new GateError('callback_not_allowed', errorText(error), { cause: error });
  }
}

/** Whether `host:port` is one of the pairs that may be private. Compares canonical forms. */
export function isAllowedPrivate(host: string, port: number, allowPrivate: readonly string[]): boolean {
  const wanted = literalAddress(host) ?? bareHost(host);
  return allowPrivate.some((pair) => {
    const colon = pair.lastIndexOf(':');
    const allowed = pair.slice(0, colon);
    return Number(pair.slice(colon + 1)) === port && (literalAddress(allowed) ?? bareHost(allowed)) === wanted;
  });
}

/**
 * Checks the form of an address. The URL parser accepts too much (blanks, backslashes, missing slashes), so the text is checked before it
 * is parsed.
 */
function parseUrl(text: string): URL {
  if (text.length > MAX_URL_CHARACTERS) throw new Error(`the address is longer than ${MAX_URL_CHARACTERS} characters`);
  if (!/^https?:\/\/[^/]/i.test(text)) throw new Error('only http:// and https:// addresses are accepted');
  if (/[\s\\"<>^`{|}]/.test(text) || hasControlCharacter(text))
    throw new Error('the address holds blanks, control characters or characters that must be percent-encoded');
  if (/%(?![0-9a-f]{2})/i.test(text)) throw new Error('the address holds a broken percent-escape');
  if (text.includes('#')) throw new Error('the address has a fragment');
  const authority = /^https?:\/\/([^/?]*)/i.exec(text)?.[1] ?? '';
  if (authority.includes('@')) throw new Error('the address carries user information');
  if (authority.includes('%')) throw new Error('the host is percent-encoded');
  if (authority.endsWith(':')) throw new Error('the port is empty');
  if (!URL.canParse(text)) throw new Error('the address is not a URL');
  const url = new URL(text);
  const path = url.pathname.toLowerCase();
  if (path.includes('%2f') || path.includes('%5c') || path.includes('%00'))
    throw new Error('the path holds an encoded slash, backslash or NUL');
  if (effectivePort(url) === 0) throw new Error('port 0 cannot be reached');
  if (url.hostname.endsWith('..')) throw new Error('the host ends with more than one dot');
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.slice(0, -1);
  return url;
}

const hasControlCharacter = (text: string): boolean => {
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit < 0x20 || unit === 0x7f) return true;
  }
  return false;
};

/** Refuses hosts with names that are not public, and addresses that are not public or not written in plain form. */
function refuseLocal(text: string, url: URL): void {
  const host = bareHost(url.hostname);
  const address = literalAddress(host);
  if (address !== null) {
    if (!isPublicAddress(address)) throw new Error(`the address ${address} is not public`);
    const written = /^https?:\/\/(\[[^\]]*\]|[^:/?]*)/i.exec(text)?.[1] ?? '';
    if (!written.startsWith('[') && bareHost(written) !== address)
      throw new Error(`the address ${address} is not written in dotted decimal form`);
    return;
  }
  if (LOCAL_NAME.test(host)) throw new Error(`the host ${host} is a local name`);
  if (!host.includes('.')) throw new Error(`the host ${host} has a single label`);
}

export const effectivePort = (url: URL): number =>
  url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);

function within(url: URL, { protocol, host, port, path }: CallbackBoundary): boolean {
  if (url.protocol !== protocol || bareHost(url.hostname) !== host || effectivePort(url) !== port) return false;
  return url.pathname === path || url.pathname.startsWith(`${path}/`);
}
