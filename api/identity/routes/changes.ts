import { z } from 'zod';
import type { AgentRecord } from '../../../contracts/identity.js';
import type { RevokedBy } from '../../../domain/identity/revoked-by.js';
import { RELEASE_LIFE_MS, type ReleaseRequest } from '../../../domain/identity/standing.js';
import type { Administrator } from '../administrator.js';

/** What is changed, and whose it is. */
export const ofTenant = {
  params: z.strictObject({ id: z.uuid() }),
  querystring: z.strictObject({ tenant: z.string() }),
} as const;

export const instant = (ms: number): string => new Date(ms).toISOString();
export const instantOr = (ms: number | null): string | null => (ms === null ? null : instant(ms));

export const changeBy = ({ sub }: Administrator, reason: string | undefined, nowMs: number): RevokedBy => ({
  by: sub,
  reason: reason ?? null,
  nowMs,
});

export const releaseRecord = (release: ReleaseRequest | null): AgentRecord['release'] =>
  release && {
    requested_by: release.by,
    requested_at: instant(release.atMs),
    reason: release.reason,
    until: instant(release.atMs + RELEASE_LIFE_MS),
  };
