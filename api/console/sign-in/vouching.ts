import { ROLES, type Role } from '../../../console/roles.js';
import type { Person } from '../../../console/visit.js';
import type { Opened } from '../../../adapters/console/signed-in.js';
import { isSubjectOf, type Vouched, VOUCHED_METHODS, vouchingText } from '../../../domain/review/vouching.js';
import type { ReviewProof } from './mode.js';

type Method = Vouched['method'];

const isMethod = (mode: string): mode is Method => (VOUCHED_METHODS as readonly string[]).includes(mode);
const isRole = (role: string): role is Role => (ROLES as readonly string[]).includes(role);

/**
 * The person of a session that a way to sign in opened for which the console vouches, and the console's word for him. `untilMs` is when what
 * he may do is over, where that is known: the end of a session is not that.
 */
export function vouchedPerson(
  { subject, tenant, mode, role, openedMs, teams = [] }: Opened,
  method: Method,
  decideToken: string,
  untilMs: number | null = null,
): { readonly person: Person; readonly proof: ReviewProof } | null {
  if (mode !== method || !isRole(role) || !isSubjectOf(method, subject)) return null;
  const word = { subject, tenant, method, role, since_ms: openedMs, until_ms: untilMs, teams };
  return {
    person: { subject, tenant, mode, role, ...(teams.length > 0 && { teams }) },
    proof: proofOf(word, decideToken),
  };
}

/** The console's word that somebody may do nothing any more from now on; `null` for people for whom it never vouched. */
export const nothingMore = (
  { subject, tenant }: { readonly subject: string; readonly tenant: string },
  mode: string,
  decideToken: string | undefined,
  nowMs: number,
): ReviewProof | null =>
  decideToken === undefined || !isMethod(mode)
    ? null
    : proofOf({ subject, tenant, method: mode, role: 'none', since_ms: nowMs, until_ms: null }, decideToken);

const proofOf = (person: Vouched, decideToken: string): ReviewProof => ({
  authorization: `Bearer ${decideToken}`,
  'x-gate-decision-principal': vouchingText(person),
});
