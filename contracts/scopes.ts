import { z } from 'zod';

/** Entries of one envelope, and of one grant. */
export const MOST_SCOPES = 256;

/** Scopes as they are written: what is no scope is refused by its place (`domain/identity/scopes.ts`). */
export const scopeList = z.array(z.string()).max(MOST_SCOPES);

/** What may be delegated to an agent: a grant names nothing beside it, and none is possible where both are empty. */
export const envelopeShape = {
  scope_envelope: scopeList,
  yellow_envelope: scopeList,
} as const;
