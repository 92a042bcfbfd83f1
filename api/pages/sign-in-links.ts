import { createHash, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/** Links that each sign an operator in at the page once. */
export interface SignInLinks<Who> {
  /** The code of a new link. */
  issue(operator: Who): string;
  /** The operator that the link is for, once and within its lifetime; `null` afterwards. */
  redeem(code: string): Who | null;
}

/** Long enough to open a browser; short enough that a link still visible in a terminal an hour later opens nothing. */
export const LINK_LIFE_MS = 10 * 60_000;
/** The number of links that exist at once; a new one replaces the oldest. */
const LINKS = 100;

export function createSignInLinks<Who extends object>(now: () => number = Date.now): SignInLinks<Who> {
  const open = new LRUCache<string, { readonly operator: Who; readonly untilMs: number }>({ max: LINKS });
  // Looked up by digest, so that the time of a comparison reveals nothing about a code.
  const digestOf = (code: string) => createHash('sha256').update(code).digest('hex');
  return {
    issue(operator) {
      const code = randomBytes(32).toString('base64url');
      open.set(digestOf(code), { operator, untilMs: now() + LINK_LIFE_MS });
      return code;
    },
    redeem(code) {
      const digest = digestOf(code);
      const link = open.get(digest);
      open.delete(digest);
      return link !== undefined && now() <= link.untilMs ? link.operator : null;
    },
  };
}
