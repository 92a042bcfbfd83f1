import { createHash, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/** Links that sign an operator in at the page, each once. */
export interface SignInLinks<Who> {
  /** The code of a new link. */
  issue(operator: Who): string;
  /** The operator the link is for, once and within its life; `null` afterwards. */
  redeem(code: string): Who | null;
}

/** Long enough to walk to the browser, short enough that what a terminal still shows an hour later opens nothing. */
export const LINK_LIFE_MS = 10 * 60_000;
/** How many links exist at once; the oldest make room. */
const LINKS = 100;

export function createSignInLinks<Who extends object>(now: () => number = Date.now): SignInLinks<Who> {
  const open = new LRUCache<string, { readonly operator: Who; readonly untilMs: number }>({ max: LINKS });
  // Looked up by its digest: how long a comparison takes says nothing about a code.
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
