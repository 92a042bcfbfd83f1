import {
  type IdentityKeyRecord,
  type KeyUse,
  SVID_TTL_SECONDS,
  WORKLOAD_TTL_SECONDS,
} from '../../contracts/identity.js';
import { MOST_GRANT_SECONDS } from '../../contracts/grants.js';

/**
 * A key that comes is `announced` in the trust bundle first, then it is `signing`. The one before is `retiring` from then on, and `withdrawn` from the
 * bundle when everything that it signed is over.
 */
export type KeyState = IdentityKeyRecord['state'];

export interface IdentityKey {
  /** SHA-256 of the CA's public key, or the `kid` of tokens. */
  readonly id: string;
  readonly use: KeyUse;
  readonly state: KeyState;
  /** PEM: the certificate of a CA, the public key of tokens. */
  readonly publicPem: string;
  /** `null` for the key of the settings, which lies in its file, and for one that was withdrawn. */
  readonly sealed: string | null;
  /** The rotation by which it came; `null` for the key of the settings. */
  readonly requestId: string | null;
  readonly announcedMs: number;
  /** From when on it is to sign. */
  readonly signsDueMs: number;
  readonly signedMs: number | null;
  readonly retiredMs: number | null;
  /** From when on it is to be withdrawn. */
  readonly withdrawDueMs: number | null;
  readonly withdrawnMs: number | null;
  readonly by: string;
}

/** What lets a key be made, and is made once it may be. */
export interface NewKey {
  readonly requestId: string;
  readonly use: KeyUse;
  readonly id: string;
  readonly publicPem: string;
  readonly sealed: string;
  /** The key of the settings, which signs where no other one ever did. */
  readonly configured: { readonly id: string; readonly publicPem: string };
  readonly announceMs: number;
  /** Until when the one before stays at least, for what it signed elsewhere. */
  readonly oldUntilMs: number | null;
  readonly by: string;
  readonly reason: string | null;
  readonly nowMs: number;
}

export interface KeyStore {
  /** Of all uses, the oldest first. Throws `identity_tampered` where somebody edited one. */
  identityKeys(): Promise<readonly IdentityKey[]>;
  /** The rotation of this request, where it was begun before. */
  keyOfRequest(requestId: string): Promise<IdentityKey | null>;
  /** Stores a key that will sign. Throws `rotation_active` where another one of this use is on its way. */
  announceKey(key: NewKey): Promise<IdentityKey>;
  /** Does what is due: at most one stage of each key, and of those that come only where they may sign. The answer is how many went on. */
  advanceKeys(nowMs: number, maySign: (id: string) => boolean): Promise<number>;
}

/** Clocks of other machines, and a process of identity that still signs with the key before. */
const MARGIN_MS = 360_000;
const LONGEST_MS: Readonly<Record<KeyUse, number>> = {
  certificates: Math.max(SVID_TTL_SECONDS.max, WORKLOAD_TTL_SECONDS.max) * 1_000,
  tokens: MOST_GRANT_SECONDS * 1_000,
};

/** When nothing counts any more that a key signed until now. */
export const withdrawDueMs = (use: KeyUse, nowMs: number, oldUntilMs: number | null): number =>
  Math.max(nowMs + LONGEST_MS[use] + MARGIN_MS, oldUntilMs ?? 0);
