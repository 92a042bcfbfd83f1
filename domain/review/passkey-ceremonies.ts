import { randomBytes, randomUUID } from 'node:crypto';
import { sha256Hex } from '../crypto/digest.js';
import { GateError } from '../errors.js';
import type { Approver, CeremonyPurpose, PasskeyStore } from './passkey-store.js';

/** How long a ceremony may take, how often it may be tried, and how many of one purpose a person may begin. */
export const CEREMONY = { lifeMs: 300_000, attempts: 10, windowMs: 60_000, starts: 5, open: 8 } as const;

/**
 * Logins of one name that are open at a time. Others may begin them, whom the console limits by address, so that none is refused: a further one
 * ends the oldest.
 */
export const OPEN_LOGINS = 300;

/** How ceremonies begin. What the browser is given of one is not stored. */
export function createCeremonies({
  store,
  clock,
}: {
  readonly store: Pick<PasskeyStore, 'begin' | 'begun'>;
  readonly clock: () => number;
}) {
  /** Refuses too many ceremonies of one name. Each purpose counts by itself: who floods a name with logins holds up no recovery of it. */
  async function refuseTooMany({ tenant, subject }: Approver, purpose: CeremonyPurpose): Promise<void> {
    const now = clock();
    const begun = await store.begun({ tenant, subject, purpose }, now);
    const recent = begun.filter((ms) => ms > now - CEREMONY.windowMs);
    if (recent.length >= CEREMONY.starts || begun.length >= CEREMONY.open) {
      const [held, life] = begun.length >= CEREMONY.open ? [begun, CEREMONY.lifeMs] : [recent, CEREMONY.windowMs];
      const retry_after_secs = Math.max(1, Math.ceil((Math.min(...held) + life - now) / 1000));
      throw new GateError('rate_limited', undefined, { fields: { retry_after_secs } });
    }
  }

  async function begin({ tenant, subject }: Approver, purpose: CeremonyPurpose) {
    const now = clock();
    const challenge = randomBytes(32);
    const ceremony = randomUUID();
    await store.begin({
      id_sha256: sha256Hex(ceremony),
      challenge_sha256: sha256Hex(challenge.toString('base64url')),
      tenant,
      subject,
      purpose,
      created_ms: now,
      expires_ms: now + CEREMONY.lifeMs,
    });
    return { ceremony, challenge };
  }

  return { refuseTooMany, begin };
}
