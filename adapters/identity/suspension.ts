import type { Selectable } from 'kysely';
import type { RevokedBy } from '../../domain/identity/revoked-by.js';
import { RELEASE_LIFE_MS, type ReleaseRequest } from '../../domain/identity/standing.js';
import type { IdentityTables } from './identity-tables.js';

/** What is suspended at once by one person, and goes on again by two (docs/architecture/identity.md#standing). */
export type Suspendable = Pick<
  Selectable<IdentityTables['identity_standings']>,
  'state' | 'state_changed_ms' | 'state_changed_by' | 'state_reason' | 'release_ms' | 'release_by' | 'release_reason'
>;

export const NEVER_SUSPENDED = {
  state: 'active',
  state_changed_ms: null,
  state_changed_by: null,
  state_reason: null,
  release_ms: null,
  release_by: null,
  release_reason: null,
} as const satisfies Suspendable;

/** Whoever moves it takes back a release that somebody asked for. */
export const movedTo = (state: string, { by, reason, nowMs }: RevokedBy): Suspendable => ({
  ...NEVER_SUSPENDED,
  state,
  state_changed_ms: nowMs,
  state_changed_by: by,
  state_reason: reason,
});

/** What a suspension makes of it; `null` where it changes nothing: who suspends what is suspended says no to its release. */
export const suspended = (was: Suspendable, by: RevokedBy): Suspendable | null =>
  was.state === 'suspended' && was.release_by === null ? null : movedTo('suspended', by);

/** What a release makes of it: asked for, or done where somebody else asked before; `null` where it changes nothing. */
export function released(
  was: Suspendable,
  by: RevokedBy,
): { readonly to: Partial<Suspendable>; readonly askedBy: string | null } | null {
  if (was.state !== 'suspended') return null;
  const askedBy = releaseOf(was, by.nowMs)?.by ?? null;
  if (askedBy === by.by) return null;
  return askedBy === null
    ? { to: { release_ms: by.nowMs, release_by: by.by, release_reason: by.reason }, askedBy }
    : { to: movedTo('active', by), askedBy };
}

/** The release that somebody asked for, where that still counts. */
export const releaseOf = (
  { release_by: by, release_ms: ms, release_reason: reason }: Suspendable,
  nowMs: number,
): ReleaseRequest | null =>
  by !== null && Number(ms) + RELEASE_LIFE_MS > nowMs ? { by, atMs: Number(ms), reason } : null;
