import type { FastifyRequest } from 'fastify';
import { CALLER_IDS } from '../../contracts/route-authority.js';

/** Runs the walk, or returns the answer that another caller got a moment ago. */
export type SharedWalk = <T>(request: FastifyRequest, what: string, walk: () => Promise<T>) => Promise<T>;

/** Whether the caller gets shared answers: every caller but Gate's own services. */
export const sharesWalks = ({ caller }: FastifyRequest): boolean =>
  caller === null || caller.callerId === CALLER_IDS.agent;

const KEPT_MS = 10_000;
/** An answer is kept for this many times the duration of its walk, so that agents take at most a tenth of the ledger's time. */
const KEPT_TIMES = 9;

/**
 * Walks of the whole chain for agents. Anybody may verify the chain, and a walk takes longer the longer the chain is. So agents share a
 * running walk and, for a while, its answer, including a refusal. Gate's own services always get a walk that started after they asked, or a
 * running one.
 */
export function createSharedWalk(now: () => number = Date.now): SharedWalk {
  const walks = new Map<string, { readonly answer: Promise<unknown>; untilMs: number }>();
  return <T>(request: FastifyRequest, what: string, walk: () => Promise<T>): Promise<T> => {
    if (!sharesWalks(request)) return walk();
    const known = walks.get(what);
    if (known && now() < known.untilMs) return known.answer as Promise<T>;
    const beganMs = now();
    const answer = walk();
    const entry = { answer, untilMs: Infinity };
    walks.set(what, entry);
    const ended = () => {
      entry.untilMs = now() + Math.max(KEPT_MS, KEPT_TIMES * (now() - beganMs));
    };
    answer.then(ended, ended);
    return answer;
  };
}
