import { ROLES, type Role } from '../../../console/roles.js';
import type { Person } from '../../../console/visit.js';
import type { SignedIn } from '../../../adapters/console/session-store.js';
import {
  isSubjectOf,
  type Vouched,
  VOUCHED_METHODS,
  type VouchedRole,
  vouchingText,
} from '../../../domain/review/vouching.js';
import type { ReviewProof } from './mode.js';

type Method = Vouched['method'];

const isMethod = (mode: string): mode is Method => (VOUCHED_METHODS as readonly string[]).includes(mode);
const isRole = (role: string): role is Role => (ROLES as readonly string[]).includes(role);

/** The person of a session that a way to sign in opened for which the console vouches, and the console's word for him. */
export function vouchedPerson(
  { subject, tenant, mode, role }: SignedIn,
  method: Method,
  decideToken: string,
): { readonly person: Person; readonly proof: ReviewProof } | null {
  if (mode !== method || !isRole(role) || !isSubjectOf(method, subject)) return null;
  return { person: { subject, tenant, mode, role }, proof: proofOf({ subject, tenant, method, role }, decideToken) };
}

/** The console's word that somebody may do nothing any more; `null` for people for whom it never vouched. */
export const nothingMore = (
  { subject, tenant }: { readonly subject: string; readonly tenant: string },
  mode: string,
  decideToken: string | undefined,
): ReviewProof | null => wordOf({ subject, tenant, mode, role: 'none' }, decideToken);

const wordOf = (
  { subject, tenant, mode, role }: { subject: string; tenant: string; mode: string; role: VouchedRole },
  decideToken: string | undefined,
): ReviewProof | null =>
  decideToken === undefined || !isMethod(mode) ? null : proofOf({ subject, tenant, method: mode, role }, decideToken);

const proofOf = (person: Vouched, decideToken: string): ReviewProof => ({
  authorization: `Bearer ${decideToken}`,
  'x-gate-decision-principal': vouchingText(person),
});
