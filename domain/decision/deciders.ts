/** Names that begin so are Gate's own: a deadline, a rule, a withdrawal (`transitions.ts`). No credential names anybody so. */
const OWN = 'system:';

/**
 * Whether a decider that is named so is somebody, and not Gate itself or nobody. Triggers of the store count by it too, from a copy that stays as
 * it is (`migrations/hil-decision-counts.ts`).
 */
export const isPerson = (name: string): boolean => name !== '' && !name.startsWith(OWN);
