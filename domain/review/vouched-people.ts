import { LRUCache } from 'lru-cache';
import { roomFor } from '../room-for.js';
import type { Vouched, VouchedRole } from './vouching.js';

/** What the console said last of somebody. */
export interface KeptVouching {
  readonly tenant: string;
  readonly subject: string;
  readonly role: VouchedRole;
  readonly vouched_ms: number;
}

/** The last word about each person, in HIL's store. Throws `store_unavailable`. */
export interface VouchingStore {
  /** An older word never replaces a newer one. Forgets everything from before `forgetBefore`. */
  keep(vouching: KeptVouching, forgetBefore: number): Promise<void>;
  /** Who may approve, of the words given after `since`. A row that Gate did not write is nobody. */
  approvers(tenant: string, since: number): Promise<readonly string[]>;
}

export interface VouchedPeople {
  /** Keeps what the console says of somebody. Returns when it is stored. */
  heard(person: Vouched): Promise<void>;
  /** Who may approve for the tenant now, by what the console said last of each. */
  approversOf(tenant: string): Promise<readonly string[]>;
}

/** The same word about the same person is written at most this often. */
const AGAIN_MS = 30_000;
const REMEMBERED = 10_000;

/**
 * The people whom the console vouches for (docs/decisions/people-by-the-consoles-word.md). A word holds for `lifeMs`, or until the next one
 * about the same person.
 */
export function createVouchedPeople({
  store,
  lifeMs,
  clock,
}: {
  readonly store: VouchingStore;
  readonly lifeMs: number;
  readonly clock: () => number;
}): VouchedPeople {
  const written = new LRUCache<string, { readonly role: VouchedRole; readonly atMs: number }>(roomFor(REMEMBERED));
  const againMs = Math.min(AGAIN_MS, lifeMs / 4);
  return {
    async heard({ tenant, subject, role }) {
      const now = clock();
      const key = JSON.stringify([tenant, subject]);
      const last = written.get(key);
      if (last?.role === role && now - last.atMs < againMs) return;
      await store.keep({ tenant, subject, role, vouched_ms: now }, now - lifeMs);
      written.set(key, { role, atMs: now });
    },
    approversOf: (tenant) => store.approvers(tenant, clock() - lifeMs),
  };
}
