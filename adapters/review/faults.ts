import type { Json } from '../../contracts/json.js';
import type { PendingRequest } from '../../contracts/review.js';
import { canonicalJson } from '../../domain/crypto/digest.js';
import { GateError } from '../../domain/errors.js';

/** How often a change is tried that others overtake. */
const ATTEMPTS = 5;

/** A fault of the store is `store_unavailable`. */
export async function asked<Result>(query: () => Promise<Result>): Promise<Result> {
  try {
    return await query();
  } catch (cause) {
    throw new GateError('store_unavailable', 'the store of the review service cannot be reached', { cause });
  }
}

/** Tries a few times; `attempt` returns `null` where somebody else changed first what it looked at, and begins with a new look. */
export async function untilUnchanged<Result>(
  what: string,
  attempt: () => Promise<{ readonly done: Result } | null>,
): Promise<Result> {
  for (let attempts = 0; attempts < ATTEMPTS; attempts += 1) {
    const found = await attempt();
    if (found) return found.done;
  }
  throw new GateError('store_unavailable', `${what} changes faster than it can be written`);
}

/** `already_decided` with the row's state (docs/architecture/reviews.md#decisions). */
export const alreadyDecided = ({ status, decided_by, decided_at }: PendingRequest): GateError =>
  new GateError('already_decided', undefined, { fields: { status, decided_by, decided_at } });

export function canonicalOr400(field: string, value: Json): string {
  try {
    return canonicalJson(value);
  } catch (cause) {
    throw new GateError('invalid_request', `${field}: has no canonical form`, { cause });
  }
}
