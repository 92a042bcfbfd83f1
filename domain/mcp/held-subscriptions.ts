import { LRUCache } from 'lru-cache';
import type { UpstreamCaller } from '../upstream/upstream.js';

/** Who is subscribed to a resource: a session of an agent, or a stream that one of its clients listens to. */
export interface Hold {
  readonly id: string;
  readonly holder: string;
  readonly uri: string;
}

/**
 * What all proxies over one store know of subscriptions. One that counts no more stays until the upstream was told, so that a process that
 * dies in between leaves it to the next one.
 */
export interface SubscriptionStore {
  /** Those of the agent that count, the oldest first. */
  of(caller: UpstreamCaller): Promise<readonly Hold[]>;
  add(caller: UpstreamCaller, hold: Omit<Hold, 'id'> & { readonly untilMs: number }): Promise<void>;
  /** These count no more. */
  letGo(ids: readonly string[]): Promise<void>;
  /** Nothing that it held counts any more. */
  letGoOf(holder: string): Promise<void>;
  /** What it holds and still counts does so until then; whether there is any. What counts no more may be ended at the upstream already. */
  renew(holder: string, untilMs: number): Promise<boolean>;
  /** Some of those that count no more, of whatever agent but these. */
  over(
    limit: number,
    without: readonly UpstreamCaller[],
  ): Promise<readonly (Hold & { readonly caller: UpstreamCaller })[]>;
  /** Removes those of them that count no more. */
  remove(ids: readonly string[]): Promise<void>;
}

/** Resources of an agent, whichever of its clients subscribed. */
export const MOST_PER_AGENT = 100;
/** Each is held by so many clients of the agent at most, on average: those that never end their sessions take no more than this. */
export const MOST_HOLDS = 5 * MOST_PER_AGENT;
/** Agents write them. */
export const LONGEST_URI = 2_048;

/** Those that an agent holds too many: its oldest. A resource is as old as the first hold of it. */
export function beyond(holds: readonly Hold[]): Hold[] {
  const spare = holds.slice(0, Math.max(0, holds.length - MOST_HOLDS));
  const uris = [...new Set(holds.slice(spare.length).map(({ uri }) => uri))];
  const oldest = new Set(uris.slice(0, Math.max(0, uris.length - MOST_PER_AGENT)));
  return [...spare, ...holds.slice(spare.length).filter(({ uri }) => oldest.has(uri))];
}

/** A longer name of a host is none (RFC 1035, section 2.3.4); what reading one costs grows with it. */
const LONGEST_AUTHORITY = 512;
function hasLongAuthority(uri: string): boolean {
  let begin = uri.indexOf(':') + 1;
  while (uri[begin] === '/' || uri[begin] === '\\') begin += 1;
  let end = begin;
  while (end < uri.length && !'/\\?#'.includes(uri.charAt(end))) end += 1;
  return end - begin > LONGEST_AUTHORITY;
}
/** The forms of addresses that were read lately: of one that is held, and of one that many listeners are told of. */
const forms = new LRUCache<string, string>({
  maxSize: 4_000_000,
  sizeCalculation: (form, uri) => 1 + form.length + uri.length,
});
function formOf(uri: string): string {
  const known = forms.get(uri);
  if (known !== undefined) return known;
  const form = !hasLongAuthority(uri) && URL.canParse(uri) ? new URL(uri).href : uri;
  forms.set(uri, form);
  return form;
}

/**
 * Whether what an upstream says of one resource is of one of those that were subscribed to: the same, in whatever form of RFC 3986 the upstream
 * writes it, or a part of it, as the protocol allows ("a sub-resource of the one that the client actually subscribed to"). One whose address is
 * longer than any that is held is of none.
 */
export function concerns(updated: string, subscribed: readonly string[]): boolean {
  if (updated.length > LONGEST_URI || subscribed.length === 0) return false;
  if (subscribed.includes(updated)) return true;
  const one = formOf(updated);
  return subscribed.some((uri) => {
    const other = formOf(uri);
    return one.startsWith(other) && (other.endsWith('/') || '/?#'.includes(one.charAt(other.length)));
  });
}
