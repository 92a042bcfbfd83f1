import { LRUCache } from 'lru-cache';
import { roomFor } from '../../domain/room-for.js';

const KEPT = 100;

/**
 * Answers that cost the other service much, kept for a short time: whoever asks the same at once or soon after gets the same answer. A
 * refusal is not kept. The key says all that the answer depends on, the tenant first.
 */
export function keptAnswers(
  freshMs: number,
  clock: () => number,
): <Value>(key: readonly unknown[], ask: () => Promise<Value>) => Promise<Value> {
  const kept = new LRUCache<string, { readonly atMs: number; readonly answer: Promise<unknown> }>(roomFor(KEPT));
  return <Value>(key: readonly unknown[], ask: () => Promise<Value>): Promise<Value> => {
    const name = JSON.stringify(key);
    const now = clock();
    const known = kept.get(name);
    if (known && Math.abs(now - known.atMs) < freshMs) return known.answer as Promise<Value>;
    const answer = ask();
    const made = { atMs: now, answer };
    kept.set(name, made);
    answer.catch(() => {
      if (kept.get(name) === made) kept.delete(name);
    });
    return answer;
  };
}
