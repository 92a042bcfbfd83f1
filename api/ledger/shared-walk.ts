import type { FastifyRequest } from 'fastify';
import { CALLER_IDS } from '../../contracts/route-authority.js';

/** Runs the walk, or returns the answer another caller got a moment ago. */
export type SharedWalk = <T>(request: FastifyRequest, what: string, walk: () => Promise<T>) => Promise<T>;

const KEPT_MS = 10_000;
/**
 * The answer of a walk is kept for this many times as long as the walk took, so that agents cost the ledger a tenth of its time at most.
 */
const KEPT_TIMES = 9;

/**
 * What agents may ask of the whole chain: anybody may check it, and a walk costs as much as the chain is long. So they share what is
 * running, and for a while what was found, a refusal included. Gate's own services always get a walk that began after they asked, or one that
 * is running.
 */
export function createSharedWalk(now: () => number = Date.now): SharedWalk {
  const walks = new Map<string, { readonly answer: Promise<unknown>; untilMs: number }>();
  return <T>(request: FastifyRequest, what: string, walk: () => Promise<T>): Promise<T> => {
    const { caller } = request;
    if (caller !== null && caller.callerId !== CALLER_IDS.agent) return walk();
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
